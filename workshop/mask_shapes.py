"""Shapes of masks, counted per Q block in closed form, so that a million tokens cost what a thousand do.

A shape says which keys a query row sees. Two families cover every mask of the page:

Banded   one interval of keys a row, plus columns that every row sees (the first few, or every s-th).
Gridded  a coarse grid of GRID x GRID cells laid over the whole score matrix, each on or off.

Both may be cut at the diagonal (`causal`). Every count is exact and made of arrays with one entry a Q block
or a tile column: the N x N matrix is never built. `seen` answers for single rows, from the definition alone;
tests hold the counts to it and to an explicit matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from workshop.masks import ceil_div

GRID = 16


@dataclass(frozen=True)
class Blocks:
    """What each Q block does, int64 arrays (Tr,): K,V tiles `visited`, `full` among them, K `rows` read."""

    visited: np.ndarray
    full: np.ndarray
    rows: np.ndarray


def _edges(N: int, step: int) -> tuple[np.ndarray, np.ndarray]:
    """First row of every block of `step` rows, and one past its last."""
    start = np.arange(ceil_div(N, step), dtype=np.int64) * step
    return start, np.minimum(start + step, N)


@dataclass(frozen=True)
class Banded:
    """Row r sees the keys less than `reach` away, and `columns`; the first `rows_all` rows see every key.

    reach: None leaves nothing out. first: keys 0 .. first-1 are columns. stride: so are keys 0, stride,
    2 stride, ... (None: none; 2 or more otherwise). causal: nobody sees a later key.
    """

    N: int
    causal: bool
    reach: int | None = None
    first: int = 0
    stride: int | None = None
    rows_all: int = 0

    def limit(self, r):
        """One past the last key that row r may see at all."""
        return r + 1 if self.causal else np.full_like(r, self.N)

    def interval(self, r):
        """The interval of row r as (first key, one past the last); r an int64 array."""
        if self.reach is None:
            return np.zeros_like(r), self.limit(r)
        everything = r < self.rows_all
        low = np.where(everything, 0, np.maximum(r - self.reach + 1, 0))
        high = np.where(everything, self.N, np.minimum(r + self.reach, self.N))
        return low, np.minimum(high, self.limit(r))

    def _columns_before(self, x):
        """How many columns lie before key x."""
        if self.stride:
            return ceil_div(x, self.stride)
        return np.minimum(x, self.first)

    def seen(self, r, x):
        """Keys before x that row r sees; integer arrays that broadcast."""
        r, x = np.broadcast_arrays(np.asarray(r, dtype=np.int64), np.asarray(x, dtype=np.int64))
        low, high = self.interval(r)
        low, high = np.minimum(low, x), np.minimum(high, x)
        x = np.minimum(x, self.limit(r))
        inside = self._columns_before(high) - self._columns_before(low)
        return high - low + self._columns_before(x) - inside

    def _key_tiles(self, Bc: int):
        """Per K,V tile: its end, its first column (or start), whether it has one, and its keys that are
        none."""
        a, b = _edges(self.N, Bc)
        if self.stride:
            column = ceil_div(a, self.stride) * self.stride
            has = column < b
            other, last = a + (a % self.stride == 0), b - 1 - ((b - 1) % self.stride == 0)
        else:
            column, has = a, a < self.first
            other, last = np.maximum(a, self.first), b - 1
        every = (other > last) | (other >= b)
        return (
            b,
            np.where(has, column, a),
            has,
            np.where(every, a, other),
            np.where(every, b - 1, last),
            every,
        )

    def blocks(self, Br: int, Bc: int) -> Blocks:
        """Counts a Q block for tiles of Br x Bc."""
        start, stop = _edges(self.N, Br)
        top, bottom = start, stop - 1
        b, column, has, other, last, every = self._key_tiles(Bc)
        low, high_top = self.interval(top)
        low_bottom, high = self.interval(bottom)
        # Rows that see everything come first; a block may end among the others or begin there.
        mixed = np.minimum(np.maximum(top, self.rows_all), bottom)
        high_least = np.minimum(high_top, self.interval(mixed)[1])
        seeing = np.minimum(bottom, max(self.rows_all - 1, 0))
        high = np.maximum(high, np.where(top < self.rows_all, self.limit(seeing), 0))

        tiles = len(b)
        ranks = np.concatenate([[0], np.cumsum(has)])
        begin, end = low // Bc, (high - 1) // Bc + 1
        reachable = np.searchsorted(column, self.limit(bottom), side="left")
        beside = ranks[np.minimum(begin, reachable)] + np.maximum(
            ranks[reachable] - ranks[np.minimum(end, reachable)], 0
        )
        visited = end - begin + beside
        to_the_end = (end == tiles) | ((reachable == tiles) & bool(has[-1]))
        rows = visited * Bc - to_the_end * (tiles * Bc - self.N)

        wholly = np.concatenate([[0], np.cumsum(every)])
        allowed = np.searchsorted(b, self.limit(top), side="right")
        left = np.searchsorted(other, low_bottom, side="left")
        right = np.maximum(np.minimum(np.searchsorted(last, high_least, side="left"), allowed), left)
        full = right - left - (wholly[right] - wholly[left]) + wholly[allowed]
        return Blocks(visited, full, rows)


@dataclass(frozen=True)
class Gridded:
    """Row r sees key k where the cell (cell of r, cell of k) is on; `cells` is a GRID x GRID bool array."""

    N: int
    causal: bool
    cells: np.ndarray = field(hash=False, compare=False)

    def __post_init__(self):
        if self.cells.shape != (GRID, GRID) or self.cells.dtype != bool:
            raise ValueError(
                f"cells: expected {GRID} x {GRID} bools; got {self.cells.dtype} {self.cells.shape}"
            )

    @property
    def starts(self) -> np.ndarray:
        """First key of every cell, (GRID + 1,); a cell without keys starts where the next one does."""
        return ceil_div(np.arange(GRID + 1, dtype=np.int64) * self.N, GRID)

    def _cell(self, k):
        return k * GRID // self.N

    def seen(self, r, x):
        """Keys before x that row r sees; integer arrays that broadcast."""
        r, x = np.broadcast_arrays(np.asarray(r, dtype=np.int64), np.asarray(x, dtype=np.int64))
        x = np.minimum(x, r + 1) if self.causal else x
        starts = self.starts
        before = np.concatenate(
            [np.zeros((GRID, 1), np.int64), np.cumsum(self.cells * np.diff(starts), 1)], 1
        )
        p, c = self._cell(r), np.minimum(self._cell(x), GRID - 1)
        return before[p, c] + self.cells[p, c] * (x - starts[c])

    def _groups(self, step: int):
        """Blocks that touch the same cells: (first cell, last cell, first block, how many) of every group."""
        start, stop = _edges(self.N, step)
        first, last = self._cell(start), self._cell(stop - 1)
        _, at, count = np.unique(first * GRID + last, return_index=True, return_counts=True)
        return list(zip(first[at].tolist(), last[at].tolist(), at.tolist(), count.tolist(), strict=True))

    def blocks(self, Br: int, Bc: int) -> Blocks:
        """Counts a Q block for tiles of Br x Bc."""
        starts, N = self.starts, self.N
        filled = np.diff(starts) > 0
        on = self.cells & filled[:, None] & filled[None, :]
        off = ~self.cells & filled[:, None] & filled[None, :]
        top, stop = _edges(N, Br)
        Tr, Tc = len(top), ceil_div(N, Bc)
        visited, full, to_the_end = np.zeros(Tr, np.int64), np.zeros(Tr, np.int64), np.zeros(Tr, np.int64)
        columns = self._groups(Bc)
        for p0, p1, i, n in self._groups(Br):
            block = slice(i, i + n)
            bottom = stop[block] - 1
            # Tiles that end at or before the diagonal of the block's first row.
            safe = np.where(top[block] + 1 >= N, Tc, (top[block] + 1) // Bc) if self.causal else Tc
            for c0, c1, j, tiles in columns:
                part = on[p0 : p1 + 1, c0 : c1 + 1]
                if not part.any():
                    continue
                found = self._reached(part, p0, p1, c0, j * Bc, tiles, Bc, bottom, starts)
                visited[block] += found
                if j + tiles == Tc:
                    to_the_end[block] = found == tiles
                if not off[p0 : p1 + 1, c0 : c1 + 1].any():
                    full[block] += np.clip(safe - j, 0, tiles)
        return Blocks(visited, full, visited * Bc - to_the_end * (Tc * Bc - N))

    def _reached(self, part, p0, p1, c0, key, tiles, Bc, bottom, starts):
        """Tiles of a group that some row of each block sees: those whose first live key is not after it."""
        if not self.causal:
            return np.full(len(bottom), tiles)
        found = np.zeros(len(bottom), np.int64)
        for c in np.flatnonzero(part.any(axis=0)):
            p = p0 + int(np.flatnonzero(part[:, c])[-1])
            lowest = bottom if p == p1 else np.minimum(bottom, starts[p + 1] - 1)
            if part.shape[1] == 1:
                return np.clip(lowest // Bc - key // Bc + 1, 0, tiles)
            # A tile across a border of cells is alone in its group.
            found |= max(key, int(starts[c0 + c])) <= lowest
        return found
