"""Published results: the figures as printed, and that they agree with what their authors say of them."""

import itertools

import pytest

from workshop import results


def test_training_speed_ups_are_those_the_paper_claims():
    """Dao et al. (2022): 15 % on BERT-large; up to 3x on GPT-2, 1.7x over Megatron-LM."""
    found = {(row.task.split(",")[0], row.baseline.split(",")[0]): row.speedup for row in results.TRAINING}
    assert found["BERT-large", "NVIDIA"] == pytest.approx(1.15, abs=0.005)
    assert found["GPT-2 small", "HuggingFace"] == pytest.approx(3.5, abs=0.05)
    assert found["GPT-2 small", "Megatron-LM"] == pytest.approx(1.7, abs=0.05)
    assert found["GPT-2 medium", "HuggingFace"] == pytest.approx(3.0, abs=0.05)
    assert found["GPT-2 medium", "Megatron-LM"] == pytest.approx(1.7, abs=0.05)


def test_memory_grows_fourfold_and_twofold():
    standard = [row.standard for row in results.MEMORY]
    flash = [row.flash for row in results.MEMORY]
    assert [row.N for row in results.MEMORY] == [1024, 2048, 4096]
    assert all(3.7 < b / a < 4 for a, b in itertools.pairwise(standard))
    assert all(b / a == pytest.approx(2) for a, b in itertools.pairwise(flash))
    assert standard[-1] / flash[-1] == pytest.approx(20.4, abs=0.05)  # "up to 20x"


def test_shares_of_the_peak_are_those_the_authors_print():
    shares = {(row.what, row.d): row.share for row in results.THROUGHPUT if row.gpu != "a100-sxm-80"}
    assert shares["FlashAttention-4, up to", None] == pytest.approx(0.71, abs=0.005)
    assert shares["FlashAttention-3", 256] == pytest.approx(0.76, abs=0.005)
    assert shares["FlashAttention-2", 128] == pytest.approx(0.37, abs=0.005)


def test_every_row_has_a_source_and_a_causal_run_is_never_faster():
    rows = (*results.TRAINING, *results.LONG_RANGE, *results.MEMORY, *results.THROUGHPUT)
    assert all("(20" in row.source for row in rows)
    assert all(row.causal is None or row.causal < row.full for row in results.THROUGHPUT)
    assert all(0 < row.share < 1 for row in results.THROUGHPUT)
