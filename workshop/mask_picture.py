"""A mask at a size where single tiles can be seen: which part to draw, and its outlines in tokens.

The picture keeps the reader's tile and, for banded masks, shows a corner of the real thing. Gridded masks are
laid over a shorter sequence instead, so that all of their cells are in the picture.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from workshop.block_masks import tile_live
from workshop.mask_shapes import Banded, Gridded
from workshop.masks import ceil_div

# Tiles along a side: at most, about how many where the mask does not ask for more, and of the longer kind at least.
MOST, FEW, LEAST = 48, 16, 5
_BANDS = 192


@dataclass(frozen=True)
class Corner:
    """The mask that is drawn (`mask`), and which Q blocks and K,V blocks of it."""

    mask: Banded | Gridded
    rows: range
    tiles: range

    def tokens(self, Br: int, Bc: int) -> tuple[int, int, int, int]:
        """First query, one past the last, first key, one past the last."""
        N = self.mask.N
        return (
            self.rows.start * Br,
            min(self.rows.stop * Br, N),
            self.tiles.start * Bc,
            min(self.tiles.stop * Bc, N),
        )


def _middle(count: int) -> range:
    """At most MOST of `count` blocks, out of the middle."""
    start = max(0, (count - MOST) // 2)
    return range(start, min(count, start + MOST))


def corner(mask: Banded | Gridded, Br: int, Bc: int) -> Corner:
    """What to draw of `mask` for tiles of Br x Bc."""
    large, small = max(Br, Bc), min(Br, Bc)
    if isinstance(mask, Gridded):
        N = min(mask.N, FEW * large, MOST * small)
        return Corner(replace(mask, N=N), range(ceil_div(N, Br)), range(ceil_div(N, Bc)))
    wanted = FEW * large
    if mask.reach is not None:
        wanted = max(wanted, mask.reach * 3 // 2)
    if MOST * small >= LEAST * large:  # both sides can begin at the first token and stay square
        wanted = min(wanted, MOST * small)
    wanted = min(mask.N, wanted)
    return Corner(mask, _middle(ceil_div(wanted, Br)), _middle(ceil_div(wanted, Bc)))


def tile_rows(found: Corner, Br: int, Bc: int) -> list[list[int]]:
    """Live scores of every tile of the corner."""
    return tile_live(found.mask, Br, Bc, found.rows, found.tiles).tolist()


def outlines(found: Corner, Br: int, Bc: int) -> dict[str, list[list[int]]]:
    """The live part of the corner in tokens, as rectangles [query, one past it, key, one past it].

    `bands` covers intervals and cells, exact while the corner has at most 192 rows and sampled beyond (the
    picture has no more lines than that); `columns` the keys that many rows see.
    """
    mask = found.mask
    q0, q1, k0, k1 = found.tokens(Br, Bc)
    edges = np.unique(np.linspace(q0, q1, min(_BANDS, q1 - q0) + 1).round().astype(np.int64))
    middles = (edges[:-1] + edges[1:] - 1) // 2
    bands: list[list[int]] = []
    columns: list[list[int]] = []

    def band(top, bottom, low, high):
        low, high = max(low, k0), min(high, k1)
        if low < high:
            bands.append([int(top), int(bottom), int(low), int(high)])

    if isinstance(mask, Banded):
        low, high = mask.interval(middles)
        for top, bottom, a, b in zip(edges[:-1], edges[1:], low, high, strict=True):
            band(top, bottom, a, b)
        keys = range(-(-k0 // mask.stride) * mask.stride, k1, mask.stride) if mask.stride else ()
        for start, stop in [(k, k + 1) for k in keys] or (
            [(k0, min(mask.first, k1))] if mask.first > k0 else []
        ):
            # Where several columns stand together, the rows above the last one's diagonal see every key.
            top = max(q0, stop - 1) if mask.causal else q0
            if top < q1:
                columns.append([int(top), int(q1), int(start), int(stop)])
        return {"bands": bands, "columns": columns}
    starts = mask.starts
    limits = middles + 1 if mask.causal else np.full_like(middles, mask.N)
    for top, bottom, middle, limit in zip(edges[:-1], edges[1:], middles, limits, strict=True):
        on = np.flatnonzero(
            np.diff(np.concatenate([[0], mask.cells[middle * len(mask.cells) // mask.N], [0]]))
        )
        for first, last in on.reshape(-1, 2):
            band(top, bottom, starts[first], min(starts[last], limit))
    return {"bands": bands, "columns": columns}
