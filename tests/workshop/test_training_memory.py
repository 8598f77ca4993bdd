"""What training keeps, against hand counts and the paper's table."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop import paper_figures, training_memory
from workshop.problem import Problem


def test_the_headline_by_hand():
    # 32 heads, N = 8192, d = 128, bf16: P is 4,294,967,296 B, each of Q, K, V, O 67,108,864 B, L 1,048,576 B
    assert training_memory.kept("standard", Problem()).total == 4_294_967_296 + 3 * 67_108_864
    assert training_memory.kept("flash", Problem()).total == 4 * 67_108_864 + 1_048_576


@given(N=st.integers(1, 1 << 19), d=st.integers(8, 256), heads=st.integers(1, 256))
def test_one_grows_with_n_and_the_other_with_n_squared(N, d, heads):
    short, long = (Problem(N=n, d=d, H=heads) for n in (N, 2 * N))
    assert training_memory.kept("flash", long).total == 2 * training_memory.kept("flash", short).total
    growth = training_memory.kept("standard", long).total - 2 * training_memory.kept("standard", short).total
    assert growth == 2 * short.score_bytes


def test_the_peak_holds_what_is_kept_and_the_gradients():
    problem = Problem(N=50, d=8, H=1)
    strip, square = 50 * 8 * 2, 50 * 50 * 2
    standard, flash = (training_memory.peak(m, problem) for m in training_memory.MODELS)
    assert standard.total == 3 * square + 8 * strip
    assert flash.total == 8 * strip + 2 * 50 * 4


@given(st.lists(st.integers(1, 1 << 20), min_size=1, max_size=5), st.sampled_from(training_memory.MODELS))
def test_arrays_equal_single_stores(lengths, model):
    problem = Problem(d=72, H=3, dtype="fp32")
    got = training_memory.kept_bytes(model, problem, np.array(lengths))
    single = [training_memory.kept(model, Problem(N=n, d=72, H=3, dtype="fp32")).total for n in lengths]
    np.testing.assert_allclose(got, single, rtol=1e-15)


def test_wrong_values_say_what_was_expected_and_got():
    with pytest.raises(ValueError, match="expected one of standard, flash; got 'cuts'"):
        training_memory.kept("cuts", Problem())
    with pytest.raises(ValueError, match="whole numbers from 1"):
        training_memory.kept_bytes("flash", Problem(), np.array([0]))


def test_our_reading_of_the_paper_table_reproduces_it_to_the_digit():
    # the table's rows as printed; MB read as MiB
    for N, row in {1024: (1184, 209), 2048: (4416, 418), 4096: (17024, 836)}.items():
        assert paper_figures.MEMORY[N] == row
        assert [value / 2**20 for value in paper_figures.memory_fit(N)] == list(row)


def test_our_count_stays_below_the_paper_by_a_fixed_share():
    for N, (standard, flash) in paper_figures.MEMORY.items():
        problem = paper_figures.memory_setting(N)
        ours = [training_memory.peak(m, problem).total / 2**20 for m in training_memory.MODELS]
        assert 0.7 < ours[0] / standard < 0.8
        assert 0.6 < ours[1] / flash < 0.65
