"""Tests of the Triton kernels in Triton's interpreter, on the CPU. Run by `test_kernels_interpreted`, in a process that
sets TRITON_INTERPRET=1 before Triton is imported: the switch is read once.
"""

import functools

import numpy as np
import pytest
import torch

from tests.kernel_truth import Case, exact, inputs, judge, judge_logsumexp, poisoned, with_gradients
from workshop import reference
from workshop.kernels import backward, fast, flash_attention, standard_attention, teaching_attention

SMALL = [
    Case(7, 2, 2, 1, 1, 8),
    Case(3, 2, 1, 15, 15, 40),
    Case(3, 1, 1, 17, 17, 63, causal=True),
    Case(2, 2, 1, 37, 53, 40, causal=True),
    Case(1, 1, 1, 71, 41, 63),
    Case(7, 4, 2, 5, 2, 8, causal=True),
    Case(1, 1, 1, 67, 19, 80, causal=True),
    Case(2, 2, 2, 43, 43, 40, causal=True, packed=True),
    Case(1, 1, 1, 127, 127, 64, causal=True),
]
TILES = [(16, 16), (16, 64), (64, 16)]
DTYPES = [torch.float16, torch.float32]


def names(value):
    return str(value).removeprefix("torch.")


@pytest.mark.parametrize("tile", TILES, ids=names)
@pytest.mark.parametrize("dtype", DTYPES, ids=names)
@pytest.mark.parametrize("case", SMALL, ids=str)
def test_teaching_kernel_forward(case, dtype, tile):
    q, k, v, _ = inputs(case, dtype, "cpu")
    want, want_lse = exact(q, k, v, case.causal)
    with poisoned():
        o, lse = teaching_attention(q, k, v, causal=case.causal, Br=tile[0], Bc=tile[1])
    judge("o", o, standard_attention(q, k, v, causal=case.causal)[0], want)
    judge_logsumexp(lse, want_lse)


@pytest.mark.parametrize("copy_engine", [False, True], ids=["pointers", "descriptors"])
@pytest.mark.parametrize("dtype", DTYPES, ids=names)
@pytest.mark.parametrize("case", SMALL, ids=str)
def test_backward_kernels(case, dtype, copy_engine, monkeypatch):
    q, k, v, do = inputs(case, dtype, "cpu")
    if copy_engine and any(x.stride(2) * x.element_size() % 16 for x in (q, k, v)):
        case = Case(case.B, case.H, case.Hkv, case.Nq, case.Nk, 64, case.causal)
        q, k, v, do = inputs(case, dtype, "cpu")
    tiles = (backward.Tile(16, 32, 4, 1), backward.Tile(32, 16, 4, 1))
    forced = functools.partial(backward.gradients, choice=tiles, use_tma=copy_engine)
    monkeypatch.setattr(backward, "gradients", forced)
    with poisoned():
        got = with_gradients(lambda *x: teaching_attention(*x, causal=case.causal, Br=16, Bc=32), q, k, v, do)
    plain = with_gradients(lambda *x: standard_attention(*x, causal=case.causal), q, k, v, do)
    want = with_gradients(lambda *x: exact(*x, case.causal), *(x.double() for x in (q, k, v, do)))
    for name, *tensors in zip(("o", "dQ", "dK", "dV"), got, plain, want, strict=True):
        judge(name, *tensors)


@pytest.mark.parametrize("dtype", DTYPES, ids=names)
def test_fast_kernel_takes_the_plain_path_and_says_so(dtype):
    q, k, v, do = inputs(Case(1, 2, 1, 37, 53, 40, causal=True), dtype, "cpu")
    with poisoned():
        got = with_gradients(lambda *x: flash_attention(*x, causal=True), q, k, v, do)
    assert fast.last_choice().path == "plain"
    assert fast.last_choice().reason == "Triton interprets"
    plain = with_gradients(lambda *x: standard_attention(*x, causal=True), q, k, v, do)
    want = with_gradients(lambda *x: exact(*x, True), *(x.double() for x in (q, k, v, do)))
    for name, *tensors in zip(("o", "dQ", "dK", "dV"), got, plain, want, strict=True):
        judge(name, *tensors)


@pytest.mark.parametrize("dtype", DTYPES, ids=names)
def test_tma_kernel_with_interpreted_descriptors(dtype):
    from workshop.kernels.checks import check_inputs

    for case in (Case(1, 2, 1, 37, 53, 40, causal=True), Case(1, 1, 1, 71, 41, 64)):
        q, k, v, _ = inputs(case, dtype, "cpu")
        choice = fast.Choice("tma", 32, 16, 4, 1)
        with poisoned():
            o, lse = fast.run(choice, check_inputs(q, k, v, None)[0], q, k, v, case.causal, case.d**-0.5)
        assert fast.last_choice() is choice
        want, want_lse = exact(q, k, v, case.causal)
        judge("o", o, standard_attention(q, k, v, causal=case.causal)[0], want)
        judge_logsumexp(lse, want_lse)


def test_agrees_with_the_project_s_own_float64_reference():
    q, k, v, _ = inputs(Case(1, 1, 1, 23, 29, 16, causal=True), torch.float32, "cpu")
    o, lse = teaching_attention(q, k, v, causal=True, Br=16, Bc=16)
    want = reference.attention(*(x[0, 0].numpy() for x in (q, k, v)), causal=True)
    np.testing.assert_allclose(o[0, 0].numpy(), want.output, atol=2e-6)
    np.testing.assert_allclose(lse[0, 0].numpy(), want.logsumexp, atol=2e-6)


def test_extreme_scores_give_the_mean_of_v():
    """Every scaled score is -2.45e5; the first tile must not meet a stand-in for -inf that is larger than that."""
    k = torch.full((1, 1, 33, 64), 175.0)
    q = -k
    v = torch.randn(1, 1, 33, 64, generator=torch.Generator().manual_seed(1))
    o, lse = teaching_attention(q, k, v, Br=16, Bc=16)
    torch.testing.assert_close(o, v.mean(dim=2, keepdim=True).expand_as(o), rtol=0, atol=1e-6)
    torch.testing.assert_close(lse, torch.full((1, 1, 33), -2.45e5 + np.log(33)), rtol=1e-6, atol=0)


def test_huge_scores_leave_one_weight_of_one():
    """Scores near 1e12: 2^(score) must be taken of an exact difference."""
    x = torch.full((1, 1, 1, 64), 133120.0)
    o, _ = teaching_attention(x, x, x, Br=16, Bc=16)
    torch.testing.assert_close(o, x, rtol=0, atol=0)


@pytest.mark.parametrize("scale", [0.0, -0.37, 0.7])
def test_any_scale(scale):
    case = Case(1, 1, 1, 19, 23, 16)
    q, k, v, do = inputs(case, torch.float32, "cpu")
    got = with_gradients(lambda *x: teaching_attention(*x, scale=scale, Br=16, Bc=16), q, k, v, do)
    plain = with_gradients(lambda *x: standard_attention(*x, scale=scale), q, k, v, do)
    want = with_gradients(lambda *x: exact(*x, False, scale), *(x.double() for x in (q, k, v, do)))
    for name, *tensors in zip(("o", "dQ", "dK", "dV"), got, plain, want, strict=True):
        judge(name, *tensors)


@pytest.mark.parametrize("function", [teaching_attention, flash_attention])
def test_bfloat16_is_refused_here(function):
    q, k, v, _ = inputs(Case(1, 1, 1, 16, 16, 16), torch.bfloat16, "cpu")
    with pytest.raises(
        ValueError, match="dtype: expected float16 or float32 where Triton interprets, got bfloat16"
    ):
        function(q, k, v)


def test_the_logsumexp_has_no_gradient():
    q, k, v, _ = inputs(Case(1, 1, 1, 16, 16, 16), torch.float32, "cpu")
    o, lse = teaching_attention(q.requires_grad_(), k, v, Br=16, Bc=16)
    assert o.requires_grad and not lse.requires_grad


def test_poison_is_seen():
    with poisoned():
        assert torch.empty(3).isnan().all()
        assert torch.empty_like(torch.zeros(3, dtype=torch.float16)).isnan().all()
