"""Time and arithmetic: headline times, conventions and laws."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workshop import brute_force
from tests.workshop.strategies import PROBLEMS, SMALL_PROBLEMS, SMALL_TILES, TILES
from workshop.hardware import GPUS, SUSTAINED
from workshop.problem import Problem, Tile
from workshop.roofline import attainable, flops, scores_computed, sustained, time, time_of
from workshop.traffic import MODELS, algorithm_1_blocks, ledger


def test_headline_times():
    """4 N^2 d x 32 FLOPs at 989 TFLOP/s against 2 B x 32 heads of traffic at 3.35 TB/s, worked out by
    hand."""
    standard, bound = (time(model, Problem(), Tile()) for model in ("standard", "bound"))
    assert standard.lower == pytest.approx(5.2084e-3, abs=5e-8)
    assert bound.lower == pytest.approx(1.1117e-3, abs=5e-8)
    assert standard.lower / bound.lower == pytest.approx(4.685, abs=5e-4)
    assert (standard.binding, bound.binding) == ("memory", "compute")
    assert standard.intensity == pytest.approx(63.0, abs=0.05)
    assert bound.intensity == pytest.approx(745.9, abs=0.05)


def test_flop_conventions():
    """2 a multiply-add; forward 4 N^2 d; backward 2.5x with recomputation, 2x with P kept (Dao et al.
    2022)."""
    problem, tile = Problem(N=1000, d=40, H=3, B=2), Tile()
    forward = 4 * 1000**2 * 40 * 6
    assert flops(problem, "standard", tile) == flops(problem, "bound", tile) == forward
    assert flops(problem, "tiled", tile, direction="backward") == 2.5 * forward
    assert flops(problem, "tiled", tile, direction="both") == 3.5 * forward
    assert flops(problem, "standard", tile, direction="backward") == 2 * forward


def test_six_products_of_the_papers_layer():
    """GPT-2 medium of the paper (N = 1024, d = 64, 1,024 heads): six matrix products are 824.6 GFLOP."""
    problem = Problem(N=1024, d=64, H=16, B=64, dtype="fp16")
    assert flops(problem, "standard", Tile(), direction="both") / 1e9 == pytest.approx(824.6, abs=0.05)


def test_the_largest_layer_is_exact():
    problem = Problem(N=1_048_576, d=256, H=256, B=1024)
    assert flops(problem, "standard", Tile()) == 2**2 * 2**40 * 2**8 * 2**18
    assert time("standard", problem, Tile()).bytes == (2**42 + 2**30) * 2 * 2**18


@given(problem=SMALL_PROBLEMS, tile=SMALL_TILES)
def test_scores_are_those_of_visited_tiles(problem, tile):
    _, expected, *_ = brute_force.visits(problem.N, tile.Br, tile.Bc, problem.causal)
    for model in ("tiled", "bound", "compulsory", "waves"):
        assert scores_computed(problem, model, tile) == expected
    Br, Bc = algorithm_1_blocks(tile.M(problem), problem.d)
    _, expected, *_ = brute_force.visits(problem.N, Br, Bc, problem.causal)
    assert scores_computed(problem, "algorithm_1", tile) == expected
    live = int(brute_force.mask(problem.N, problem.causal).sum())
    assert scores_computed(problem, "standard", tile) == problem.N**2
    assert scores_computed(problem, "standard", tile, skip_masked=True) == live


@given(problem=PROBLEMS, tile=TILES, model=st.sampled_from(MODELS), gpu=st.sampled_from(sorted(GPUS)))
def test_bounds(problem, tile, model, gpu):
    gpu = GPUS[gpu]
    found = time(model, problem, tile, gpu)
    assert 0 < found.lower <= found.upper <= 2 * found.lower
    assert found.bytes == ledger(model, problem, tile, gpu).bytes(problem.dtype) * problem.heads
    above_ridge = found.intensity >= gpu.ridge(problem.dtype)
    if abs(found.intensity / gpu.ridge(problem.dtype) - 1) > 1e-9:
        assert (found.binding == "compute") == above_ridge


def test_a_missing_rate_is_told():
    found = time("bound", Problem(dtype="fp8"), Tile(), GPUS["a100-sxm-40"])
    assert found.compute_s == found.flops / 312e12
    assert "no fp8" in found.note


def test_switches_reach_ledger_and_flops():
    problem, tile = Problem(causal=True), Tile()
    skipping = time("standard", problem, tile, skip_masked=True)
    assert skipping.flops == 4 * (8192 * 8193 // 2) * 128 * 32
    assert skipping.bytes == ledger("standard", problem, tile, skip_masked=True).bytes("bf16") * 32
    scaled = time("standard", problem, tile, scale_pass=True)
    assert scaled.bytes == (4 * 8192 * 128 + 6 * 8192**2) * 2 * 32
    assert time_of(ledger("bound", problem, tile), 0, problem).compute_s == 0


def test_refusals():
    with pytest.raises(ValueError, match="model: expected one of"):
        flops(Problem(), "flash", Tile())
    with pytest.raises(ValueError, match="direction: expected one of"):
        flops(Problem(), "tiled", Tile(), direction="sideways")


@given(PROBLEMS, TILES, st.sampled_from(MODELS), st.sampled_from(sorted(GPUS)))
def test_a_layers_rate_lies_on_the_roof(problem, tile, model, slug):
    """FLOPs over the lower bound of the time, and the roof at the layer's intensity, are one number."""
    gpu = GPUS[slug]
    found = time(model, problem, tile, gpu)
    assert found.rate == pytest.approx(float(attainable(gpu, problem.dtype, found.intensity)), rel=1e-12)


@pytest.mark.parametrize("share", SUSTAINED)
def test_less_bandwidth_lowers_the_slope_and_leaves_the_peak(share):
    gpu = GPUS["h100-sxm"]
    low, high = attainable(gpu, "bf16", [10, 1e4], share)
    assert low == pytest.approx(share * 3.35e13) and high == 989e12
    assert sustained(gpu, share).ridge("bf16") == pytest.approx(gpu.ridge("bf16") / share)
    slower = time("standard", Problem(), Tile(), sustained(gpu, share)).lower
    assert slower == pytest.approx(5.2084e-3 / share, rel=1e-4)


@pytest.mark.parametrize("share", [0, -0.5, 1.01])
def test_a_share_of_bandwidth_is_above_0_and_at_most_1(share):
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        attainable(GPUS["l4"], "bf16", 1.0, share)
    with pytest.raises(ValueError, match="above 0 and at most 1"):
        sustained(GPUS["l4"], share)
