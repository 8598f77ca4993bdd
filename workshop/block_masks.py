"""Attention masks seen by a tiled kernel: what it visits, skips and half wastes, and what that costs.

A tile in which no score is live is never loaded. A tile with one live score is loaded and computed whole. So
what a mask costs is the number of tiles it touches, not the number of scores it leaves (block-sparse
FlashAttention: Dao et al. 2022, section 3.3 and Proposition 4).

Masks: causal; a sliding window (Beltagy et al., Longformer, 2020); a window with global tokens (the same);
a window with every s-th key (after the fixed pattern of Child et al., Sparse Transformers, 2019); random
blocks (Zaheer et al., BigBird, 2020); and one painted by the reader. `causal=True` cuts any of them at the
diagonal.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

import numpy as np

from workshop import masks, roofline
from workshop.formula import Formula
from workshop.hardware import SECTOR
from workshop.ledger import Ledger, Line
from workshop.mask_shapes import GRID, Banded, Gridded
from workshop.masks import ceil_div
from workshop.problem import Problem, Tile

PATTERNS = ("causal", "window", "global", "strided", "blocks", "painted")
# Tokens between which the approximations caught up with exact FlashAttention: Dao et al. 2022, section 4.3.
CATCH_UP = (512, 1024)
INDEX_BYTES = 4
_CODE = 43  # characters of a painting: GRID x GRID bits in base64


def painting_code(cells: np.ndarray) -> str:
    """A GRID x GRID bool array as 43 characters that a link can carry."""
    if cells.shape != (GRID, GRID):
        raise ValueError(f"cells: expected {GRID} x {GRID}; got {cells.shape}")
    packed = np.packbits(cells.astype(bool)).tobytes()
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def painting(code: str) -> np.ndarray:
    """The cells of a code, a GRID x GRID bool array. Raises ValueError for anything that is none."""
    try:
        packed = base64.b64decode(code + "=" * (-len(code) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        packed = b""
    if len(packed) * 8 != GRID * GRID:
        raise ValueError(f"painting: expected {_CODE} characters of base64; got {code!r}")
    return np.unpackbits(np.frombuffer(packed, dtype=np.uint8)).reshape(GRID, GRID).astype(bool)


def documents() -> np.ndarray:
    """The painting to begin with: three documents packed in one sequence behind a prompt that all see."""
    cells = np.zeros((GRID, GRID), dtype=bool)
    for start, stop in ((0, 6), (6, 9), (9, GRID)):
        cells[start:stop, start:stop] = True
    cells[:, 0] = True
    return cells


def random_cells(density: float, seed: int = 0) -> np.ndarray:
    """GRID x GRID cells, the diagonal on and a share `density` of the rest, drawn with `seed`.

    The cells of a lower density are among those of a higher one, so that a slider adds and never swaps.
    """
    if not 0 <= density <= 1:
        raise ValueError(f"density: expected 0 to 1; got {density!r}")
    ranks = np.random.default_rng(seed).permutation(GRID * GRID).reshape(GRID, GRID)
    return (ranks < round(density * GRID * GRID)) | np.eye(GRID, dtype=bool)


def make(
    pattern: str,
    N: int,
    *,
    causal: bool = False,
    window: int = 1024,
    tokens: int = 64,
    stride: int = 128,
    density: float = 0.25,
    cells: np.ndarray | None = None,
) -> Banded | Gridded:
    """The mask of a pattern for N queries and keys.

    window: a key is seen from less than `window` away. tokens: global ones, at the start. stride: every
    which key is seen by all. density: share of random blocks, 0 to 1. cells: of a painting (default
    `documents`). Raises ValueError naming the option.
    """
    for name, value, least in (
        ("N", N, 1),
        ("window", window, 1),
        ("tokens", tokens, 0),
        ("stride", stride, 2),
    ):
        if value < least:
            raise ValueError(f"{name}: expected {least} or more; got {value!r}")
    if pattern == "causal":
        return Banded(N, True)
    if pattern == "window":
        return Banded(N, causal, reach=window)
    if pattern == "global":
        return Banded(N, causal, reach=window, first=min(tokens, N), rows_all=min(tokens, N))
    if pattern == "strided":
        return Banded(N, causal, reach=window, stride=stride)
    if pattern == "blocks":
        return Gridded(N, causal, random_cells(density))
    if pattern == "painted":
        return Gridded(N, causal, documents() if cells is None else cells)
    raise ValueError(f"pattern: expected one of {', '.join(PATTERNS)}; got {pattern!r}")


def dense(N: int) -> Banded:
    """No mask at all."""
    return Banded(N, False)


def live(mask: Banded | Gridded) -> int:
    """Scores that the mask lets through, exact; in pieces, so that a million rows need little memory."""
    total = 0
    for start in range(0, mask.N, 1 << 18):
        rows = np.arange(start, min(start + (1 << 18), mask.N), dtype=np.int64)
        total += int(mask.seen(rows, mask.N).sum())
    return total


def matrix(mask: Banded | Gridded) -> np.ndarray:
    """The mask as booleans (N, N), True where live: for small N, to check by."""
    r, k = np.arange(mask.N)[:, None], np.arange(mask.N + 1)[None, :]
    return np.diff(mask.seen(r, k), axis=1).astype(bool)


@dataclass(frozen=True)
class Counts:
    """Tiles of Br x Bc under a mask, all Python ints.

    visited = full + partial of `total` tiles. kv_rows: rows of K read over all Q blocks (as many of V).
    scores: computed, in visited tiles, short ones at their size. live: let through by the mask.
    """

    visited: int
    full: int
    total: int
    kv_rows: int
    scores: int
    live: int

    @property
    def partial(self) -> int:
        """Tiles visited although some of their scores are masked."""
        return self.visited - self.full

    @property
    def skipped(self) -> int:
        """Tiles never loaded."""
        return self.total - self.visited

    @property
    def share(self) -> float:
        """Tiles visited of all: the s of block-sparse FlashAttention."""
        return self.visited / self.total

    @property
    def wasted(self) -> float:
        """Share of the computed scores that the mask throws away, 0 to 1; 0 when none is computed."""
        return 1 - self.live / self.scores if self.scores else 0.0


def count(mask: Banded | Gridded, Br: int, Bc: int, live_scores: int | None = None) -> Counts:
    """Count the tiles of `mask`, exactly. live_scores: `live(mask)`, if it is known already."""
    N = mask.N
    found = mask.blocks(Br, Bc)
    heights = np.full(len(found.rows), Br, dtype=np.int64)
    heights[-1] = N - (len(heights) - 1) * Br
    return Counts(
        visited=int(found.visited.sum()),
        full=int(found.full.sum()),
        total=ceil_div(N, Br) * ceil_div(N, Bc),
        kv_rows=int(found.rows.sum()),
        scores=int((heights * found.rows).sum()),
        live=live(mask) if live_scores is None else live_scores,
    )


def tile_live(mask: Banded | Gridded, Br: int, Bc: int, rows: range, tiles: range) -> np.ndarray:
    """Live scores of the tiles of Q blocks `rows` and K,V blocks `tiles`, int64 (len(rows), len(tiles))."""
    N = mask.N
    r = np.arange(rows.start * Br, min(rows.stop * Br, N), dtype=np.int64)[:, None]
    edges = np.minimum(np.arange(tiles.start, tiles.stop + 1, dtype=np.int64) * Bc, N)
    seen = np.diff(mask.seen(r, edges[None, :]), axis=1)
    return np.add.reduceat(seen, np.arange(0, len(r), Br), axis=0)


def tile_kinds(mask: Banded | Gridded, Br: int, Bc: int, rows: range, tiles: range) -> np.ndarray:
    """masks.SKIPPED, PARTIAL or FULL for the same tiles, int8."""
    found = tile_live(mask, Br, Bc, rows, tiles)
    heights = np.minimum(np.arange(rows.start + 1, rows.stop + 1) * Br, mask.N) - np.array(rows) * Br
    widths = np.minimum(np.arange(tiles.start + 1, tiles.stop + 1) * Bc, mask.N) - np.array(tiles) * Bc
    whole = found == heights[:, None] * widths[None, :]
    return np.where(whole, masks.FULL, np.where(found > 0, masks.PARTIAL, masks.SKIPPED)).astype(np.int8)


def ledger(counts: Counts, problem: Problem, *, training: bool = False) -> Ledger:
    """`tiled` under a mask, a head, in elements: Q and O once, K and V for visited tiles only.

    A Q block that sees no key is read and written all the same, as its output of zeros is. training: also
    write the logsumexp.
    """
    N, d = problem.N, problem.d
    lines = [
        Line("Q", "read", N * d, "each block once"),
        Line("K", "read", counts.kv_rows * d, "again for every Q block, visited tiles only"),
        Line("V", "read", counts.kv_rows * d, "again for every Q block, visited tiles only"),
        Line("O", "write", N * d, "each block once, when its row of tiles is complete"),
    ]
    if training:
        lines.append(Line("logsumexp", "write", N, "one a row, for the backward pass"))
    return Ledger("tiled", lines)


def flops(counts: Counts, problem: Problem) -> int:
    """FLOPs of a layer, forward: two products of 2 d each for every computed score, B x H heads."""
    return roofline.work(counts.scores, problem)


def block_sparse(N: int, d: int, M: int, sparsity: float) -> int:
    """Nd + N^2 d^2 s / M in elements, rounded up: Proposition 4 of Dao et al. 2022 without its constant."""
    numerator, denominator = sparsity.as_integer_ratio()
    return N * d + ceil_div(N * N * d * d * numerator, M * denominator)


BLOCK_SPARSE = Formula(
    "traffic-block-sparse",
    "Block-sparse FlashAttention",
    r"\mathrm{block\ sparse}",
    "N*d + N**2*d**2*sparsity/M",
    "Proposition 4 with the constant in its Theta taken as 1: only the share s of the tiles is paid for.",
    "elements",
    block_sparse,
    rounded_up=True,
)


@dataclass(frozen=True)
class Transfer:
    """One line of what a gathering program moves: bytes, not elements, because sectors are bytes."""

    tensor: str
    direction: str
    bytes: int
    why: str


def sectors(d: int, element_bytes: int) -> float:
    """Sectors of SECTOR bytes that fetching one row of K touches, the mean over where rows may begin.

    Rows lie one behind the other, so row k begins at k d b; the mean runs over one period of the alignment.
    """
    size = d * element_bytes
    first = np.arange(SECTOR, dtype=np.int64) * size
    return float(((first + size - 1) // SECTOR - first // SECTOR + 1).mean())


def gather(counts: Counts, problem: Problem) -> tuple[Transfer, ...]:
    """What a head moves when every query fetches its live keys one by one, in three kernels, in bytes.

    Scores for a list of pairs, a softmax over each row of the list, and the weighted sum of V. Each pair's
    row of K and of V is fetched anew, in whole sectors: nothing on the chip is shared between queries. That
    is the worst case. A cache catches some of it when neighbouring queries want the same keys.
    """
    N, d, b, pairs = problem.N, problem.d, problem.element_bytes, counts.live
    row = round(pairs * sectors(d, b) * SECTOR)
    return (
        Transfer("Q", "read", N * d * b, "each query once"),
        Transfer("K", "read", row, "one row a live pair, in whole sectors"),
        Transfer("V", "read", row, "one row a live pair, in whole sectors"),
        Transfer(
            "index", "read", 3 * pairs * INDEX_BYTES, "which key each pair means, in each of three kernels"
        ),
        Transfer("S", "write", pairs * b, "the list of scores does not fit on the chip"),
        Transfer("S", "read", pairs * b, "for the softmax"),
        Transfer("P", "write", pairs * b, "the softmax"),
        Transfer("P", "read", pairs * b, "for the output"),
        Transfer("O", "write", N * d * b, "the output"),
    )


def gather_limit(problem: Problem, tile: Tile) -> float:
    """Live keys a query above which fetching K and V pair by pair moves more than dense `tiled` does for
    them.

    Dense tiling reads a row of K once for every Q block: Tr = ceil(N / Br) times. Gathering reads N rows for
    every live key a query has.
    """
    d, b = problem.d, problem.element_bytes
    return ceil_div(problem.N, tile.Br) * d * b / (sectors(d, b) * SECTOR)
