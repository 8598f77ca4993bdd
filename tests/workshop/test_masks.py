"""Closed-form counts against tiles cut from an explicit mask."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workshop import brute_force
from workshop import masks

SIZES = st.integers(1, 60)


@given(n=st.integers(0, 50), m=st.integers(1, 50), a=st.integers(0, 90), b=st.integers(0, 90))
def test_floor_sum_is_the_sum_of_floors(n, m, a, b):
    assert masks.floor_sum(n, m, a, b) == sum((a * i + b) // m for i in range(n))


@given(Nq=SIZES, Nk=SIZES, Br=SIZES, Bc=SIZES, causal=st.booleans())
def test_counts_equal_tiles_of_an_explicit_mask(Nq, Nk, Br, Bc, causal):
    tiles, scores, keys, queries = brute_force.visits(Nk, Br, Bc, causal, Nq)
    total = len(brute_force.blocks(Nq, Br)) * len(brute_force.blocks(Nk, Bc))
    assert masks.visited(Nk, Br, Bc, causal, Nq) == (tiles, total)
    assert masks.visited_elements(Nk, Br, Bc, causal, Nq) == scores
    assert masks.kv_rows(Nk, Br, Bc, causal, Nq) == keys
    assert masks.q_rows(Nk, Br, Bc, causal, Nq) == queries
    assert masks.unmasked_elements(Nk, causal, Nq) == brute_force.mask(Nk, causal, Nq).sum()


@given(Nq=SIZES, Nk=SIZES, Br=SIZES, Bc=SIZES, causal=st.booleans())
def test_kinds_say_what_the_mask_does_to_a_tile(Nq, Nk, Br, Bc, causal):
    grid = masks.kinds(Nk, Br, Bc, causal, Nq)
    matrix = brute_force.mask(Nk, causal, Nq)
    for i, rows in enumerate(brute_force.blocks(Nq, Br)):
        for j, keys in enumerate(brute_force.blocks(Nk, Bc)):
            tile = matrix[rows.start : rows.stop, keys.start : keys.stop]
            expected = masks.FULL if tile.all() else masks.PARTIAL if tile.any() else masks.SKIPPED
            assert grid[i, j] == expected


def test_kinds_refuse_a_grid_too_large_to_draw():
    with pytest.raises(ValueError, match=r"expected at most 4,194,304; got 1,048,576 x 16"):
        masks.kinds(1_048_576, 1, 65_536, causal=True)


def test_arrays_give_the_scalars():
    N = np.array([1, 15, 17, 1000, 1_048_576])[:, None, None]
    Br = np.array([1, 16, 128, 1024])[None, :, None]
    Bc = np.array([1, 48, 1000])[None, None, :]
    for function in (masks.kv_rows, masks.q_rows, masks.visited_elements):
        found = function(N, Br, Bc, True)
        for index in np.ndindex(found.shape):
            n, r, c = N[index[0], 0, 0], Br[0, index[1], 0], Bc[0, 0, index[2]]
            assert int(found[index]) == function(int(n), int(r), int(c), True)


def test_causal_10_of_16():
    """FlashAttention skips tiles above the diagonal: N = 512 in blocks of 128 is 1 + 2 + 3 + 4 tiles."""
    assert masks.visited(512, 128, 128, True) == (10, 16)


def test_counts_do_not_wrap_at_two_to_the_32():
    assert masks.visited_elements(65_536, 128, 64, False) == 2**32
    assert masks.unmasked_elements(1_048_576, True) == 2**39 + 2**19
    assert masks.visited(1_048_576, 1, 1, True)[0] == 2**39 + 2**19
