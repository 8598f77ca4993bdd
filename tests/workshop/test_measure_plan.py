"""The plan of a recording: what is measured, in which order, and what is not even tried."""

import pytest

from workshop.kernels.plan import (
    LONG,
    SEQUENCES,
    SWEEP_ROWS,
    TEACHING_TILES,
    Case,
    as_published,
    counter_cases,
    does_not_fit,
    plan,
    sweep,
)
from workshop.recordings import CASE_COLUMNS, PROVIDERS

H200_BYTES = 150_110_011_392


def everything():
    return [(batch, case) for batch in plan(counters=True) for case in batch.cases]


def test_a_case_is_keyed_by_the_columns_of_a_recording():
    assert tuple(Case("fast").record()) == CASE_COLUMNS


def test_no_case_is_planned_twice_in_a_batch():
    for batch in plan(counters=True):
        assert len(batch.cases) == len(set(batch.cases)), batch.name


def test_only_known_providers_and_only_the_teaching_kernel_is_told_its_tile():
    for _, case in everything():
        assert case.provider in PROVIDERS
        assert (None in case.tile) == (case.provider != "teaching"), case


@pytest.mark.parametrize("direction", ["forward", "forward+backward"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d", [64, 128, 256])
@pytest.mark.parametrize("N", SEQUENCES)
def test_every_provider_is_timed_on_every_asked_for_shape(N, d, causal, direction):
    timed = {
        case.provider
        for batch, case in everything()
        if batch.kind == "time"
        and (case.N, case.d, case.causal, case.direction) == (N, d, causal, direction)
        and case.heads == case.kv_heads == 32
    }
    assert timed == set(PROVIDERS)


def test_the_bars_come_first():
    names = [batch.name for batch in plan(counters=True)]
    assert names[:4] == ["machine", "forward", "training", "tiles"]


def test_the_sweep_has_every_tile_and_those_that_cannot_launch():
    for causal in (False, True):
        tiles = [case.tile for case in sweep(128, causal=causal)]
        assert len(tiles) == len(set(tiles)) == len(SWEEP_ROWS) ** 2 * 2
        assert (64, 256, 4, 2) in tiles and (256, 256, 8, 2) in tiles
        assert set(sweep(128, causal=causal)) <= {case for _, case in everything()}


def test_the_papers_conditions_are_sixteen_thousand_tokens_and_a_width_of_2048():
    cases = as_published(("fast",))
    assert {(c.d, c.heads) for c in cases} == {(64, 32), (128, 16), (256, 8)}
    assert {c.batch * c.N for c in cases} == {16384} and {c.N for c in cases} == set(SEQUENCES)
    assert set(cases) <= {case for _, case in everything()}


def test_counters_cover_both_sides_of_the_caches_edge_and_several_heads():
    core, further, limits = counter_cases()
    assert core[0] == Case("standard", N=4096, d=128)
    shapes = {(c.N, c.heads, c.Br) for c in core + further if c.provider == "teaching"}
    assert {(4096, 32, 16), (4096, 32, 64), (4096, 32, 128), (LONG, 1, 64), (2 * LONG, 1, 128)} <= shapes
    assert {(65536, heads, 64) for heads in (1, 2, 4, 8)} <= shapes
    assert len(set(core + further + limits)) == len(core + further + limits)


def test_without_counters_nothing_needs_ncu_and_quick_is_a_part():
    assert all(batch.kind != "counters" for batch in plan())
    full = {(batch.kind, case) for batch, case in everything()}
    quick = [(batch.kind, case) for batch in plan(quick=True, counters=True) for case in batch.cases]
    assert set(quick) <= full and len(quick) < 80


def test_teaching_tiles_are_within_a_hopper_block():
    for d, (Br, Bc, _, stages) in TEACHING_TILES.items():
        assert (Br * d + 2 * stages * Bc * d) * 2 <= 232_448


def test_flops_follow_the_convention():
    # 2 a multiply-add: 4 N^2 d forward; a backward pass adds five matrix products to the two
    assert Case("fast", N=8192, d=128, heads=32).flops() == 4 * 8192**2 * 128 * 32
    assert Case("fast", N=8192, causal=True).flops() == Case("fast", N=8192).flops() / 2
    assert Case("fast", "forward+backward").flops() == 3.5 * Case("fast").flops()


def test_standard_attention_at_131072_is_predicted_not_to_fit():
    # one head's score matrix is 32 GiB in bf16
    case = Case("standard", heads=1, kv_heads=1, N=LONG)
    assert case.scratch_bytes() == 2 * 2**35
    assert does_not_fit(case, H200_BYTES) is None
    eight = Case("standard", heads=8, kv_heads=8, N=LONG)
    sentence = does_not_fit(eight, H200_BYTES)
    assert (
        "549,755,813,888 B of N x N" in sentence
        and "150,110,011,392 B" in sentence
        and "not started" in sentence
    )
    assert does_not_fit(Case("fast", heads=8, kv_heads=8, N=LONG), H200_BYTES) is None


def test_a_causal_mask_and_a_backward_pass_need_more_room():
    plain = Case("standard").scratch_bytes()
    assert Case("standard", causal=True).scratch_bytes() > plain
    assert Case("standard", "forward+backward").scratch_bytes() == 2 * plain


def test_other_kernels_are_bounded_by_their_tensors():
    case = Case("fast", heads=256, kv_heads=256, batch=64, N=65536)
    assert case.scratch_bytes() == 0
    assert "Q, K, V, O" in does_not_fit(case, H200_BYTES)
