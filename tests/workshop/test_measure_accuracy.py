"""The float64 reference of the device, judged by the NumPy oracle; the sentences about refusals and rates."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from workshop import reference
from workshop.hardware import GPUS
from workshop.kernels import accuracy
from workshop.kernels.accuracy import SAMPLE_ROWS, largest_error, reference_rows, sample
from workshop.kernels.identify import known_gpu, peak_flops, rate, remarks
from workshop.kernels.measure import explain_failure
from workshop.kernels.plan import Case
from workshop.kernels.providers import make_call, tensors


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("N", "d"), [(1, 8), (17, 40), (127, 63)])
def test_the_reference_rows_are_the_oracles(N, d, causal):
    rng = np.random.default_rng(N)
    q, k, v = (rng.standard_normal((N, d)) for _ in range(3))
    wanted = reference.attention(q, k, v, causal=causal).output
    rows = torch.arange(N)
    got = reference_rows(torch.tensor(q), torch.tensor(k), torch.tensor(v), rows, causal)
    np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-12, atol=1e-14)
    some = torch.tensor([0, N // 2, N - 1])
    np.testing.assert_allclose(
        reference_rows(torch.tensor(q), torch.tensor(k), torch.tensor(v), some, causal).numpy(),
        wanted[some.numpy()],
        rtol=1e-12,
        atol=1e-14,
    )


def test_a_sample_has_the_first_and_last_row_once_each():
    for N in (1, 5, SAMPLE_ROWS, SAMPLE_ROWS + 1, 16384, 1_048_576):
        rows = sample(N, "cpu")
        assert rows[0] == 0 and rows[-1] == N - 1
        assert len(rows) == len(set(rows.tolist())) == min(N, SAMPLE_ROWS)


CPU = Case("sdpa-flash", dtype="fp32", heads=3, kv_heads=3, N=67, d=24)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("direction", ["forward", "forward+backward"])
def test_a_right_kernel_has_an_error_of_its_dtype(direction, causal):
    error = largest_error(replace(CPU, direction=direction, causal=causal), "cpu", seed=2)
    assert 0 < error < 1e-5


@pytest.mark.parametrize("direction", ["forward", "forward+backward"])
def test_a_wrong_kernel_is_seen(direction, monkeypatch):
    def wrong(case, q, k, v, grad=None):
        right = make_call(replace(case, causal=True), q, k, v, grad)
        return right

    monkeypatch.setattr(accuracy, "make_call", wrong)
    assert largest_error(replace(CPU, direction=direction), "cpu", seed=2) > 0.1


def test_not_a_number_never_passes(monkeypatch):
    def nan(case, q, k, v, grad=None):
        return lambda: torch.full_like(q, math.nan)

    monkeypatch.setattr(accuracy, "make_call", nan)
    with pytest.raises(ArithmeticError, match="NaN"):
        largest_error(CPU, "cpu", seed=0)


def test_the_same_seed_gives_every_provider_the_same_inputs():
    first, second = tensors(CPU, "cpu", 5), tensors(replace(CPU, provider="standard"), "cpu", 5)
    assert all(torch.equal(a, b) for a, b in zip(first[:3], second[:3], strict=True))
    assert first[3] is None
    other = tensors(CPU, "cpu", 6)
    assert not torch.equal(first[0], other[0])


def test_grouped_heads_have_their_own_shapes():
    q, k, _, grad = tensors(replace(CPU, heads=6, kv_heads=2, direction="forward+backward"), "cpu")
    assert q.shape == grad.shape == (1, 6, 67, 24) and k.shape == (1, 2, 67, 24)
    assert q.requires_grad and k.requires_grad


def test_an_error_of_memory_is_told_as_such():
    class OutOfMemoryError(RuntimeError):
        pass

    kind, sentence, _ = explain_failure(
        Case("fast"), OutOfMemoryError("CUDA out of memory. Tried to ..."), "X"
    )
    assert kind == "failed" and "ran out of memory" in sentence


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("NVIDIA H200", "h200-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", None),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA A100-SXM4-40GB", "a100-sxm-40"),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm-80"),
        ("NVIDIA A100-PCIE-40GB", None),
        ("NVIDIA B200", "b200"),
        ("NVIDIA GB200", None),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("NVIDIA GeForce RTX 4090 D", None),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", None),
        ("NVIDIA L4", "l4"),
        ("NVIDIA L40S", None),
        ("AMD Instinct MI300X", "mi300x"),
        ("CPU: AMD EPYC, 2 cores", None),
    ],
)
def test_a_device_is_matched_to_its_own_row_or_to_none(name, slug):
    assert known_gpu(name) == slug
    assert peak_flops(name, "bf16") == (GPUS[slug].peak["bf16"] if slug else None)


def test_the_remark_starts_above_the_peak_and_not_below():
    case = Case("fast", N=8192)
    at_peak = case.flops() / GPUS["h200-sxm"].peak["bf16"]

    def spread(seconds):
        return SimpleNamespace(p20=seconds, p50=seconds, p80=seconds)

    assert remarks(case, spread(at_peak * 1.001), "NVIDIA H200") == []
    (said,) = remarks(case, spread(at_peak / 2), "NVIDIA H200")
    assert "200 %" in said and "989" in said
    assert remarks(case, spread(at_peak / 2), "Unheard-of") == []


def test_the_rate_of_a_row_is_the_rate_of_its_case():
    case = Case("fast", "forward+backward", batch=2, N=1024, causal=True)
    row = SimpleNamespace(**case.record(), p50=2e-3)
    assert rate(row) == pytest.approx(case.flops() / 2e-3)
