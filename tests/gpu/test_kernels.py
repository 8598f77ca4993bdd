"""The kernels on a GPU, each path by name, against float64 and the dtype's own cost (see `tests.kernel_truth`)."""

import dataclasses
import functools
import math

import pytest
import torch

from tests.kernel_truth import CASES, Case, exact, inputs, judge, judge_logsumexp, poisoned, with_gradients
from workshop.kernels import (
    backward,
    choice,
    fast,
    flash_attention,
    standard_attention,
    teaching_attention,
    tiles,
    tma,
)
from workshop.kernels.checks import check_inputs
from workshop.kernels.relaunch import UNSEEN

DTYPES = [torch.float16, torch.bfloat16, torch.float32]
DEVICE = "cuda"


def name(value):
    return str(value).removeprefix("torch.")


def teaching_tile(case: Case, dtype) -> dict:
    """Br != Bc, one way and the other; small where float32 or d = 256 would take minutes to compile."""
    if dtype == torch.float32 or case.d > 128:
        return {"Br": 16, "Bc": 32}
    return {"Br": 32, "Bc": 128} if case.Nq % 2 else {"Br": 128, "Bc": 32}


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_teaching_kernel_forward(case, dtype):
    q, k, v, _ = inputs(case, dtype, DEVICE)
    want, want_lse = exact(q, k, v, case.causal)
    with poisoned():
        o, lse = teaching_attention(q, k, v, causal=case.causal, **teaching_tile(case, dtype))
    judge("o", o, standard_attention(q, k, v, causal=case.causal)[0], want)
    judge_logsumexp(lse, want_lse)


def expected_path(case: Case, dtype) -> str:
    """What the fast kernel is documented to run on Hopper: rows of 16 bytes for descriptors, 16-bit types for gluon."""
    size = torch.finfo(dtype).bits // 8
    if case.d * size % 16:
        return "plain"
    short = case.d <= 128 and case.Nq <= (256 if case.d > 64 and not case.causal else 512)
    return "gluon" if size == 2 and case.d > 32 and not short else "tma"


@pytest.mark.parametrize("dtype", DTYPES, ids=name)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_fast_kernel_forward_and_the_path_it_says(case, dtype):
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("the expected paths are those of a Hopper GPU")
    q, k, v, _ = inputs(case, dtype, DEVICE)
    want, want_lse = exact(q, k, v, case.causal)
    with poisoned():
        o, lse = flash_attention(q, k, v, causal=case.causal)
    assert fast.last_choice().path == expected_path(case, dtype)
    judge("o", o, standard_attention(q, k, v, causal=case.causal)[0], want)
    judge_logsumexp(lse, want_lse)


@pytest.mark.parametrize("dtype", DTYPES[:2], ids=name)
@pytest.mark.parametrize("case", [c for c in CASES if c.d % 8 == 0], ids=str)
def test_tma_kernel_forward(case, dtype):
    q, k, v, _ = inputs(case, dtype, DEVICE)
    if not tma.engine(q.device):
        pytest.skip("this GPU has no copy engine")
    shape, scale = check_inputs(q, k, v, None)
    tile = tiles.best(tiles.TMA, shape.D, 2, tiles.shared_limit(q.device))
    choice = fast.Choice("tma", tile.Br, tile.Bc, tile.warps, tile.stages)
    with poisoned():
        o, lse = fast.run(choice, shape, q, k, v, case.causal, scale)
    assert fast.last_choice() == choice
    want, want_lse = exact(q, k, v, case.causal)
    judge("o", o, standard_attention(q, k, v, causal=case.causal)[0], want)
    judge_logsumexp(lse, want_lse)


GLUON = [
    fast.Choice("gluon", 192, 128, 16, 3, resident=True, turns=True),
    fast.Choice("gluon", 192, 128, 16, 2),
    fast.Choice("gluon", 192, 128, 16, 2, resident=True, turns=True, apart=True),
    fast.Choice("gluon", 128, 128, 12, 2, resident=True, turns=True),
    fast.Choice("gluon", 128, 128, 12, 4, resident=True, turns=True, apart=True),
    fast.Choice("gluon", 128, 128, 12, 3, turns=True),
]


@pytest.mark.parametrize(
    "variant",
    GLUON,
    ids=lambda c: f"{c.Br}x{c.Bc}x{c.stages}" + "-resident" * c.resident + "-apart" * c.apart,
)
@pytest.mark.parametrize("dtype", DTYPES[:2], ids=name)
@pytest.mark.parametrize("case", [c for c in CASES if c.d % 8 == 0 and 32 < c.d <= 128], ids=str)
def test_gluon_kernel_forward(case, dtype, variant):
    q, k, v, _ = inputs(case, dtype, DEVICE)
    if torch.cuda.get_device_capability()[0] != 9:
        pytest.skip("gluon runs on a Hopper GPU")
    if case.d > 64 and variant.Br > 128:
        variant = dataclasses.replace(variant, Br=128)
    if case.d > 64 and variant.stages > 2:
        variant = dataclasses.replace(variant, stages=2)
    shape, scale = check_inputs(q, k, v, None)
    with poisoned():
        o, lse = fast.run(variant, shape, q, k, v, case.causal, scale)
    assert fast.last_choice() == variant
    want, want_lse = exact(q, k, v, case.causal)
    judge("o", o, standard_attention(q, k, v, causal=case.causal)[0], want)
    judge_logsumexp(lse, want_lse)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("heads, N", [(32, 4096), (7, 4095), (9, 2500)])
def test_resident_programs_share_the_list_without_gap_or_overlap(heads, N, causal):
    """Lists of all kinds: last rounds that are cut among the programs, last rounds that are not, a single round."""
    q, k, v, _ = inputs(Case(1, heads, heads, N, N, 64), torch.bfloat16, DEVICE)
    with poisoned():
        o, lse = flash_attention(q, k, v, causal=causal)
    for h in range(heads):
        want, want_lse = exact(*(x[:, h : h + 1] for x in (q, k, v)), causal)
        judge(
            "o",
            o[:, h : h + 1],
            standard_attention(*(x[:, h : h + 1] for x in (q, k, v)), causal=causal)[0],
            want,
        )
        judge_logsumexp(lse[:, h : h + 1], want_lse)


@pytest.mark.parametrize("copy_engine", [False, True], ids=["pointers", "descriptors"])
@pytest.mark.parametrize("dtype", DTYPES, ids=name)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients(case, dtype, copy_engine, monkeypatch):
    q, k, v, do = inputs(case, dtype, DEVICE)
    possible = tma.engine(q.device) and not any(tma.refusal("", x) for x in (q, k, v))
    if copy_engine and not possible:
        case = Case(case.B, case.H, case.Hkv, case.Nq, case.Nk, 64, case.causal)
        q, k, v, do = inputs(case, dtype, DEVICE)
    monkeypatch.setattr(backward, "gradients", functools.partial(backward.gradients, use_tma=copy_engine))
    with poisoned():
        got = with_gradients(lambda *x: flash_attention(*x, causal=case.causal), q, k, v, do)
    plain = with_gradients(lambda *x: standard_attention(*x, causal=case.causal), q, k, v, do)
    want = with_gradients(lambda *x: exact(*x, case.causal), *(x.double() for x in (q, k, v, do)))
    for part, *tensors in zip(("o", "dQ", "dK", "dV"), got, plain, want, strict=True):
        judge(part, *tensors)


@pytest.mark.parametrize("function", [teaching_attention, flash_attention])
def test_gradient_of_a_sum_comes_with_zero_strides(function):
    q, k, v, _ = inputs(Case(1, 2, 2, 127, 127, 64), torch.bfloat16, DEVICE)
    do = torch.ones(1, device=DEVICE, dtype=torch.bfloat16).expand(q.shape)
    got = with_gradients(function, q, k, v, do)
    plain = with_gradients(standard_attention, q, k, v, do)
    want = with_gradients(lambda *x: exact(*x, False), *(x.double() for x in (q, k, v, do)))
    for part, *tensors in zip(("o", "dQ", "dK", "dV"), got, plain, want, strict=True):
        judge(part, *tensors)


@pytest.mark.parametrize("function", [teaching_attention, flash_attention])
def test_any_strides(function):
    """Heads and rows swapped, columns spread out: every stride of Q, K and V is its own."""
    base = [torch.randn(2, 131, 3, 128, device=DEVICE, dtype=torch.bfloat16) for _ in range(3)]
    q, k, v = (
        base[0].transpose(1, 2)[..., ::2],
        base[1].transpose(1, 2)[..., :64],
        base[2].transpose(1, 2)[..., 64:],
    )
    want, _ = exact(q, k, v, True)
    with poisoned():
        o, _ = function(q, k, v, causal=True)
    judge("o", o, standard_attention(q, k, v, causal=True)[0], want)


@pytest.mark.parametrize("function", [teaching_attention, flash_attention])
@pytest.mark.parametrize("dtype", DTYPES, ids=name)
def test_extreme_scores_give_the_mean_of_v(function, dtype):
    k = torch.full((1, 2, 333, 64), 175.0, device=DEVICE, dtype=dtype)
    v = torch.randn(1, 2, 333, 64, device=DEVICE).to(dtype)
    o, lse = function(-k, k, v, **({"Br": 32, "Bc": 32} if function is teaching_attention else {}))
    mean = v.double().mean(dim=2, keepdim=True).expand(v.shape)
    # P is rounded to the dtype before it meets V, O after.
    torch.testing.assert_close(o.double(), mean, rtol=0, atol=torch.finfo(dtype).eps)
    torch.testing.assert_close(lse, torch.full_like(lse, -2.45e5 + math.log(333)), rtol=1e-6, atol=0)


@pytest.mark.parametrize("function", [teaching_attention, flash_attention])
def test_huge_scores(function):
    """Scores near 1e12, where float32 counts in steps of 2^17: one key, equal keys, and keys one step apart."""
    x = torch.full((1, 1, 1, 64), 133120.0, device=DEVICE, dtype=torch.bfloat16)
    assert torch.equal(function(x, x, x)[0], x)
    q = x.expand(1, 1, 300, 64).contiguous()
    v = torch.randn_like(q)
    o, _ = function(q, q, v)
    torch.testing.assert_close(
        o.double(), v.double().mean(2, keepdim=True).expand(v.shape), rtol=0, atol=4e-3
    )
    k = q.clone()
    k[0, 0, 211] = 134144.0  # the next bfloat16
    o, _ = function(q, k, v)
    torch.testing.assert_close(o, v[:, :, 211:212].expand(v.shape), rtol=0, atol=0)


@pytest.mark.parametrize("function", [teaching_attention, flash_attention])
def test_offsets_of_more_than_31_bits(function):
    """16 x 64 heads of 16,384 x 128 are 2^31 elements: the last head, and the last rows of one long buffer."""
    q = torch.randn(16, 64, 16384, 128, device=DEVICE, dtype=torch.bfloat16)
    k = torch.randn(16, 1, 160, 128, device=DEVICE, dtype=torch.bfloat16)
    v = torch.randn_like(k)
    o, lse = function(q, k, v)
    rows = slice(-64, None)
    want, want_lse = exact(q[-1:, -1:, rows], k[-1:], v[-1:], False)
    judge("o", o[-1:, -1:, rows], standard_attention(q[-1:, -1:, rows], k[-1:], v[-1:])[0], want)
    judge_logsumexp(lse[-1:, -1:, rows], want_lse)
    del o, lse
    # The same memory as one head of 131,072 rows, 16,384 elements apart.
    long = q.view(1, 131072, 1, 16384)[..., :128].transpose(1, 2)
    few = long[:, :, :64].contiguous()
    o, lse = function(few, long, long)
    want, want_lse = exact(few, long, long, False)
    judge("o", o, standard_attention(few, long, long)[0], want)
    judge_logsumexp(lse, want_lse)


def test_launches_on_the_device_of_the_tensors():
    """With device 0 current, tensors on device 1."""
    if torch.cuda.device_count() < 2:
        pytest.skip("one GPU")
    q, k, v, _ = inputs(Case(1, 1, 1, 127, 127, 64), torch.bfloat16, "cuda:1")
    for function in (teaching_attention, flash_attention):
        for _ in range(2):
            o, _ = function(q, k, v)
            assert o.device == q.device
            judge("o", o, standard_attention(q, k, v)[0], exact(q, k, v, False)[0])


@pytest.mark.parametrize("function", [teaching_attention, flash_attention])
def test_repeats_exactly(function):
    """No atomic additions anywhere: the same inputs give the same bits, also under load."""
    q, k, v, do = inputs(Case(2, 8, 8, 1000, 1000, 64, causal=True), torch.bfloat16, DEVICE)
    run = lambda: with_gradients(functools.partial(function, causal=True), q, k, v, do)  # noqa: E731
    first = run()
    for _ in range(20):
        assert all(torch.equal(a, b) for a, b in zip(first, run(), strict=True))


def test_a_second_call_launches_on_its_own_tensors_and_keeps_none(monkeypatch):
    """Calls alike share a launch; each path, both the scale that is given and the one that is not."""
    monkeypatch.setattr(fast, "_known", {})
    for d, dtype, path in (
        (256, torch.bfloat16, "gluon"),
        (32, torch.bfloat16, "tma"),
        (63, torch.float16, "plain"),
    ):
        for scale in (None, 0.5, -0.5):
            for seed in range(3):
                q, k, v, _ = inputs(Case(1, 4, 2, 127, 211, d), dtype, DEVICE, seed)
                with poisoned():
                    o, lse = flash_attention(q, k, v, scale=scale)
                assert torch.cuda.get_device_capability()[0] != 9 or fast.last_choice().path == path
                want, want_lse = exact(q, k, v, False, scale)
                judge("o", o, standard_attention(q, k, v, scale=scale)[0], want)
                judge_logsumexp(lse, want_lse)
    assert len(fast._known) == 6
    # None went the long way round: this Triton's launcher is one that is known.
    handed = [known.launch.handed for known in fast._known.values()]
    assert all(one is not None and one is not UNSEEN for one in handed)
    before = torch.cuda.memory_allocated()
    del q, k, v, o, lse, want, want_lse
    assert torch.cuda.memory_allocated() < before
    kept = [x for known in fast._known.values() for x in known.launch.arguments]
    assert not any(torch.is_tensor(x) or torch.is_tensor(getattr(x, "base", None)) for x in kept)


def test_a_second_call_goes_to_the_current_stream_and_can_be_captured():
    q, k, v, _ = inputs(Case(1, 4, 4, 640, 640, 128), torch.bfloat16, DEVICE)
    for _ in range(2):
        want, _ = flash_attention(q, k, v)
    stream, graph = torch.cuda.Stream(), torch.cuda.CUDAGraph()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        aside, _ = flash_attention(q, k, v)
    stream.synchronize()
    assert torch.equal(aside, want)
    with torch.cuda.graph(graph, stream=stream):
        captured, _ = flash_attention(q, k, v)
    captured.fill_(math.nan)
    q.mul_(0)
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(captured, flash_attention(q, k, v)[0])


def test_a_kernel_that_cannot_be_built_is_replaced_with_a_reason(monkeypatch):
    q, k, v, _ = inputs(Case(1, 2, 2, 127, 127, 256), torch.bfloat16, DEVICE)
    if fast.choose(q, k, v).path != "gluon":
        pytest.skip("this GPU does not take the gluon path")
    monkeypatch.setattr(choice, "unbuildable", {})
    monkeypatch.setattr(fast, "unbuildable", choice.unbuildable)
    monkeypatch.setattr(fast, "_known", {})
    monkeypatch.setattr(
        fast, "_gluon_spec", lambda *_: (_ for _ in ()).throw(AttributeError("no such instruction"))
    )
    with pytest.warns(RuntimeWarning, match="The gluon kernel is left out: .*no such instruction"):
        o, _ = flash_attention(q, k, v)
    assert fast.last_choice().path == "tma"
    judge("o", o, standard_attention(q, k, v)[0], exact(q, k, v, False)[0])
    flash_attention(q, k, v)
    assert fast.last_choice().path == "tma" and "no such instruction" in fast.last_choice().reason


def test_a_tile_that_does_not_fit_is_refused_by_name():
    from triton.runtime.errors import OutOfResources

    q, k, v, _ = inputs(Case(1, 1, 1, 512, 512, 128), torch.bfloat16, DEVICE)
    with pytest.raises(OutOfResources, match="shared memory"):
        teaching_attention(q, k, v, Br=256, Bc=256, warps=8)
