"""Formulas: what is typeset comes to what the functions compute."""

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workshop.strategies import PROBLEMS, TILES
from workshop import expressions, online_softmax, traffic
from workshop.formulas import FORMULAS, SYMBOLS
from workshop.hardware import GPUS
from workshop.problem import Problem, Tile

OF_THE_PROBLEM = sorted(slug for slug, formula in FORMULAS.items() if formula.inputs)
OF_A_STEP = sorted(slug for slug, formula in FORMULAS.items() if not formula.inputs)


@given(slug=st.sampled_from(OF_THE_PROBLEM), problem=PROBLEMS, tile=TILES, gpu=st.sampled_from(sorted(GPUS)))
def test_expression_and_function_agree(slug, problem, tile, gpu):
    formula = FORMULAS[slug]
    value, expected = formula.value(problem, tile, GPUS[gpu]), formula.evaluate(problem, tile, GPUS[gpu])
    if formula.rounded_up:
        assert 0 <= value - expected < 1
    elif isinstance(value, int):
        assert isinstance(expected, Fraction)
        assert value == expected
    else:
        assert value == pytest.approx(float(expected), rel=1e-12)


def test_every_model_has_its_formula():
    for model in traffic.MODELS:
        for kind in ("traffic", "time", "intensity"):
            assert f"{kind}-{model.replace('_', '-')}" in FORMULAS
    assert {"working-set", "spill", "score-bytes", "ridge", "flops-standard", "flops-flash"} <= set(FORMULAS)
    assert len(OF_A_STEP) == 6


@pytest.mark.parametrize("slug", sorted(FORMULAS))
@pytest.mark.parametrize("causal", [False, True])
def test_records_are_complete(slug, causal):
    formula = FORMULAS[slug]
    assert formula.slug == slug
    assert formula.plain.endswith(".")
    assert formula.name in formula.spoken(causal)
    for text in (formula.latex_for(causal), formula.spoken(causal)):
        assert "  " not in text and ",," not in text
    assert formula.latex_for(causal).count("{") == formula.latex_for(causal).count("}")
    for name in formula.symbols(causal):
        assert SYMBOLS[name].latex in formula.latex_for(causal)


def test_the_reader_sees_the_numbers_of_the_headline():
    found = FORMULAS["traffic-bound"]
    assert found.latex == r"\mathrm{bound} = 4\,N\,d + \frac{2\,N^{2}\,d^{2}}{M}"
    assert found.substituted(Problem(), Tile()) == (
        r"4 \cdot 8{,}192 \cdot 128 + \frac{2 \cdot 8{,}192^{2} \cdot 128^{2}}{116{,}736}"
        r" = \text{23,031,880 elements}"
    )
    assert FORMULAS["time-standard"].substituted(Problem(), Tile()).endswith(r" = \text{5.21 ms}")
    assert FORMULAS["ridge"].substituted(Problem(), Tile(), GPUS["l4"]).endswith(r" = \text{403 FLOP/B}")


@given(problem=PROBLEMS, tile=TILES, slug=st.sampled_from(OF_THE_PROBLEM), gpu=st.sampled_from(sorted(GPUS)))
def test_substituted_formulas_have_no_letters_left(problem, tile, slug, gpu):
    text = FORMULAS[slug].substituted(problem, tile, GPUS[gpu]).rsplit(" = ", 1)[0]
    words = set(re.findall(r"\\?[A-Za-z]+", text))
    assert words <= {
        "\\cdot",
        "\\times",
        "\\frac",
        "\\left",
        "\\right",
        "\\lceil",
        "\\rceil",
        "\\min",
        "\\max",
    }
    assert text.count("{") == text.count("}")
    assert text.count(r"\left") == text.count(r"\right")


def row(update, name):
    return float(getattr(update, name)[0])


@given(first=st.floats(-50, 50), second=st.floats(-50, 50), v=st.floats(-9, 9), w=st.floats(-9, 9))
def test_softmax_formulas_are_what_the_step_trace_does(first, second, v, w):
    """Two blocks of one score each, absorbed by the trace's own update."""
    start = online_softmax.absorb(online_softmax.empty(1, 1), np.array([[first]]), np.array([[v]]))
    update = online_softmax.absorb(start.after, np.array([[second]]), np.array([[w]]))
    output, logsumexp = online_softmax.finish(update.after)
    values = {
        "m": float(update.before.m[0]),
        "m_new": float(update.after.m[0]),
        "s": second,
        "alpha": row(update, "alpha"),
        "l": float(update.before.l[0]),
        "l_new": float(update.after.l[0]),
        "p": row(update, "added_l"),
        "o": float(update.before.o[0, 0]),
        "o_new": float(update.after.o[0, 0]),
        "pv": float(update.added_o[0, 0]),
    }
    expected = {
        "softmax-maximum": values["m_new"],
        "softmax-rescale": values["alpha"],
        "softmax-sum": values["l_new"],
        "softmax-output": values["o_new"],
        "softmax-final": float(output[0, 0]),
        "softmax-logsumexp": float(logsumexp[0]),
    }
    assert set(expected) == set(OF_A_STEP)
    for slug, result in expected.items():
        formula = FORMULAS[slug]
        needed = {name: values[name] for name in formula.symbols()}
        assert float(expressions.evaluate(formula.tree(), needed)) == pytest.approx(
            result, abs=1e-12, rel=1e-12
        )
        assert formula.function(**needed) == pytest.approx(result, abs=1e-12, rel=1e-12)


def test_rescale_factors():
    """Maxima 1 then 5: e^(1-5) = 0.0183; 5 then 5: exactly 1; the first block: 0, never NaN."""
    formula = FORMULAS["softmax-rescale"]
    assert formula.with_values(m=1.0, m_new=5.0) == r"e^{1 - 5} = 0.01832"
    assert formula.with_values(m=5.0, m_new=5.0) == r"e^{5 - 5} = 1"
    assert formula.with_values(m=-np.inf, m_new=-5.0) == r"e^{-\infty - \left(-5\right)} = 0"
    assert formula.function(m=-np.inf, m_new=-np.inf) == 0
    assert FORMULAS["softmax-final"].function(o_new=0.0, l_new=0.0) == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a - (b - c)", r"a - \left(b - c\right)"),
        ("(a + b)*c", r"\left(a + b\right)\,c"),
        ("(a + b)**2", r"\left(a + b\right)^{2}"),
        ("a/b*c", r"\frac{a}{b}\,c"),
        ("a*2", r"a \cdot 2"),
    ],
)
def test_brackets_and_dots(text, shown):
    assert expressions.latex(expressions.parse(text), str) == shown


@pytest.mark.parametrize("value", [-3, -0.5])
def test_a_negative_number_is_bracketed_where_it_follows_a_sign(value):
    shown = expressions.latex(expressions.parse("a - b"), lambda name: expressions.number_latex(value))
    assert shown == rf"{value} - \left({value}\right)"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (8192, "8{,}192"),
        (989e12, r"9.89\times 10^{14}"),
        (0.25, "0.25"),
        (1e-9, r"1\times 10^{-9}"),
        (2**40, r"1.1\times 10^{12}"),
    ],
)
def test_numbers_in_latex(value, shown):
    assert expressions.number_latex(value) == shown


@pytest.mark.parametrize("N", [1, 100, 8192, 1 << 20])
@pytest.mark.parametrize("slug", FORMULAS)
def test_one_formula_writes_large_numbers_one_way(slug, N):
    """A power of ten and a row of eleven digits never stand in one law."""
    if FORMULAS[slug].inputs is None:
        return
    for causal in (False, True):
        right = FORMULAS[slug].substituted(Problem(N=N, causal=causal), Tile()).split(" = ")[0]
        longest = max(
            (len(n.replace("{,}", "")) for n in re.findall(r"\d+(?:\{,\}\d{3})*", right)), default=0
        )
        assert not (re.search(r"10\^\{\d\d\}", right) and longest > 7), right


@pytest.mark.parametrize("text", ["a.b", "open('x')", "a if b else c", "[a]", "a // b", "f(a)"])
def test_only_arithmetic_is_parsed(text):
    with pytest.raises(ValueError, match="expected"):
        expressions.parse(text)
