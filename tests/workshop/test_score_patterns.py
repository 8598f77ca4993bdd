"""Each pattern does to the running maximum what its text says, for any size and tile width."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.reference import attention
from workshop.score_patterns import HUGE, PATTERNS, make
from workshop.trace import trace

_sizes = {"N": st.integers(1, 64), "d": st.integers(1, 40), "seed": st.integers(0, 5)}
_tiles = {"Br": st.integers(1, 70), "Bc": st.integers(1, 70)}


def _later(run):
    """Rescale factors of every tile after the first of its Q block."""
    return [visit.update.alpha for visit in run.visits if visit.j > 0]


@settings(deadline=None)
@given(**_sizes, **_tiles)
def test_rising_always_rescales(N, d, seed, Br, Bc):
    for alpha in _later(trace(make("rising", N, d, seed), Br, Bc)):
        assert np.all((alpha > 0.0) & (alpha < 1.0))


@settings(deadline=None)
@given(**_sizes, **_tiles)
def test_falling_never_rescales_after_the_first(N, d, seed, Br, Bc):
    for alpha in _later(trace(make("falling", N, d, seed), Br, Bc)):
        assert np.all(alpha == 1.0)


@given(**_sizes)
def test_one_key_towers_over_every_row(N, d, seed):
    inputs = make("huge", N, d, seed)
    scores = attention(inputs.q, inputs.k, inputs.v).scores
    key = (2 * N) // 3
    assert np.all(scores.argmax(axis=1) == key)
    rest = np.delete(scores, key, axis=1)
    assert rest.size == 0 or np.all(scores[:, key] - rest.max(axis=1) >= HUGE - 1e-9)


def test_masked_row_sees_nothing_and_the_others_all():
    inputs = make("masked", 12, 8)
    seen = inputs.mask.sum(axis=1)
    assert seen[4] == 0 and np.all(np.delete(seen, 4) == 12)


def test_extreme_scores_all_alike():
    inputs = make("extreme", 30, 7)
    scores = attention(inputs.q, inputs.k, inputs.v).scores
    assert np.allclose(scores, -2.45e5, rtol=1e-15) and len(np.unique(scores)) == 1


def test_same_seed_same_numbers_other_seed_other():
    assert np.array_equal(make("random", 9, 8, 3).q, make("random", 9, 8, 3).q)
    assert not np.array_equal(make("random", 9, 8, 3).q, make("random", 9, 8, 4).q)


@pytest.mark.parametrize("slug", PATTERNS)
def test_every_pattern_is_finite(slug):
    for N in (1, 2, 17, 64):
        inputs = make(slug, N, 8)
        assert all(np.all(np.isfinite(x)) for x in (inputs.q, inputs.k, inputs.v))


def test_errors_name_option_range_and_value():
    with pytest.raises(ValueError, match=r"pattern: expected one of random, .*; got 'zigzag'"):
        make("zigzag", 8, 8)
    with pytest.raises(ValueError, match=r"N: expected a whole number from 1 to 64; got 65"):
        make("random", 65, 8)
