"""Every model against loops that add rows, and the laws that must hold at any setting."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workshop import brute_force
from tests.workshop.strategies import PROBLEMS, SMALL_PROBLEMS, SMALL_TILES, TILES
from workshop.hardware import GPUS, custom
from workshop.ledger import Ledger
from workshop.problem import LIMITS, Problem, Tile
from workshop.traffic import MODELS, algorithm_1_blocks, ledger, resident_blocks, totals

MODEL = st.sampled_from(MODELS)
GPU = st.sampled_from(sorted(GPUS))


def by_tensor(found: Ledger) -> dict[str, int]:
    return {line.tensor: found.of(line.tensor) for line in found}


@given(problem=SMALL_PROBLEMS, tile=SMALL_TILES, skip=st.booleans())
def test_standard_by_hand(problem, tile, skip):
    found = ledger("standard", problem, tile, skip_masked=skip)
    assert by_tensor(found) == brute_force.standard(problem.N, problem.d, problem.causal, skip)


@given(problem=SMALL_PROBLEMS, tile=SMALL_TILES)
def test_tiled_by_hand(problem, tile):
    expected = brute_force.query_outer(problem.N, problem.d, tile.Br, tile.Bc, problem.causal)
    assert by_tensor(ledger("tiled", problem, tile)) == expected


@given(problem=SMALL_PROBLEMS, tile=SMALL_TILES, sms=st.integers(1, 5))
def test_waves_by_hand(problem, tile, sms):
    gpu = custom(1e12, 1e14, sms=sms, max_blocks_sm=2)
    together = resident_blocks(gpu, tile, problem.d, problem.dtype).blocks
    expected = brute_force.query_outer(problem.N, problem.d, tile.Br, tile.Bc, problem.causal, together)
    assert by_tensor(ledger("waves", problem, tile, gpu)) == expected


@given(problem=SMALL_PROBLEMS, tile=SMALL_TILES)
def test_algorithm_1_by_hand(problem, tile):
    Br, Bc = algorithm_1_blocks(tile.M(problem), problem.d)
    expected = brute_force.key_outer(problem.N, problem.d, Br, Bc, problem.causal)
    assert by_tensor(ledger("algorithm_1", problem, tile)) == expected
    del expected["m, l"]
    assert by_tensor(ledger("algorithm_1", problem, tile, statistics=False)) == expected


@given(problem=SMALL_PROBLEMS, tile=SMALL_TILES)
def test_algorithm_1_with_blocks_given_by_hand(problem, tile):
    expected = brute_force.key_outer(problem.N, problem.d, tile.Br, tile.Bc, problem.causal)
    assert by_tensor(ledger("algorithm_1", problem, tile, blocks=(tile.Br, tile.Bc))) == expected


@given(
    blocks=st.integers(1, 6),
    sram=st.integers(1, 64),
    d=st.sampled_from([8, 16, 32, 64, 128]),
    causal=st.booleans(),
)
def test_bound_is_tiled_with_all_of_m_spent_on_q(blocks, sram, d, causal):
    """With Br = M/d dividing N and keys read one by one; `bound` counts the first pass over K and V on
    top."""
    Br = sram * 1024 // 2 // d
    problem = Problem(N=Br * blocks, d=d, causal=causal)
    rows = brute_force_rows(problem.N, Br, causal)
    expected = 2 * problem.N * d + 2 * rows * d + 2 * problem.N * d
    assert ledger("bound", problem, Tile(sram=sram)).total == expected


def brute_force_rows(N, Br, causal):
    return sum((start + Br if causal else N) for start in range(0, N, Br))


@given(problem=PROBLEMS, tile=TILES)
def test_bound_is_the_papers_fraction_rounded_up(problem, tile):
    N, d, M = problem.N, problem.d, tile.M(problem)
    exact = 4 * N * d + Fraction(2 * N * N * d * d, M)
    if problem.causal:
        exact = 4 * N * d + Fraction(N * N * d * d, M) * (1 + min(1, Fraction(M, N * d)))
    assert 0 <= ledger("bound", problem, tile).total - exact < 1


@given(model=MODEL, problem=PROBLEMS, tile=TILES, gpu=GPU)
def test_totals_are_sums_of_exact_lines_and_equal_the_vectorised_ones(model, problem, tile, gpu):
    found = ledger(model, problem, tile, GPUS[gpu])
    assert all(type(line.elements) is int and line.elements >= 0 for line in found)
    assert found.total == sum(line.elements for line in found.lines) == found.reads + found.writes
    swept = totals(model, problem, tile, GPUS[gpu], N=np.array([problem.N, 1]), Br=np.array([tile.Br] * 2))
    assert swept.dtype == np.int64
    assert int(swept[0]) == found.total


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("causal", [False, True])
def test_vectorised_totals_at_both_ends_of_every_range(model, causal):
    problem = Problem(causal=causal, dtype="fp32")
    ends = [np.array(LIMITS[option]) for option in ("N", "d", "Br", "Bc", "sram")]
    N, d, Br, Bc, sram = np.meshgrid(*ends, indexing="ij")
    found = totals(model, problem, Tile(), N=N, d=d, Br=Br, Bc=Bc, sram=sram)
    for index in np.ndindex(found.shape):
        corner = Problem(N=N[index], d=d[index], causal=causal, dtype="fp32")
        assert int(found[index]) == ledger(model, corner, Tile(Br[index], Bc[index], sram[index])).total


@given(model=MODEL, problem=PROBLEMS, tile=TILES, gpu=GPU)
def test_nobody_moves_less_than_inputs_and_output(model, problem, tile, gpu):
    least = ledger("compulsory", problem, tile).total
    assert ledger(model, problem, tile, GPUS[gpu]).total >= least


@given(model=MODEL, problem=PROBLEMS, tile=TILES, gpu=GPU)
def test_a_mask_never_adds_traffic(model, problem, tile, gpu):
    masked, full = (
        Problem(problem.N, problem.d, dtype=problem.dtype, causal=causal) for causal in (True, False)
    )
    assert ledger(model, masked, tile, GPUS[gpu]).total <= ledger(model, full, tile, GPUS[gpu]).total


@given(problem=PROBLEMS, tile=TILES)
def test_larger_q_blocks_never_cost_traffic_without_a_mask(problem, tile):
    free = Problem(problem.N, problem.d, dtype=problem.dtype)
    swept = totals("tiled", free, tile, Br=np.arange(1, 1025))
    assert (np.diff(swept) <= 0).all()


@given(model=st.sampled_from(["bound", "algorithm_1"]), problem=PROBLEMS)
def test_more_memory_never_costs_traffic_without_a_mask(model, problem):
    free = Problem(problem.N, problem.d, dtype=problem.dtype)
    assert (np.diff(totals(model, free, Tile(), sram=np.arange(1, 1025))) <= 0).all()


@pytest.mark.parametrize("N", [1, 15, 17, 1000, 1_048_576])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("Br", "Bc"), [(128, 48), (16, 112), (7, 5)])
def test_ragged_sequences_are_exact(N, causal, Br, Bc):
    """K rows read, summed Q block by Q block with the short last tiles at their true size."""
    rows = 0
    for start in range(0, N, Br):
        last = min(start + Br, N)
        rows += min(-(-last // Bc) * Bc, N) if causal else N
    problem = Problem(N=N, d=24, causal=causal)
    assert ledger("tiled", problem, Tile(Br, Bc)).total == 2 * N * 24 + 2 * rows * 24
