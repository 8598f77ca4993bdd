"""Working sets, spill and the landscape."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workshop import brute_force
from tests.workshop.strategies import PROBLEMS, SMALL_PROBLEMS, SMALL_TILES, TILES
from workshop import roofline
from workshop.hardware import GPUS
from workshop.problem import LIMITS, Problem, Tile
from workshop.sram import (
    cliff,
    kernel_view,
    landscape,
    spill_ledger,
    working_set,
)
from workshop.traffic import ledger


@pytest.mark.parametrize(
    ("block", "d", "elements", "small", "wide"),
    [
        (64, 64, 20_608, 41_216, 57_856),
        (128, 128, 82_176, 164_352, 230_400),
        (256, 128, 197_120, 394_240, 591_872),
    ],
)
def test_working_sets(block, d, elements, small, wide):
    """Q, O: Br d; K, V: Bc d; S: Br Bc; statistics 2 Br, all in bf16, and with O, S, statistics in fp32."""
    problem, tile = Problem(d=d), Tile(block, block)
    assert working_set(problem, tile).total == elements * 2 == small
    assert working_set(problem, tile, fp32_accumulators=True).total == wide


def test_fits_228_but_not_227_kib():
    """128x128, d = 128 with fp32 accumulators: 230,400 B of 233,472 B; 227 KiB = 232,448 B leaves 2,048 B."""
    problem = Problem()
    for sram, left in ((228, 3072), (227, 2048), (225, 0)):
        found = working_set(problem, Tile(128, 128, sram), fp32_accumulators=True)
        assert found.budget - found.total == left
        assert found.fits
        assert found.spill_bytes == 0
    found = working_set(problem, Tile(128, 128, 224), fp32_accumulators=True)
    assert (found.fits, found.spill_bytes) == (False, 1024)


@given(problem=PROBLEMS, tile=TILES, wide=st.booleans())
def test_parts_sum_to_the_total_and_fit_means_no_spill(problem, tile, wide):
    found = working_set(problem, tile, fp32_accumulators=wide)
    assert sum(found.parts().values()) == found.total
    assert found.fits == (found.spill_bytes == 0)
    assert found.spill_bytes == max(0, found.total - tile.sram * 1024)


@pytest.mark.parametrize(
    ("d", "Br", "Bc", "kib"),
    [(64, 128, 128, 48), (128, 128, 64, 64), (128, 128, 32, 48), (256, 128, 64, 128), (256, 64, 64, 96)],
)
def test_kernel_view_of_flash_attention_2(d, Br, Bc, kib):
    """Tiles of the published FlashAttention-2 kernels: Q, K and V in shared memory, the rest in registers."""
    found = kernel_view(Problem(d=d), Tile(Br, Bc))
    assert found.shared == kib * 1024
    assert found.registers == (Br * d + Br * Bc + 2 * Br) * 4
    assert found.launches(GPUS["h100-sxm"])


def test_kernel_view_with_stages():
    found = kernel_view(Problem(), Tile(64, 256), stages=2)
    assert found.shared == 278_528
    assert not found.launches(GPUS["h100-sxm"])
    with pytest.raises(ValueError, match="stages: expected 1 or more; got 0"):
        kernel_view(Problem(), Tile(), stages=0)


@given(problem=SMALL_PROBLEMS, tile=SMALL_TILES)
def test_spill_is_out_and_back_on_every_visited_tile(problem, tile):
    visits, *_ = brute_force.visits(problem.N, tile.Br, tile.Bc, problem.causal)
    needed = (
        2 * tile.Br * problem.d + 2 * tile.Bc * problem.d + tile.Br * tile.Bc + 2 * tile.Br
    ) * problem.element_bytes
    excess = max(0, needed - tile.sram * 1024)
    extra = (spill_ledger(problem, tile).total - ledger("tiled", problem, tile).total) * problem.element_bytes
    assert extra == 2 * excess * visits


def all_is_lost(problem, tile):
    """Whether the tile spills and its traffic passes `standard`."""
    moved = spill_ledger(problem, tile).total
    return not working_set(problem, tile).fits and moved > ledger("standard", problem, tile).total


def test_the_cliff_of_the_defaults():
    """Bc = 64: W = 322 Br + 16,384 elements passes 116,736 from Br = 312; traffic passes standard later."""
    problem = Problem()
    assert working_set(problem, Tile(311)).fits
    assert not working_set(problem, Tile(312)).fits
    crossing = cliff(problem, Tile()).crossing
    assert not all_is_lost(problem, Tile(crossing - 1))
    assert all_is_lost(problem, Tile(crossing))
    assert spill_ledger(problem, Tile(crossing)).total > ledger("standard", problem, Tile()).total
    assert not all_is_lost(problem, Tile(1)), "loses to standard, but not by spilling"


@given(problem=PROBLEMS, tile=TILES)
@settings(max_examples=30)
def test_the_crossing_leads_from_below_standard_to_above(problem, tile):
    found, standard = cliff(problem, tile), ledger("standard", problem, tile).total
    moved = {
        Br: spill_ledger(problem, Tile(Br, tile.Bc, tile.sram)).total for Br in (1, 2, 64, 300, 700, 1024)
    }
    least = spill_ledger(problem, Tile(found.lowest, tile.Bc, tile.sram)).total
    assert least <= min(moved.values())
    assert found.wins == (least < standard)
    if found.crossing is None:
        lost = [
            Br for Br in moved if Br > found.lowest and all_is_lost(problem, Tile(Br, tile.Bc, tile.sram))
        ]
        assert not (found.wins and lost)
        return
    assert found.wins and found.crossing > found.lowest
    assert all_is_lost(problem, Tile(found.crossing, tile.Bc, tile.sram))
    before = Tile(found.crossing - 1, tile.Bc, tile.sram)
    assert not all_is_lost(problem, before)


def test_a_curve_that_starts_above_standard_has_not_crossed_it_there():
    """Bc = 1024 spills at every Br: above standard at Br = 1, below it in the end, and never back."""
    tile = Tile(Br=1024, Bc=1024)
    assert not working_set(Problem(), Tile(1, 1024)).fits and all_is_lost(Problem(), Tile(1, 1024))
    assert not all_is_lost(Problem(), tile)
    assert cliff(Problem(), tile).wins and cliff(Problem(), tile).crossing is None
    narrow = cliff(Problem(N=1), Tile(Bc=1024, sram=1))
    assert not narrow.wins and narrow.crossing is None


@given(problem=PROBLEMS, tile=TILES, gpu=st.sampled_from(sorted(GPUS)))
def test_landscape_equals_the_scalar_models(problem, tile, gpu):
    gpu = GPUS[gpu]
    Br, Bc = [tile.Br, 1, 1024], [tile.Bc, 1024]
    found = landscape(problem, tile.sram, Br, Bc, gpu)
    assert all(grid.shape == (3, 2) for grid in found.values())
    for i, j in np.ndindex(3, 2):
        here = Tile(Br[i], Bc[j], tile.sram)
        memory, traffic = working_set(problem, here), spill_ledger(problem, here)
        assert int(found["working_set"][i, j]) == memory.total
        assert bool(found["fits"][i, j]) == memory.fits
        assert int(found["spill_bytes"][i, j]) == memory.spill_bytes
        assert int(found["traffic_elements"][i, j]) == traffic.total
        assert int(found["traffic_bytes"][i, j]) == traffic.bytes(problem.dtype)
        time = roofline.time_of(traffic, roofline.flops(problem, "tiled", here), problem, gpu)
        assert found["time"][i, j] == pytest.approx(time.lower, rel=1e-12)


@pytest.mark.parametrize("dtype", ["fp8", "fp32"])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sram", LIMITS["sram"])
def test_landscape_at_the_ends_of_every_range(dtype, causal, sram):
    """The largest layer there is: int64 must not wrap and nothing may be negative, infinite or NaN."""
    for N in LIMITS["N"]:
        problem = Problem(N=N, d=256, H=256, B=1024, dtype=dtype, causal=causal)
        blocks = np.array([1, 2, 511, 1024])
        found = landscape(problem, sram, blocks, blocks)
        for name, grid in found.items():
            assert np.isfinite(grid).all(), name
            assert (grid >= 0).all(), name
        for i, j in np.ndindex(4, 4):
            traffic = spill_ledger(problem, Tile(int(blocks[i]), int(blocks[j]), sram))
            assert int(found["traffic_bytes"][i, j]) == traffic.bytes(dtype)
