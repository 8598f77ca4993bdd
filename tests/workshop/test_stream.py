"""The loop over Q blocks, against the ledger it is cut from and a loop tile by tile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop import sram, traffic
from workshop.masks import ceil_div
from workshop.problem import Problem, Tile
from workshop.stream import STAGES, Stream

SHAPES = {
    "N": st.integers(1, 900),
    "d": st.integers(8, 256),
    "Br": st.integers(1, 300),
    "Bc": st.integers(1, 300),
    "M": st.integers(1, 300),
    "causal": st.booleans(),
}


def made(N, d, Br, Bc, M, causal):
    return Stream(Problem(N=N, d=d, causal=causal), Tile(Br=Br, Bc=Bc, sram=M))


@given(**SHAPES)
def test_the_last_block_ends_on_the_ledgers_total(**shape):
    found = made(**shape)
    assert int(found.ends[-1]) == found.ledger.total
    assert len(found.ends) == found.blocks == ceil_div(shape["N"], shape["Br"])
    assert found.ledger == sram.spill_ledger(found.problem, found.tile)


@given(**SHAPES)
def test_each_block_as_a_loop_over_its_tiles(**shape):
    found, moved, ends = made(**shape), 0, []
    N, d, Br, Bc = (shape[name] for name in ("N", "d", "Br", "Bc"))
    for first in range(0, N, Br):
        rows = min(first + Br, N) - first
        moved += rows * d
        for key in range(0, N, Bc):
            if not shape["causal"] or key <= first + rows - 1:
                moved += 2 * d * (min(key + Bc, N) - key) + 2 * found.excess
        moved += rows * d
        ends.append(moved)
    assert found.ends.tolist() == ends


@given(**SHAPES, share=st.floats(0, 1))
def test_the_loop_goes_forward(share, **shape):
    found = made(**shape)
    elements = round(share * found.ledger.total)
    here, after = found.at(elements), found.at(elements + 1)
    assert 0 <= here.done <= here.passes <= min(here.done + 1, found.blocks)
    assert here.passes <= after.passes and here.done <= after.done
    assert here.stage in STAGES


def test_the_stages_of_one_block_by_hand():
    # N = 4, d = 8, Br = 2: Q block 16 elements, K and V 2 * 32, O block 16, twice
    found = made(4, 8, 2, 2, 228, False)
    assert found.ends.tolist() == [96, 192]
    stages = {0: "start", 16: "load", 17: "stream", 80: "stream", 81: "leave", 96: "load", 192: "done"}
    for elements, stage in stages.items():
        place = found.at(elements)
        if elements == 96:  # nothing of the second block has come in yet
            assert (place.done, place.passes, place.stage) == (1, 1.0, "load")
        assert place.stage == stage
    assert found.at(48).passes == pytest.approx(0.5)


def test_without_a_spill_it_is_tiled_and_with_one_it_is_more():
    problem = Problem()
    assert Stream(problem, Tile()).ledger.total == traffic.ledger("tiled", problem, Tile()).total
    spilling = Stream(problem, Tile(Br=512))
    assert spilling.excess and spilling.ledger.total > traffic.ledger("tiled", problem, Tile(Br=512)).total


def test_the_longest_sequence_in_the_smallest_blocks_stays_exact():
    found = Stream(Problem(N=1 << 20, d=256, causal=True), Tile(Br=1, Bc=1, sram=1))
    assert int(found.ends[-1]) == found.ledger.total
