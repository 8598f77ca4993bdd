"""Settings: ranges, types and messages."""

import dataclasses

import numpy as np
import pytest

from workshop.problem import LIMITS, OptionError, Problem, Tile, checked


def test_defaults():
    assert dataclasses.astuple(Problem()) == (8192, 128, 32, 1, "bf16", False)
    assert dataclasses.astuple(Tile()) == (128, 64, 228)


@pytest.mark.parametrize("option", LIMITS)
def test_both_ends_are_in_range_and_the_next_values_are_not(option):
    low, high = LIMITS[option]
    kind = Problem if option in ("N", "d", "H", "B") else Tile
    for value in (low, high):
        assert getattr(kind(**{option: value}), option) == value
    for value in (low - 1, high + 1):
        with pytest.raises(OptionError) as caught:
            kind(**{option: value})
        assert caught.value.option == option
        assert str(caught.value) == (
            f"{option}: expected a whole number from {low:,} to {high:,}; got {value}"
        )


@pytest.mark.parametrize("value", [8.0, "8", None, True, float("nan")])
def test_only_whole_numbers(value):
    with pytest.raises(ValueError, match="d: expected a whole number from 8 to 256; got"):
        Problem(d=value)


def test_true_is_not_one_token():
    with pytest.raises(ValueError, match="N: expected a whole number from 1 to 1,048,576; got True"):
        Problem(N=True)


def test_numpy_integers_become_python_integers():
    problem = Problem(N=np.int32(1_048_576))
    assert type(problem.N) is int
    assert problem.N * problem.N == 2**40
    assert type(checked("Br", np.uint8(200))) is int


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "int8"}, "dtype: expected one of bf16, fp16, fp32, fp8; got 'int8'"),
        ({"dtype": 2}, "dtype: expected one of"),
        ({"causal": "yes"}, "causal: expected 0 or 1; got 'yes'"),
        ({"causal": 2}, "causal: expected 0 or 1; got 2"),
    ],
)
def test_words(changes, message):
    with pytest.raises(ValueError, match=message):
        Problem(**changes)


def test_derived():
    problem = Problem(H=16, B=64, dtype="fp32", causal=1)
    assert problem.causal is True
    assert (problem.element_bytes, problem.heads) == (4, 1024)
    assert Tile(sram=228).M(Problem()) == 116_736
    assert Tile(sram=228).M(problem) == 58_368
    assert Tile(sram=1).M(Problem(dtype="fp8")) == 1024


def test_score_matrices():
    """32 heads of 8,192 tokens: 4.295 GB; one head of 4,096: 32 MiB; 32 heads of 131,072: 1.0995 TB."""
    assert Problem().score_bytes == 4_294_967_296
    assert Problem(N=4096, H=1).score_bytes == 33_554_432
    assert Problem(N=131_072).score_bytes == 1_099_511_627_776
