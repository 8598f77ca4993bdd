"""The rescale rule: golden factors, then any split of any row against the oracle."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workshop.online_softmax import absorb, empty, finish, rescale


def _row(*scores):
    return np.array([scores], dtype=float)


def _factors(blocks):
    state, factors = empty(1, 1), []
    for block in blocks:
        update = absorb(state, _row(*block), np.ones((len(block), 1)))
        factors.append(update.alpha[0])
        state = update.after
    return factors, state


def test_maxima_one_then_five():
    factors, _ = _factors([(1.0, 0.0), (5.0, 2.0)])
    assert factors[0] == 0.0
    assert factors[1] == pytest.approx(0.0183, abs=5e-5) and factors[1] == np.exp(-4.0)


def test_maxima_five_then_one():
    assert _factors([(5.0,), (1.0,)])[0] == [0.0, 1.0]


def test_nothing_seen_before_and_still_nothing():
    assert rescale(np.array([-np.inf]), np.array([-np.inf]))[0] == 0.0
    factors, state = _factors([(-np.inf, -np.inf), (-np.inf,), (2.0,)])
    assert factors == [0.0, 0.0, 0.0] and state.l[0] == 1.0


def test_a_running_maximum_cannot_fall():
    with pytest.raises(ValueError, match="m_new: expected at least m_old"):
        rescale(np.array([2.0]), np.array([1.0]))


def test_a_row_without_keys_is_zero():
    update = absorb(empty(1, 3), _row(-np.inf, -np.inf), np.ones((2, 3)))
    output, logsumexp = finish(update.after)
    assert np.array_equal(output, np.zeros((1, 3))) and logsumexp[0] == -np.inf


def test_extreme_scores_average_the_values():
    v = np.array([[1.0], [2.0], [6.0]])
    state = absorb(empty(1, 1), np.full((1, 2), -2.45e5), v[:2]).after
    state = absorb(state, np.full((1, 1), -2.45e5), v[2:]).after
    output, logsumexp = finish(state)
    assert output[0, 0] == pytest.approx(3.0, rel=1e-15)
    assert logsumexp[0] == pytest.approx(-2.45e5 + np.log(3), rel=1e-15)


def test_shape_error_says_both():
    with pytest.raises(ValueError, match=r"s: expected shape \(2, 4\), got \(4, 2\)"):
        absorb(empty(2, 1), np.zeros((4, 2)), np.zeros((4, 1)))


_scores = st.one_of(st.floats(-700, 700), st.just(-np.inf))


@given(st.data())
def test_any_split_gives_the_softmax(data):
    n = data.draw(st.integers(1, 40))
    s = data.draw(arrays(np.float64, n, elements=_scores))
    v = data.draw(arrays(np.float64, (n, 2), elements=st.floats(-10, 10)))
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1)))) if n > 1 else []
    state, previous = empty(1, 2), -np.inf
    for start, stop in zip([0, *cuts], [*cuts, n], strict=True):
        update = absorb(state, s[None, start:stop], v[start:stop])
        assert 0.0 <= update.alpha[0] <= 1.0
        assert np.all((update.p >= 0.0) & (update.p <= 1.0))
        state = update.after
        assert state.m[0] >= previous
        previous = state.m[0]
    output, logsumexp = finish(state)
    if np.all(np.isneginf(s)):
        assert np.array_equal(output, np.zeros((1, 2))) and logsumexp[0] == -np.inf
        return
    weights = np.exp(s - s.max())
    np.testing.assert_allclose(
        output[0], weights @ v / weights.sum(), rtol=1e-12, atol=1e-12 * np.abs(v).max()
    )
    np.testing.assert_allclose(logsumexp[0], s.max() + np.log(weights.sum()), rtol=1e-12, atol=1e-12)
