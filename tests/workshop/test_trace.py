"""The step-by-step trace against the oracle, the ledgers, the mask counts and the working set."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tile_states import CURRENT, DONE, SKIPPED, TO_COME, states
from workshop import masks
from workshop.problem import Problem, Tile
from workshop.reference import attention
from workshop.score_patterns import PATTERNS, make
from workshop.sram import working_set
from workshop.trace import ORDERS, trace
from workshop.traffic import ledger

_any = {
    "N": st.integers(1, 64),
    "d": st.integers(1, 48),
    "Br": st.integers(1, 70),
    "Bc": st.integers(1, 70),
    "causal": st.booleans(),
    "order": st.sampled_from(list(ORDERS)),
}


def _ledger(run, d):
    problem, tile = Problem(N=run.N, d=d, dtype=run.dtype, causal=run.causal), Tile(Br=run.Br, Bc=run.Bc)
    if run.order == "query-outer":
        return ledger("tiled", problem, tile, training=True)
    return ledger("algorithm_1", problem, tile, blocks=(run.Br, run.Bc))


def _expected(run):
    """Elements by (tensor, direction); the models start at d = 8, and every line is affine in d."""
    at_8, at_16 = _ledger(run, 8), _ledger(run, 16)
    for low, high in zip(at_8, at_16, strict=True):
        slope, rest = divmod(high.elements - low.elements, 8)
        assert rest == 0
        yield (low.tensor, low.direction), low.elements + slope * (run.d - 8)


@settings(deadline=None, max_examples=150)
@given(pattern=st.sampled_from(list(PATTERNS)), **_any)
def test_result_equals_the_oracle(pattern, N, d, Br, Bc, causal, order):
    inputs = make(pattern, N, d)
    run = trace(inputs, Br, Bc, causal=causal, order=order)
    truth = attention(inputs.q, inputs.k, inputs.v, causal=causal, mask=inputs.mask)
    assert np.all(np.isfinite(run.output))
    size = np.abs(inputs.v).max()
    assert run.error_max == np.abs(run.output - truth.output).max() <= 1e-12 * size
    seen = np.isfinite(truth.logsumexp)
    assert np.array_equal(seen, np.isfinite(run.logsumexp))
    np.testing.assert_allclose(run.logsumexp[seen], truth.logsumexp[seen], rtol=1e-12, atol=1e-12)


@settings(deadline=None, max_examples=150)
@given(dtype=st.sampled_from(["bf16", "fp32", "fp8"]), **_any)
def test_meters_end_at_the_ledger(dtype, N, d, Br, Bc, causal, order):
    run = trace(make("random", N, d), Br, Bc, causal=causal, order=order, dtype=dtype)
    moved = Counter()
    for step in run.steps:
        for move in step.moves:
            moved[move.tensor, move.direction] += move.elements
    expected = dict(_expected(run))
    assert {key: n for key, n in moved.items() if n} == {key: n for key, n in expected.items() if n}
    read = sum(n for (_, direction), n in expected.items() if direction == "read")
    written = sum(n for (_, direction), n in expected.items() if direction == "write")
    assert (run.bytes_read, run.bytes_written) == (read * run.element_bytes, written * run.element_bytes)


@pytest.mark.parametrize("order", ORDERS)
def test_meters_equal_ledger_bytes(order):
    run = trace(make("random", 50, 8), 16, 12, causal=True, order=order, dtype="fp16")
    assert run.bytes_read + run.bytes_written == _ledger(run, 8).bytes("fp16")


@settings(deadline=None)
@given(**_any)
def test_steps_are_consistent(N, d, Br, Bc, causal, order):
    run = trace(make("random", N, d), Br, Bc, causal=causal, order=order)
    assert (len(run.visits), run.kinds.size) == masks.visited(N, Br, Bc, causal)
    assert {(visit.i, visit.j) for visit in run.visits} == set(zip(*np.nonzero(run.kinds), strict=True))
    assert run.steps[0].line == "start" and run.steps[-1].line == "compare"
    assert sum(step.stop for step in run.steps) == len(run.visits) + 2
    previous = run.steps[0]
    for index, step in enumerate(run.steps):
        found = states(run, index)
        assert np.array_equal(found == SKIPPED, run.kinds == masks.SKIPPED)
        assert (found == DONE).sum() == step.done
        assert (found == CURRENT).sum() <= 1
        assert step.read >= previous.read and step.written >= previous.written and step.done >= previous.done
        assert all(step.resident.values())
        if step.line in ("scores", "maximum", "weights", "update"):
            visit = run.visits[step.visit]
            assert found[visit.i, visit.j] == CURRENT and (visit.i, visit.j) == (step.i, step.j)
            assert step.resident["s"] == visit.update.s.size
        previous = step
    assert not np.any(states(run, len(run.steps) - 1) == TO_COME)
    assert run.steps[-1].resident == {} == run.steps[0].resident


@settings(deadline=None)
@given(**_any)
def test_numbers_chain_from_tile_to_tile(N, d, Br, Bc, causal, order):
    run = trace(make("random", N, d), Br, Bc, causal=causal, order=order)
    last = {}
    for visit in run.visits:
        update = visit.update
        assert visit.shape == (min(Br, N - visit.row), min(Bc, N - visit.key))
        assert np.all((update.alpha >= 0.0) & (update.alpha <= 1.0)) and np.all(update.added_l >= 0.0)
        if visit.i in last:
            np.testing.assert_allclose(update.before.o, last[visit.i].o, rtol=1e-14, atol=1e-14)
            assert np.array_equal(update.before.m, last[visit.i].m)
            assert np.array_equal(update.before.l, last[visit.i].l)
        else:
            assert np.all(update.alpha == 0.0) and np.all(np.isneginf(update.before.m))
        last[visit.i] = update.after


@settings(deadline=None)
@given(d=st.integers(8, 48), **{name: value for name, value in _any.items() if name != "d"})
def test_the_chip_never_holds_more_than_the_working_set(N, d, Br, Bc, causal, order):
    run = trace(make("random", N, d), Br, Bc, causal=causal, order=order)
    most = max(sum(step.resident.values()) for step in run.steps) * run.element_bytes
    tile = Tile(Br=min(Br, N), Bc=min(Bc, N))
    # A tile clipped to the sequence is visited whole, so the bound is reached.
    assert most == working_set(Problem(N=N, d=d), tile).total


def test_golden_512_causal_at_an_eighth():
    # 10 of 16 tiles, as for N=512 with tiles of 128.
    run = trace(make("random", 64, 8), 16, 16, causal=True)
    assert len(run.visits) == 10 and run.kinds.size == 16


def test_a_fully_masked_row_is_zero_in_both_orders():
    for order in ORDERS:
        run = trace(make("masked", 12, 8), 4, 5, order=order)
        assert np.array_equal(run.output[4], np.zeros(8)) and run.logsumexp[4] == -np.inf
        assert not any(np.isnan(visit.update.alpha).any() for visit in run.visits)


def test_extreme_logits_give_the_mean_of_v():
    inputs = make("extreme", 64, 8)
    for order in ORDERS:
        run = trace(inputs, 16, 16, order=order)
        np.testing.assert_allclose(run.output, np.broadcast_to(inputs.v.mean(0), (64, 8)), rtol=0, atol=1e-14)


def test_errors_name_the_option():
    inputs = make("random", 8, 8)
    with pytest.raises(ValueError, match=r"Br: expected a whole number of 1 or more; got 0"):
        trace(inputs, 0, 4)
    with pytest.raises(ValueError, match=r"order: expected one of query-outer, key-outer; got 'spiral'"):
        trace(inputs, 4, 4, order="spiral")
    with pytest.raises(ValueError, match=r"dtype: expected one of .*; got 'int8'"):
        trace(inputs, 4, 4, dtype="int8")


@settings(deadline=None)
@given(pattern=st.sampled_from(list(PATTERNS)), **_any)
def test_the_highlight_is_a_step_that_tells_the_story(pattern, N, d, Br, Bc, causal, order):
    run = trace(make(pattern, N, d), Br, Bc, causal=causal, order=order)
    step = run.steps[run.highlight]
    visit = run.visits[step.visit]
    row = run.focus_rows[visit.i]
    if pattern == "masked":
        assert step.line == "maximum" and np.isneginf(visit.update.after.m[row])
        return
    assert step.line == "update"
    shrinks = any(np.any((v.update.before.l > 0) & (v.update.alpha < 1)) for v in run.visits)
    assert (visit.update.alpha[row] < 1 and visit.update.before.l[row] > 0) or not shrinks


def test_rising_maxima_open_on_the_second_tile():
    run = trace(make("rising", 32, 8), 8, 8)
    assert run.steps[run.highlight].visit == 1
