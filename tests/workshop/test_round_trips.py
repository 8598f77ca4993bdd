"""Standard attention's trips, against the traffic model, hand counts and the golden headline."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop import round_trips, traffic
from workshop.hardware import GPUS
from workshop.problem import Problem, Tile

SWITCHES = [
    dict(zip(("scale_pass", "mask_pass"), on, strict=True)) for on in product((False, True), repeat=2)
]


@pytest.mark.parametrize("switches", SWITCHES)
@given(N=st.integers(1, 1 << 20), d=st.integers(8, 256), dtype=st.sampled_from(["bf16", "fp32", "fp8"]))
def test_the_trips_are_the_standard_ledger_line_by_line(switches, N, d, dtype):
    problem = Problem(N=N, d=d, dtype=dtype)
    ledger = traffic.ledger("standard", problem, Tile(), **switches)
    found = round_trips.passes(problem, **switches)
    moved = [(t.tensor, t.direction, t.elements) for t in round_trips.trips(found)]
    assert moved == [(line.tensor, line.direction, line.elements) for line in ledger.lines]
    assert round_trips.running(found)[-1] == ledger.bytes(dtype)


def test_the_headline_trip_by_trip():
    # N = 8192, d = 128, bf16: 272,629,760 elements in all; S and P are 134,217,728 B, Q, K, V and O 2,097,152 B
    found = round_trips.passes(Problem())
    S, Q = 134_217_728, 2_097_152
    assert [t.bytes for t in round_trips.trips(found)] == [Q, Q, S, S, S, S, Q, Q]
    assert round_trips.running(found)[-1] == 2 * 272_629_760
    assert round_trips.score_share(found) == pytest.approx(4 * S / (4 * S + 4 * Q))


def test_a_scale_pass_makes_six_crossings_as_counted_on_an_h200():
    # 32 heads, N = 4096: six crossings of 1.07 GB, seen with hardware counters
    problem = Problem(N=4096)
    found = round_trips.passes(problem, scale_pass=True)
    squares = [t.bytes * problem.heads for t in round_trips.trips(found) if t.square]
    assert squares == [pytest.approx(1.07e9, rel=0.01)] * 6


def test_dropout_adds_a_trip_in_two_out_and_one_byte_an_element_for_what_was_kept():
    problem = Problem(N=100, d=16)
    plain, dropped = (round_trips.passes(problem, dropout_pass=on) for on in (False, True))
    added = round_trips.running(dropped)[-1] - round_trips.running(plain)[-1]
    assert added == 100 * 100 * (2 + 2 + 1)
    assert [t.tensor for t in dropped[-1].trips] == ["dropped P", "V", "O"]
    assert [t.tensor for t in dropped[-2].trips] == ["P", "dropped P", "kept?"]


def test_work_and_intensity_by_hand():
    scores, softmax, output = round_trips.passes(Problem())
    assert scores.flops == output.flops == 2 * 8192**2 * 128
    assert scores.intensity == pytest.approx(2 * 8192**2 * 128 / (2 * (2 * 8192 * 128 + 8192**2)))
    assert softmax.intensity == pytest.approx(5 / 4)  # five operations for two numbers of 2 B
    h100 = GPUS["h100-sxm"]
    assert round(scores.ridge(h100, "bf16")) == 295
    assert round(softmax.ridge(h100, "bf16")) == 20  # 67 TFLOP/s of the vector units over 3.35 TB/s
    assert scores.memory_s(h100) > scores.compute_s(h100, "bf16")
    assert softmax.memory_s(h100) / softmax.compute_s(h100, "bf16") == pytest.approx(20 / 1.25)


def test_products_keep_the_flops_of_the_roofline_model():
    from workshop import roofline

    problem = Problem(N=777, d=40, H=3)
    products = [p.flops for p in round_trips.passes(problem) if p.units == "matrix"]
    assert sum(products) * problem.heads == roofline.flops(problem, "standard", Tile())


@given(capacity=st.integers(0, 10**13), H=st.integers(1, 256), dtype=st.sampled_from(["bf16", "fp32", "fp8"]))
def test_the_longest_sequence_fits_and_the_next_does_not(capacity, H, dtype):
    problem = Problem(H=H, dtype=dtype)
    N = round_trips.longest(capacity, problem)
    size = problem.heads * problem.element_bytes
    assert N * N * size <= capacity < (N + 1) ** 2 * size


def test_wrong_values_say_what_was_expected_and_got():
    with pytest.raises(ValueError, match="expected 0 bytes or more; got -1"):
        round_trips.longest(-1, Problem())
    with pytest.raises(ValueError, match=r"expected one of .*; got 'sideways'"):
        round_trips.Trip("S", "sideways", 1, 2, "")
