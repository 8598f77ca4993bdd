"""Attention in four formats against torch's own arithmetic and float64, the 2x rule, and the mistakes."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop import breakage, last_bits, precision, precision_torch
from workshop.breakage import LONG, LONG_KEYS, outcome
from workshop.number_formats import FORMATS
from workshop.precision import BREAKS, ORDERS, Rounded, compare, standard, tiled, visits
from workshop.reference import attention
from workshop.score_patterns import PATTERNS, Inputs, make

# With these numbers, torch's eager attention and ours differ by no more than a few units of the format.
DTYPES = {"float64": torch.float64, "float32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
LOW = ("float32", "fp16", "bf16")


def _inputs(seed, N, d, size=1.0):
    rng = np.random.default_rng(seed)
    return Inputs("drawn", *(size * rng.standard_normal((N, d)) for _ in range(3)))


CASES = st.builds(
    _inputs, st.integers(0, 2**32), st.integers(1, 64), st.integers(8, 64), st.sampled_from([0.3, 1.0, 2.0])
)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("causal", [False, True])
def test_torch_agrees_on_the_size_of_the_error(name, causal):
    """Standard attention by torch's operations, S and P in the format, in an order of torch's own."""
    for seed in range(8):
        problem = Rounded(_inputs(seed, 48, 16), name, causal=causal)
        theirs = precision_torch.errors(problem)
        room = 6 * FORMATS[name].spacing(float(np.abs(problem.v).max()))
        assert problem.error(standard(problem)) <= max(3 * theirs["eager"], room)
        assert theirs["eager"] <= max(3 * problem.error(standard(problem)), room)
        run = tiled(problem, 8).output
        assert np.abs(run - precision_torch.outputs(problem)["fused"]).max() <= room


@given(problem=CASES, Bc=st.integers(1, 70), causal=st.booleans(), order=st.sampled_from(ORDERS))
def test_in_float64_every_order_is_the_reference(problem, Bc, causal, order):
    rounded = Rounded(problem, "float64", causal=causal)
    truth = attention(problem.q, problem.k, problem.v, causal=causal).output
    np.testing.assert_array_equal(rounded.truth, truth)
    np.testing.assert_allclose(tiled(rounded, Bc, order=order).output, truth, rtol=0, atol=1e-13)
    np.testing.assert_allclose(standard(rounded), truth, rtol=0, atol=1e-13)


@pytest.mark.parametrize("name", ["fp16", "bf16"])
@settings(max_examples=200, deadline=None)
@given(problem=CASES, Bc=st.integers(4, 64), causal=st.booleans(), order=st.sampled_from(ORDERS))
def test_the_rule_holds_on_random_inputs(name, problem, Bc, causal, order):
    found = compare(Rounded(problem, name, causal=causal), Bc, order=order)
    assert found.fits and found.holds, found


@settings(max_examples=150, deadline=None)
@given(problem=CASES, Bc=st.integers(4, 64), causal=st.booleans(), order=st.sampled_from(ORDERS))
def test_float32_stays_within_the_bound_of_its_sums(problem, Bc, causal, order):
    """A sum of n terms errs by at most n unit roundoffs of its terms' sizes: d for a score, N keys for l and for O."""
    rounded = Rounded(problem, "float32", causal=causal)
    N, d = rounded.q.shape
    sizes = float((rounded.scale * (np.abs(rounded.q) @ np.abs(rounded.k).T)).max())
    bound = 2.0**-24 * np.abs(rounded.v).max() * (2 * (d + 3) * sizes + 4 * (N + 8 * -(-N // Bc)))
    for output in (standard(rounded), tiled(rounded, Bc, order=order).output):
        assert rounded.error(output) <= bound


def test_in_float32_the_rule_can_fail_without_a_mistake():
    """Six keys and large scores: standard attention is luckier here, and the comparison says so."""
    found = compare(Rounded(_inputs(658942, 6, 11, 2.0), "float32"), 4)
    assert not found.holds and found.tiled < 1e-5


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("pattern", breakage.PATTERNS)
def test_the_sound_run_breaks_nothing(name, pattern):
    for order in ORDERS:
        for causal in (False, True):
            found = outcome(pattern, 32, 8, 8, name, order, "none", causal)
            assert found.bad == 0 and found.first is None, found
            assert found.fits == ((pattern, name) != ("extreme", "fp16"))


# Each mistake, a pattern and a format on which it must break, and one on which it does no harm.
MISTAKES = {
    "no-rescale": (("rising", "bf16"), ("falling", "bf16")),
    "no-max": (("huge", "fp16"), ("random", "fp16")),
    "sentinel": (("masked", "bf16"), ("random", "bf16")),
    "bf16-sum": ((LONG, "float32"), ("extreme", "float32")),
    "divide-early": (("random", "float32"), None),
    "add-first": (("random", "float32"), None),
    "scale-late": (("huge", "bf16"), ("random", "bf16")),
}


def test_every_mistake_is_judged():
    assert {*MISTAKES, "none"} == set(BREAKS)


@pytest.mark.parametrize("broken", MISTAKES)
def test_a_mistake_breaks_where_it_must_and_nowhere_else(broken):
    (pattern, name), harmless = MISTAKES[broken]
    found = outcome(pattern, 32, 8, 8, name, "forward", broken)
    assert found.bad > 0 and found.first is not None
    assert outcome(pattern, 32, 8, 8, name, "forward", "none").bad == 0
    if harmless:
        assert outcome(harmless[0], 32, 8, 8, harmless[1], "forward", broken).bad == 0


def test_one_tile_needs_no_rescale():
    assert outcome("rising", 32, 8, 32, "bf16", "forward", "no-rescale").first is None
    assert outcome("rising", 32, 8, 16, "bf16", "forward", "no-rescale").first == 1


def test_without_the_maximum_fp16_overflows_at_the_huge_key():
    found = outcome("huge", 32, 8, 8, "fp16", "forward", "no-max")
    key = 2 * 32 // 3
    assert found.keys[0] <= key < found.keys[1] and found.inf == found.count == 256
    # exp(-245,000) is 0 in every format, so each row looks as if it saw no key
    found = outcome("extreme", 32, 8, 8, "float64", "forward", "no-max")
    assert found.sums == (0.0, 0.0) and found.wrong == found.count and found.first == 0


def test_a_finite_sentinel_gives_a_blind_row_the_mean_of_v():
    inputs = make("masked", 32, 8)
    problem = Rounded(inputs, "float32")
    blind = int(np.flatnonzero(~inputs.mask.any(axis=1))[0])
    assert not tiled(problem, 8).output[blind].any()
    wrong = tiled(problem, 8, broken="sentinel").output[blind]
    np.testing.assert_allclose(wrong, problem.v.mean(axis=0), atol=1e-6)
    found = outcome("masked", 32, 8, 8, "float32", "forward", "sentinel")
    assert (found.row, found.wrong) == (blind, 8)


def test_a_bf16_sum_of_ones_stops_at_256():
    """Above 256 the neighbours in bf16 are 2 apart, and half-way goes to the even one: torch stops there as well."""
    total = torch.zeros((), dtype=torch.bfloat16)
    for _ in range(LONG_KEYS):
        total = total + torch.ones((), dtype=torch.bfloat16)
    found = outcome(LONG, 32, 8, 8, "float32", "forward", "bf16-sum")
    assert found.sums == (total.item(), total.item()) == (256.0, 256.0)
    assert found.keys == (256, 264)  # the first key past the 256th
    problem = Rounded(breakage.make(LONG, 32, 8), "float32")
    ratio = tiled(problem, 8, broken="bf16-sum").output / problem.truth
    np.testing.assert_allclose(ratio, LONG_KEYS / 256, rtol=1e-6)


def test_scaling_after_the_maximum_is_no_longer_a_number():
    found = outcome("extreme", 32, 8, 8, "bf16", "forward", "scale-late")
    assert found.nan == found.count == 256 and np.isnan(found.error)


def test_a_mistake_may_heal():
    """Divided too early, a past that the huge key wipes out does no harm at the end."""
    found = outcome("huge", 32, 8, 8, "bf16", "forward", "divide-early")
    assert found.healed and found.first == 1 and found.bad == 0


@given(st.integers(1, 64), st.integers(1, 70), st.sampled_from(ORDERS))
def test_an_order_visits_every_key_once(keys, Bc, order):
    tiles = visits(keys, Bc, order)
    assert sorted(key for start, stop in tiles for key in range(start, stop)) == list(range(keys))


def test_orders_are_different_orders():
    assert len({visits(64, 8, order) for order in ORDERS}) == len(ORDERS) - 1  # "divided" walks forward
    assert visits(20, 8, "backward") == ((16, 20), (8, 16), (0, 8))
    assert visits(40, 8, "interleaved") == ((0, 8), (16, 24), (32, 40), (8, 16), (24, 32))


@pytest.mark.parametrize("name", LOW)
def test_orders_differ_in_the_last_bits_only(name):
    problem = Rounded(make("random", 32, 8), name)
    found = last_bits.write(problem, 8)
    assert found.differing > 0 and found.count == 32 * 8
    first, *others = found.written
    assert not any(first.differs) and first.elements == 0
    assert any(any(w.differs) for w in others)
    for w in found.written:
        bits = "".join(w.bits)
        assert len(bits) == FORMATS[name].bits
        assert w.differs == tuple(a != b for a, b in zip(bits, "".join(first.bits), strict=True))
        held = torch.tensor([w.value], dtype=DTYPES[name])
        assert held.double().item() == w.value
        assert abs(w.value - first.value) <= 16 * FORMATS[name].spacing(first.value)
    ways = {w.way: w for w in found.written}
    assert ways["truth"].value == problem.format.round(problem.truth)[found.row, found.column]
    outputs = [tiled(problem, 8, order=order).output for order in ORDERS]
    for order, output in zip(ORDERS, outputs, strict=True):
        assert ways[order].value == output[found.row, found.column]
        assert ways[order].elements == (output != outputs[0]).sum()


def test_one_key_leaves_nothing_to_differ():
    found = last_bits.write(Rounded(make("random", 1, 8), "bf16"), 4)
    assert found.differing == 0 and not any(any(w.differs) for w in found.written)


def test_what_a_format_cannot_hold_is_said():
    problem = Rounded(make("extreme", 16, 8), "fp16")
    found = compare(problem, 8)
    assert not problem.fits and not found.fits and not found.holds and np.isnan(found.full)
    assert not outcome("extreme", 16, 8, 8, "fp16", "forward", "none").fits


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: Rounded(make("random", 4, 8), "fp8"), "format: expected one of float64, .*; got 'fp8'"),
        (lambda: visits(8, 0, "forward"), "Bc: expected a whole number of 1 or more; got 0"),
        (lambda: visits(8, 2, "up"), "order: expected one of forward, .*; got 'up'"),
        (lambda: tiled(Rounded(make("random", 4, 8), "bf16"), 2, broken="luck"), "broken: expected one of"),
    ],
)
def test_errors_name_the_option(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_torch_is_looked_for_without_being_imported(monkeypatch):
    assert precision_torch.installed()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert not precision_torch.installed()


def test_patterns_are_those_of_the_plate_and_a_long_row():
    assert breakage.PATTERNS == (*PATTERNS, LONG)
    assert precision.FACTOR == 2
