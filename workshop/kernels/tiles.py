"""Tiles by head size, best first, and which of them fits on a GPU.

The order is that of measured speed on an H200 (bfloat16, 32 heads, N = 4096). A block's shared memory holds the
tiles that stay and, for each stage, the tiles that pass; GPUs with less of it than an H200 get the first that fits.
"""

from __future__ import annotations

from dataclasses import dataclass

#: What a build takes beyond its tiles, at most: barriers and the room that reductions borrow.
MARGIN = 2048


@dataclass(frozen=True)
class Tile:
    """Br, Bc: rows of a Q block and of a K,V block. warps: of a block. stages: passing tiles in flight."""

    Br: int
    Bc: int
    warps: int
    stages: int


#: d up to -> tiles, for 16-bit dtypes.
PLAIN = {
    64: (Tile(128, 64, 8, 3), Tile(64, 32, 4, 2)),
    128: (Tile(128, 128, 8, 3), Tile(128, 64, 8, 3), Tile(128, 64, 8, 2), Tile(64, 32, 4, 2)),
    256: (Tile(64, 32, 4, 2), Tile(32, 32, 4, 1)),
}
TMA = {
    64: (Tile(64, 128, 4, 3), Tile(64, 64, 4, 2)),
    128: (Tile(128, 128, 8, 3), Tile(64, 64, 4, 3), Tile(64, 64, 4, 2)),
    256: (Tile(128, 64, 8, 2), Tile(64, 32, 4, 2)),
}
#: For short sequences: more blocks than multiprocessors.
SHORT_TMA = {64: TMA[64], 128: TMA[128][1:], 256: TMA[256]}
OVER_KEYS = {
    64: (Tile(128, 64, 4, 2),),
    128: (Tile(64, 64, 4, 2), Tile(32, 32, 4, 2)),
    256: (Tile(32, 64, 8, 2), Tile(16, 32, 4, 1)),
}
OVER_QUERIES = {
    64: (Tile(64, 64, 4, 3),),
    128: (Tile(64, 64, 4, 2), Tile(32, 32, 4, 2)),
    256: (Tile(128, 32, 8, 2), Tile(64, 32, 4, 2), Tile(32, 16, 4, 1)),
}
#: float32 multiplies on the ordinary units, where a large tile only spills registers.
SLOW = {
    64: (Tile(32, 32, 4, 1),),
    128: (Tile(32, 32, 4, 1), Tile(16, 32, 4, 1)),
    256: (Tile(16, 32, 4, 1), Tile(16, 16, 4, 1)),
}


def best(table: dict, D: int, element_size: int, limit: int | None, walk: str = "keys") -> Tile:
    """The first tile of `table` (SLOW for 4-byte elements) for padded head size D whose block fits in `limit` bytes.

    walk: "keys" keeps Q and lets K and V pass; "gradient-keys" keeps K and V and lets Q and dO pass;
    "gradient-queries" keeps Q and dO and lets K and V pass. limit: None for any. The last tile is taken in any case,
    and a GPU that refuses it says so.
    """
    tiles = (SLOW if element_size > 2 else table)[max(64, D)]
    if limit is None:
        return tiles[0]
    fits = (tile for tile in tiles if shared_bytes(tile, D, element_size, walk) <= limit)
    return next(fits, tiles[-1])


def shared_bytes(tile: Tile, D: int, element_size: int, walk: str = "keys") -> int:
    """About what a block of this tile takes, bytes; see `best` for walk."""
    stay, passing = {
        "keys": (tile.Br, 2 * tile.Bc),
        "gradient-keys": (2 * tile.Bc, 2 * tile.Br),
        "gradient-queries": (2 * tile.Br, 2 * tile.Bc),
    }[walk]
    return (stay + tile.stages * passing) * D * element_size + MARGIN


def shared_limit(device) -> int | None:
    """Most shared memory a block may have on a CUDA device, bytes; None on a CPU, where Triton interprets."""
    import torch

    if device.type != "cuda":
        return None
    return torch.cuda.get_device_properties(device).shared_memory_per_block_optin
