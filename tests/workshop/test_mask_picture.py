"""The picture of a mask: few enough tiles to see, and outlines that are the mask."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workshop import block_masks, mask_picture
from workshop.block_masks import PATTERNS
from workshop.mask_shapes import GRID


@settings(max_examples=200, deadline=None)
@given(
    pattern=st.sampled_from(PATTERNS),
    N=st.integers(1, 1_048_576),
    Br=st.integers(1, 1024),
    Bc=st.integers(1, 1024),
    causal=st.booleans(),
    window=st.integers(1, 65_536),
)
def test_a_corner_is_small_inside_and_counted_as_the_mask_counts(pattern, N, Br, Bc, causal, window):
    mask = block_masks.make(pattern, N, causal=causal, window=window)
    found = mask_picture.corner(mask, Br, Bc)
    assert 1 <= len(found.rows) <= mask_picture.MOST and 1 <= len(found.tiles) <= mask_picture.MOST
    q0, q1, k0, k1 = found.tokens(Br, Bc)
    assert 0 <= q0 < q1 <= found.mask.N <= N and 0 <= k0 < k1 <= found.mask.N
    live = np.array(mask_picture.tile_rows(found, Br, Bc))
    assert live.shape == (len(found.rows), len(found.tiles)) and (live >= 0).all()
    if found.mask.N <= q1 and q0 == k0 == 0 and k1 == found.mask.N:
        assert live.sum() == block_masks.live(found.mask)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("N", "Br", "Bc"), [(100, 8, 12), (1, 1, 1), (150, 40, 7), (37, 64, 64)])
def test_outlines_cover_the_live_scores_and_nothing_else(pattern, causal, N, Br, Bc):
    mask = block_masks.make(pattern, N, causal=causal, window=9, tokens=5, stride=11)
    found = mask_picture.corner(mask, Br, Bc)
    q0, q1, k0, k1 = found.tokens(Br, Bc)
    expected = block_masks.matrix(found.mask)[q0:q1, k0:k1]
    drawn = np.zeros_like(expected)
    shapes = mask_picture.outlines(found, Br, Bc)
    for top, bottom, low, high in shapes["bands"] + shapes["columns"]:
        assert q0 <= top < bottom <= q1 and k0 <= low < high <= k1
        drawn[top - q0 : bottom - q0, low - k0 : high - k0] = True
    assert (drawn == expected).all()


def test_all_cells_of_a_painting_are_in_the_picture():
    for Br, Bc in ((128, 64), (1, 1024), (1024, 8)):
        found = mask_picture.corner(block_masks.make("painted", 8192), Br, Bc)
        q0, q1, k0, k1 = found.tokens(Br, Bc)
        assert (q0, k0) == (0, 0) and q1 == k1 == found.mask.N >= GRID
