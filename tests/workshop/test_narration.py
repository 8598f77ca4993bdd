"""The sentences carry the numbers of the trace, and the record says the same as the trace."""

import json
import re
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop.narration import ENGLISH, LISTINGS, listing, narrate, score
from workshop.score_patterns import PATTERNS, Inputs, make
from workshop.steps import TENSORS
from workshop.trace import ORDERS, trace
from workshop.trace_record import COLUMNS_SHOWN, record


def _one_row(*scores):
    """One query whose scaled scores are `scores` (d = 1, q = 1)."""
    k = np.array(scores, dtype=float)[:, None]
    return Inputs("by hand", np.ones((len(scores), 1)), k, np.ones_like(k))


def _sentences(run, line):
    return [narrate(run, n) for n, step in enumerate(run.steps) if step.line == line]


def test_the_golden_rescale_is_spoken():
    # Block maxima 1 then 5: e^(1-5) = 0.0183.
    run = trace(_one_row(1.0, 0.0, 5.0, 2.0), 4, 2)
    first, second = _sentences(run, "maximum")
    assert "from −∞ to 1.000" in first and "α = exp(−∞) = 0" in first
    assert "m rises from 1.000 to 5.000, so α = exp(1.000 − 5.000) = 0.0183" in second
    # l: 1 + e^-1 = 1.3679 shrinks to 0.02505, and 1 + e^-3 = 1.0498 is added.
    assert "ℓ = 0.0183 × 1.37 + 1.05 = 1.07" in _sentences(run, "update")[1]


def test_a_lower_block_is_spoken():
    second = _sentences(trace(_one_row(5.0, 1.0), 2, 1), "maximum")[1]
    assert "largest score, 1.000, does not beat m = 5.000, so α is exactly 1" in second


def test_a_blind_row_is_spoken():
    run = trace(make("masked", 4, 8), 4, 2)
    assert all(
        "still sees no key" in text and "instead of NaN" in text for text in _sentences(run, "maximum")
    )


def test_negative_maxima_keep_their_brackets():
    run = trace(_one_row(-3.0, -1.0), 2, 1)
    assert "exp(−3.000 − (−1.000)) = 0.135" in _sentences(run, "maximum")[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [(-np.inf, "−∞"), (-0.0001, "0.000"), (-1.5, "−1.500"), (-2.45e5, "−245,000"), (999.9996, "1000.000")],
)
def test_scores_as_text(value, text):
    assert score(value) == text


def test_every_line_of_the_pseudocode_has_words_and_is_walked():
    for order in ORDERS:
        lines = [entry["line"] for entry in listing(order)]
        assert lines == [line for line, _ in LISTINGS[order]] and all(
            entry["text"] for entry in listing(order)
        )
        walked = {step.line for step in trace(make("random", 8, 8), 4, 4, order=order).steps}
        assert walked - {"start", "compare"} == set(lines) - {"each-q", "each-kv"}


@settings(deadline=None, max_examples=60)
@given(
    pattern=st.sampled_from(list(PATTERNS)),
    N=st.integers(1, 40),
    Br=st.integers(1, 40),
    Bc=st.integers(4, 40),
    causal=st.booleans(),
    order=st.sampled_from(list(ORDERS)),
)
def test_every_step_speaks_and_never_says_nan(pattern, N, Br, Bc, causal, order):
    run = trace(make(pattern, N, 8), Br, Bc, causal=causal, order=order)
    for text in record(run)["steps"]["say"]:
        assert text and "nan" not in text.replace("instead of NaN", "").lower()
        assert not re.search(r"[{}]|identical|bit for bit", text)


def test_another_language_needs_the_same_fields_only():
    fields = {
        key: sorted({name for _, name, _, _ in string.Formatter().parse(text) if name})
        for key, text in ENGLISH.items()
    }
    other = {key: " ".join([key, *("{" + name + "}" for name in names)]) for key, names in fields.items()}
    run = trace(make("random", 12, 8), 4, 5, causal=True, order="key-outer")
    assert all(narrate(run, n, other) != narrate(run, n) for n in range(len(run.steps)))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_record_is_the_trace(pattern, order):
    run = trace(make(pattern, 23, 20), 6, 5, causal=True, order=order)
    sent = json.loads(json.dumps(record(run), allow_nan=False))
    steps = sent["steps"]
    assert {len(column) for column in steps.values()} == {len(run.steps)}
    assert steps["read"][-1] == sent["read_total"] == run.bytes_read
    assert steps["written"][-1] == sent["written_total"] == run.bytes_written
    assert max(sum(held) for held in steps["chip"]) == sent["chip_total"]
    assert all(len(held) == len(TENSORS) for held in steps["chip"])
    assert sent["columns"] == COLUMNS_SHOWN and sent["error_max"] == run.error_max
    for shown, visit in zip(sent["visits"], run.visits, strict=True):
        update = visit.update
        pairs = [
            (shown["s"], update.s),
            (shown["p"], update.p),
            (shown["alpha"], update.alpha),
            (shown["m"][1], update.after.m),
            (shown["l"][3], update.after.l),
            (shown["o"][3], update.after.o[:, :COLUMNS_SHOWN]),
        ]
        for got, truth in pairs:
            got = np.array(got, dtype=float)  # None becomes NaN
            assert np.array_equal(np.isnan(got), np.isneginf(truth))
            seen = np.isfinite(truth)
            np.testing.assert_allclose(got[seen], truth[seen], rtol=5e-5, atol=0)


def test_the_record_is_small():
    def size(*arguments):
        N, d, Br, Bc = arguments
        return len(json.dumps(record(trace(make("random", N, d), Br, Bc)), separators=(",", ":")))

    assert size(64, 8, 16, 16) < 250_000
    assert size(64, 64, 4, 4) < 1_000_000
