"""Masks counted in closed form against an explicit matrix, the causal counts of `masks`, and a traced kernel."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.workshop import brute_force
from workshop import block_masks, expressions, masks, reference, roofline, traffic
from workshop.block_masks import GRID, PATTERNS, Counts
from workshop.problem import Problem, Tile
from workshop.score_patterns import make as make_inputs
from workshop.trace import trace

SIZES = st.integers(1, 70)
CELLS = st.lists(st.booleans(), min_size=GRID * GRID, max_size=GRID * GRID).map(
    lambda bits: np.array(bits).reshape(GRID, GRID)
)


def explicit(pattern, N, causal, window, tokens, stride, density, cells):
    """The mask from its definition, one score at a time; nothing shared with the closed forms."""
    found = np.zeros((N, N), dtype=bool)
    grid = block_masks.random_cells(density) if pattern == "blocks" else cells
    for r in range(N):
        for k in range(N):
            near = abs(r - k) < window
            found[r, k] = {
                "causal": k <= r,
                "window": near,
                "global": near or r < tokens or k < tokens,
                "strided": near or k % stride == 0,
                "blocks": grid[r * GRID // N, k * GRID // N],
                "painted": grid[r * GRID // N, k * GRID // N],
            }[pattern]
            found[r, k] &= k <= r or not causal
    return found


@st.composite
def any_mask(draw):
    """(mask, explicit matrix) of a small random mask."""
    options = {
        "causal": draw(st.booleans()),
        "window": draw(st.integers(1, 80)),
        "tokens": draw(st.integers(0, 80)),
        "stride": draw(st.integers(2, 40)),
        "density": draw(st.sampled_from([0.0, 0.1, 0.5, 1.0])),
        "cells": draw(CELLS),
    }
    pattern, N = draw(st.sampled_from(PATTERNS)), draw(SIZES)
    return block_masks.make(pattern, N, **options), explicit(pattern, N, **options)


def brute(matrix, Br, Bc) -> Counts:
    """Counts from slices of the matrix."""
    N = len(matrix)
    visited = full = rows = scores = 0
    tiles = [(r, k) for r in brute_force.blocks(N, Br) for k in brute_force.blocks(N, Bc)]
    for r, k in tiles:
        tile = matrix[r.start : r.stop, k.start : k.stop]
        if tile.any():
            visited, rows, scores = visited + 1, rows + len(k), scores + tile.size
            full += bool(tile.all())
    return Counts(visited, full, len(tiles), rows, scores, int(matrix.sum()))


@settings(max_examples=400)
@given(any_mask(), SIZES, SIZES)
def test_counts_equal_tiles_of_an_explicit_matrix(pair, Br, Bc):
    mask, matrix = pair
    assert block_masks.count(mask, Br, Bc) == brute(matrix, Br, Bc)
    assert (block_masks.matrix(mask) == matrix).all()


@given(any_mask(), st.integers(1, 20), st.integers(1, 20), st.data())
def test_the_picture_of_a_corner_is_the_matrix(pair, Br, Bc, data):
    mask, matrix = pair
    Tr, Tc = masks.ceil_div(mask.N, Br), masks.ceil_div(mask.N, Bc)
    i0, j0 = data.draw(st.integers(0, Tr - 1)), data.draw(st.integers(0, Tc - 1))
    rows, tiles = range(i0, data.draw(st.integers(i0 + 1, Tr))), range(j0, data.draw(st.integers(j0 + 1, Tc)))
    live = block_masks.tile_live(mask, Br, Bc, rows, tiles)
    kinds = block_masks.tile_kinds(mask, Br, Bc, rows, tiles)
    for a, i in enumerate(rows):
        for b, j in enumerate(tiles):
            tile = matrix[i * Br : (i + 1) * Br, j * Bc : (j + 1) * Bc]
            assert live[a, b] == tile.sum()
            expected = masks.FULL if tile.all() else masks.PARTIAL if tile.any() else masks.SKIPPED
            assert kinds[a, b] == expected


@given(N=st.integers(1, 1_048_576), Br=st.integers(1, 1024), Bc=st.integers(1, 1024), causal=st.booleans())
@settings(max_examples=40, deadline=None)
def test_causal_and_dense_agree_with_masks_at_any_size(N, Br, Bc, causal):
    mask = block_masks.make("causal", N) if causal else block_masks.dense(N)
    found = block_masks.count(mask, Br, Bc, 0)
    assert (found.visited, found.total) == masks.visited(N, Br, Bc, causal)
    assert found.kv_rows == masks.kv_rows(N, Br, Bc, causal)
    assert found.scores == masks.visited_elements(N, Br, Bc, causal)


def test_an_all_on_painting_under_the_diagonal_is_the_causal_mask():
    for N, Br, Bc in ((1000, 48, 80), (8192, 128, 64), (65_536, 96, 1000), (7, 3, 2), (16, 1, 1)):
        mask = block_masks.make("painted", N, causal=True, cells=np.ones((GRID, GRID), dtype=bool))
        causal = block_masks.make("causal", N)
        assert block_masks.count(mask, Br, Bc) == block_masks.count(causal, Br, Bc)


def test_golden_counts():
    """FlashAttention's causal example: N = 512 in blocks of 128 is 10 of 16 tiles, 4 of them on the diagonal."""
    found = block_masks.count(block_masks.make("causal", 512), 128, 128)
    assert (found.visited, found.total, found.partial, found.full, found.skipped) == (10, 16, 4, 6, 6)
    assert (found.live, found.scores) == (512 * 513 // 2, 10 * 128 * 128)
    # A window as wide as a tile touches two tiles a row of blocks, and fills neither.
    aligned = block_masks.count(block_masks.make("window", 8192, causal=True, window=128), 128, 128)
    assert (aligned.visited, aligned.full) == (64 + 63, 0)
    # One key more than a tile and a half straddles three.
    straddling = block_masks.count(block_masks.make("window", 8192, causal=True, window=194), 128, 128)
    assert straddling.visited == 64 + 63 + 62


def test_a_column_in_every_tile_costs_as_much_as_no_mask():
    mask = block_masks.make("strided", 8192, window=1, stride=64)
    found = block_masks.count(mask, 128, 64)
    assert found.visited == found.total and found.live / 8192**2 < 0.016


def test_a_million_tokens_are_counted_without_a_matrix():
    N = 1_048_576
    for pattern in PATTERNS:
        for causal in (False, True):
            mask = block_masks.make(pattern, N, causal=causal)
            found = block_masks.count(mask, 128, 64)
            assert 0 < found.live <= found.scores <= N * N and found.full <= found.visited <= found.total
    window = block_masks.count(block_masks.make("window", N, causal=True, window=4096), 128, 64)
    assert window.live == 4096 * (N - 4096) + 4096 * 4097 // 2


@settings(max_examples=30, deadline=None)
@given(
    cells=CELLS,
    N=st.integers(1, 64),
    Br=st.integers(1, 40),
    Bc=st.integers(1, 40),
    causal=st.booleans(),
)
def test_a_painted_mask_moves_what_a_traced_kernel_moves(cells, N, Br, Bc, causal):
    """The step-through runs the kernel tile by tile and counts the arrays it loads and stores."""
    mask = block_masks.make("painted", N, causal=causal, cells=cells)
    allowed = block_masks.matrix(mask)
    inputs = dataclasses.replace(make_inputs("random", N, 8), mask=allowed)
    run = trace(inputs, Br, Bc, causal=causal, skip_masked=True)
    other = trace(inputs, Br, Bc, causal=causal, skip_masked=True, order="key-outer")
    assert len(other.visits) == len(run.visits)
    counts = block_masks.count(mask, Br, Bc)
    ledger = block_masks.ledger(counts, Problem(N=N, d=8, H=1, causal=causal), training=True)
    assert len(run.visits) == counts.visited and run.kinds.size == counts.total
    assert sum(visit.update.s.size for visit in run.visits) == counts.scores
    assert (run.steps[-1].read, run.steps[-1].written) == (ledger.reads * 2, ledger.writes * 2)
    truth = reference.attention(inputs.q, inputs.k, inputs.v, mask=allowed)
    assert np.abs(run.output - truth.output).max() < 1e-12
    assert np.abs(other.output - truth.output).max() < 1e-12


def test_without_a_mask_ledger_and_flops_are_those_of_tiled():
    problem, tile = Problem(N=1000, d=80, H=3, B=2), Tile(Br=48, Bc=96)
    found = block_masks.count(block_masks.dense(1000), 48, 96)
    ledger = block_masks.ledger(found, problem)
    assert ledger.total == traffic.ledger("tiled", problem, tile).total
    assert block_masks.flops(found, problem) == roofline.flops(problem, "tiled", tile)
    causal = dataclasses.replace(problem, causal=True)
    found = block_masks.count(block_masks.make("causal", 1000), 48, 96)
    for training in (False, True):
        ledger = block_masks.ledger(found, causal, training=training)
        assert ledger.total == traffic.ledger("tiled", causal, tile, training=training).total
    assert block_masks.flops(found, causal) == roofline.flops(causal, "tiled", tile)


def test_block_sparse_formula():
    """Dao et al. 2022, Proposition 4; with every tile visited it is Theorem 2's form."""
    M = Tile().M(Problem())
    assert block_masks.block_sparse(8192, 128, M, 1.0) == 8192 * 128 - (-(8192**2) * 128**2 // M)
    half = block_masks.block_sparse(8192, 128, M, 0.5)
    assert half == 8192 * 128 - (-(8192**2) * 128**2 // (2 * M))
    record = block_masks.BLOCK_SPARSE
    values = {"N": 1000, "d": 64, "M": 5000, "sparsity": 0.375}
    assert record.function(**values) == -(-expressions.evaluate(record.tree(), values) // 1)
    assert "elements" in record.with_values(**values) and r"\frac" in record.latex
    assert record.latex.startswith(r"\mathrm{block\ sparse} = "), (
        "a value stands beside it, so it is no Theta()"
    )


@given(d=st.integers(8, 256), element_bytes=st.sampled_from([1, 2, 4]))
def test_sectors_are_counted_byte_by_byte(d, element_bytes):
    size = d * element_bytes
    touched = [len({byte // 32 for byte in range(k * size, (k + 1) * size)}) for k in range(32)]
    assert block_masks.sectors(d, element_bytes) == sum(touched) / 32


def test_gather_against_a_list_of_pairs():
    problem = Problem(N=60, d=16, H=1)
    mask = block_masks.make("window", 60, window=5)
    counts = block_masks.count(mask, 16, 16)
    pairs = np.argwhere(block_masks.matrix(mask))
    size = 16 * 2
    fetched = sum(32 * len({byte // 32 for byte in range(k * size, k * size + size)}) for _, k in pairs)
    lines = {(t.tensor, t.direction): t.bytes for t in block_masks.gather(counts, problem)}
    assert lines["K", "read"] == lines["V", "read"] == fetched
    assert lines["index", "read"] == 3 * 4 * len(pairs)
    assert lines["S", "write"] == lines["P", "read"] == 2 * len(pairs)
    assert lines["Q", "read"] == lines["O", "write"] == 60 * 16 * 2


def test_gathering_passes_dense_tiling_at_one_key_a_q_block():
    problem, tile = Problem(), Tile()
    limit = block_masks.gather_limit(problem, tile)
    assert limit == 64  # 8,192 tokens in blocks of 128
    dense_kv = 2 * traffic.ledger("tiled", problem, tile).of("K") * 2
    assert 2 * limit * 8192 * 8 * 32 == dense_kv


@given(CELLS)
def test_a_painting_survives_the_link(cells):
    code = block_masks.painting_code(cells)
    assert len(code) == 43 and (block_masks.painting(code) == cells).all()


@pytest.mark.parametrize("bad", ["", "abc", "!" * 43, "A" * 44, "A" * 42, "Ä" * 43])
def test_a_bad_painting_is_refused(bad):
    with pytest.raises(ValueError, match="expected 43 characters"):
        block_masks.painting(bad)


def test_random_blocks_only_grow_with_density():
    low, high = block_masks.random_cells(0.1), block_masks.random_cells(0.4)
    assert (low & ~high).sum() == 0 and low.sum() < high.sum() and low.diagonal().all()
    assert block_masks.random_cells(1.0).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "spiral"}, "pattern: expected one of causal, window"),
        ({"pattern": "window", "window": 0}, "window: expected 1 or more; got 0"),
        ({"pattern": "strided", "stride": 1}, "stride: expected 2 or more; got 1"),
        ({"pattern": "blocks", "density": 1.5}, "density: expected 0 to 1; got 1.5"),
        ({"pattern": "painted", "cells": np.ones((3, 3), dtype=bool)}, "cells: expected 16 x 16"),
    ],
)
def test_bad_options_say_what_was_expected(options, message):
    with pytest.raises(ValueError, match=message):
        block_masks.make(N=64, **options)
