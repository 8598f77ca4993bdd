"""Waves: passes over K and V counted block by block, in the order in which a GPU starts them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.hardware import GPUS
from workshop.problem import Problem, Tile
from workshop.residency import resident_blocks
from workshop.traffic import ledger
from workshop.waves import wave_passes


@given(Tr=st.integers(1, 300), resident=st.integers(1, 400), heads=st.integers(1, 9))
def test_passes_are_counted_block_by_block(Tr, resident, heads):
    read = {(block // resident, block // Tr) for block in range(heads * Tr)}  # (wave, head) pairs
    passes = wave_passes(Tr, resident, heads)
    assert passes == len(read)
    aligned = sum(h * Tr % resident == 0 for h in range(1, heads))
    assert passes == -(-heads * Tr // resident) + heads - 1 - aligned


# An H200's counters, bf16, d = 128, Br = 64, R = 264: (DRAM read - Q) / (K + V) of the layer was 8.01 for one head of
# 131,072 tokens and 4.69 for four of 65,536, of which the L2 holds a little back.
def test_what_the_counters_of_an_h200_said():
    assert wave_passes(2048, 264, 1) == 8
    assert wave_passes(1024, 264, 4) / 4 == 4.75


def test_for_one_head_it_is_the_traffic_model():
    problem, tile, gpu = Problem(N=131_072, H=1), Tile(Br=64, Bc=64), GPUS["h200-sxm"]
    lines = ledger("waves", problem, tile, gpu).lines
    reads = sum(line.elements for line in lines if line.tensor == "K")
    R = resident_blocks(gpu, tile, problem.d, problem.dtype).blocks
    assert reads == wave_passes(2048, R, 1) * problem.N * problem.d


@pytest.mark.parametrize("bad", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_nothing_below_one(bad):
    with pytest.raises(ValueError, match="expected 1 or more"):
        wave_passes(*bad)
