"""Spreads, repetitions and the warm-up that is not counted. No test depends on how fast this machine is."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.kernels.timing import LEAST, MOST, Spread, cpu_spread, repetitions


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=80))
def test_percentiles_are_ordered_and_within_the_readings(readings):
    spread = Spread.of(readings)
    assert min(readings) <= spread.p20 <= spread.p50 <= spread.p80 <= max(readings)
    assert spread.count == len(readings)


def test_the_median_of_known_readings():
    spread = Spread.of([5.0, 1.0, 2.0, 4.0, 3.0])
    assert (spread.p20, spread.p50, spread.p80) == pytest.approx((1.8, 3.0, 4.2))
    assert spread.p50 == np.median([1, 2, 3, 4, 5])


def test_no_readings_is_an_error():
    with pytest.raises(ValueError, match="expected at least one reading, got none"):
        Spread.of([])


@given(st.floats(0, 1e3), st.floats(0, 10))
def test_repetitions_stay_within_bounds(each, budget):
    assert LEAST <= repetitions(each, budget) <= MOST


def test_repetitions_use_the_budget():
    assert repetitions(0.01, 0.2) == 20


def test_the_first_call_is_not_counted_and_a_stop_is_heard():
    calls, seen = [], []

    def between(done, total):
        seen.append((done, total))

    spread = cpu_spread(lambda: calls.append(1), budget=0.0, between=between)
    assert len(calls) == spread.count + 1
    assert seen == [(i, spread.count) for i in range(spread.count)]

    class Stop(Exception):
        pass

    def stop(done, total):
        raise Stop

    with pytest.raises(Stop):
        cpu_spread(lambda: None, between=stop)
