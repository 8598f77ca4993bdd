"""What the kernels refuse, in words, and the baseline against float64 on the CPU."""

import pytest
import torch

from tests.kernel_truth import Case, exact, inputs, judge_logsumexp, with_gradients, worst
from workshop.kernels import flash_attention, standard_attention, teaching_attention


def tensor(*shape, dtype=torch.float32):
    return torch.zeros(*shape, dtype=dtype)


WRONG = {
    "dimensions": ((tensor(2, 3, 8), None, None), {}, r"q: expected 4 dimensions .* got shape \(2, 3, 8\)"),
    "empty": ((tensor(1, 2, 0, 8), None, None), {}, r"q: expected at least 1 in each dimension, got shape"),
    "dtype": (
        (tensor(1, 2, 3, 8, dtype=torch.float64), None, None),
        {},
        "q dtype: expected one of .* got float64",
    ),
    "mixed": (
        (None, tensor(1, 2, 3, 8, dtype=torch.float16), None),
        {},
        "k dtype: expected torch.float32 like q",
    ),
    "batch": ((None, tensor(2, 2, 3, 8), tensor(2, 2, 3, 8)), {}, "k: expected batch 1 like q, got 2"),
    "d": ((None, tensor(1, 2, 3, 16), tensor(1, 2, 3, 16)), {}, "k: expected d = 8 like q, got 16"),
    "v": (
        (None, None, tensor(1, 2, 4, 8)),
        {},
        r"v: expected shape \(1, 2, 3, 8\) like k, got \(1, 2, 4, 8\)",
    ),
    "heads": (
        (tensor(1, 3, 3, 8), None, None),
        {},
        r"heads: expected those of q a multiple .* \(2\), got 3",
    ),
    "small d": (tuple(tensor(1, 2, 3, 4) for _ in range(3)), {}, "d: expected 8 to 256, got 4"),
    "large d": (tuple(tensor(1, 2, 3, 264) for _ in range(3)), {}, "d: expected 8 to 256, got 264"),
    "scale": ((None, None, None), {"scale": float("nan")}, "scale: expected a finite number, got nan"),
}


@pytest.mark.parametrize("function", [standard_attention, teaching_attention, flash_attention])
@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_inputs(function, wrong):
    given, options, message = WRONG[wrong]
    with pytest.raises(ValueError, match=message):
        function(*(tensor(1, 2, 3, 8) if x is None else x for x in given), **options)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"Br": 48}, "Br: expected a power of two from 16 to 1024, got 48"),
        ({"Bc": 8}, "Bc: expected a power of two from 16 to 1024, got 8"),
        ({"warps": 3}, "warps: expected one of 1, 2, 4, 8, 16, 32, got 3"),
        ({"stages": 0}, "stages: expected a whole number from 1 to 8, got 0"),
    ],
)
def test_wrong_tiles(options, message):
    with pytest.raises(ValueError, match=message):
        teaching_attention(*(tensor(1, 2, 3, 8) for _ in range(3)), **options)


@pytest.mark.parametrize("function", [teaching_attention, flash_attention])
def test_a_kernel_needs_a_gpu(function):
    with pytest.raises(ValueError, match=r"device: expected cuda .* got cpu"):
        function(*(tensor(1, 2, 3, 8) for _ in range(3)))


@pytest.mark.parametrize(
    "case",
    [
        Case(2, 3, 1, 17, 29, 24),
        Case(1, 4, 2, 31, 31, 16, causal=True),
        Case(1, 2, 2, 5, 2, 8, causal=True),
        Case(2, 2, 2, 23, 23, 16, causal=True, packed=True),
    ],
    ids=str,
)
def test_standard_attention_in_float32(case):
    q, k, v, do = inputs(case, torch.float32, "cpu")
    got = with_gradients(lambda *x: standard_attention(*x, causal=case.causal), q, k, v, do)
    want = with_gradients(lambda *x: exact(*x, case.causal), *(x.double() for x in (q, k, v, do)))
    assert all(worst(a, b) < 5e-6 for a, b in zip(got, want, strict=True))
    judge_logsumexp(standard_attention(q, k, v, causal=case.causal)[1], exact(q, k, v, case.causal)[1])


def test_standard_attention_without_its_logsumexp():
    q, k, v, _ = inputs(Case(1, 2, 2, 9, 9, 8), torch.float32, "cpu")
    o, lse = standard_attention(q, k, v, logsumexp=False)
    assert lse is None
    assert torch.equal(o, standard_attention(q, k, v)[0])
