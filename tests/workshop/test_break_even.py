"""Where models start to beat standard attention."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workshop.strategies import PROBLEMS, TILES
from workshop.break_even import bound_M, gain_limit, tiled_Br
from workshop.hardware import custom
from workshop.problem import Problem, Tile
from workshop.traffic import MODELS, ledger

SMALL_GPU = custom(1e12, 1e14, sms=4)


def ratio(model, problem, tile):
    return ledger("standard", problem, tile).total / ledger(model, problem, tile, SMALL_GPU).total


@pytest.mark.parametrize("d", [64, 96, 128, 256])
def test_tiled_loses_below_half_the_head_size(d):
    """Large N: 2 N^2 d / Br against 4 N^2."""
    problem = Problem(N=2**20, d=d)
    assert tiled_Br(problem, Tile()) == d // 2


@pytest.mark.parametrize("N", [1000, 65_536])
@pytest.mark.parametrize("kib", [1, 2, 4, 8, 16, 32])
def test_bound_loses_below_half_d_squared(N, kib):
    """M < d^2 / 2, for every N."""
    for d in (32, 64, 90, 91, 128, 181, 256):
        problem, tile = Problem(N=N, d=d), Tile(sram=kib)
        loses = ledger("bound", problem, tile).total > ledger("standard", problem, tile).total
        assert loses == (tile.M(problem) < bound_M(d))
    assert bound_M(128) == 8192
    # An odd d: 181^2 / 2 = 16,380.5, so 16,380 elements still lose.
    assert bound_M(181) == 16_381


@given(problem=PROBLEMS, tile=TILES)
def test_the_first_winner_wins_and_the_one_before_loses(problem, tile):
    standard = ledger("standard", problem, tile).total
    found = tiled_Br(problem, tile)
    if found is not None:
        assert ledger("tiled", problem, replace(tile, Br=found)).total <= standard
    if found != 1:
        before = replace(tile, Br=(found or 1025) - 1)
        assert ledger("tiled", problem, before).total > standard


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("model", MODELS)
def test_gains_approach_their_limit(model, causal):
    """At N = 2^20 with little on-chip memory the N^2 terms are nearly all there is."""
    problem, tile = Problem(N=2**20, causal=causal), Tile(Br=16, Bc=16, sram=64)
    limit = gain_limit(model, problem, tile, SMALL_GPU)
    if model == "compulsory":
        assert limit is None
        assert ratio(model, problem, tile) == 1 + 2**20 / 128
    else:
        assert ratio(model, problem, tile) == pytest.approx(float(limit), rel=0.05)


def test_limits_at_the_defaults():
    """bound 2 x 116,736 / 128^2 = 14.25; tiled 2 x 128 / 128 = 2."""
    assert gain_limit("bound", Problem(), Tile()) == 14.25
    assert gain_limit("tiled", Problem(), Tile()) == 2
    with pytest.raises(ValueError, match="model: expected one of"):
        gain_limit("flash", Problem(), Tile())


@given(model=st.sampled_from(["bound", "tiled", "algorithm_1"]), problem=PROBLEMS, tile=TILES)
def test_no_gain_exceeds_its_limit_without_a_mask(model, problem, tile):
    """Standard over model is a mediant of the ratios of their Nd terms and of their N^2 terms, so below the
    larger."""
    free = Problem(problem.N, problem.d, dtype=problem.dtype)
    # Nd terms: 4 over 4; 4 over 2; 4d over d - 2, with the statistics that Algorithm 1 does not re-read.
    linear = {"bound": 1, "tiled": 2, "algorithm_1": 4 * free.d / (free.d - 2)}[model]
    assert ratio(model, free, tile) <= max(linear, gain_limit(model, free, tile)) * (1 + 1e-12)
