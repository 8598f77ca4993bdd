"""The picture of the backward loop: a play of `workshop.backward.record`, sent once and played in the browser."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import param

from plates import text
from plates.drawn import Drawn, Picture
from plates.text import static
from workshop import backward, units
from workshop.units import DTYPE_BYTES

N, D = 16, 4  # small enough to see every number
_RANK = {line: rank for rank, (line, _) in enumerate(backward.LINES)} | {"rowsum": -1}
# How deep each line stands in the loop, for the listing.
_DEPTH = {"rowsum": 0, "load-kv": 1, "store": 1}


class Loop(Drawn):
    """Plays the backward loop tile by tile. ``step`` is the step on show at rest; one past the end is the end."""

    data = Picture("null", doc="What to draw, from `play`; replacing it loads a new play.")
    step = param.Integer(0, doc="Step at rest.")
    words = param.Dict(doc="Labels, by key; `code` lists (line, product, depth).")

    _esm = static("transport.js") + static("memory.js")
    _stylesheets: ClassVar[list[str]] = [static("range.css"), static("transport.css"), static("memory.css")]


def listing() -> list[list]:
    """Return the lines of the loop as (name, number of the product, depth)."""
    return [["rowsum", 0, 0], *([line, product, _DEPTH.get(line, 2)] for line, product in backward.LINES)]


@lru_cache(maxsize=16)
def play(Br: int, Bc: int, causal: bool, dtype: str, lang: str) -> dict:
    """Return the play of a small head with sentences of ``lang``; bytes as ``dtype`` would take them."""
    words = text.labels("memory", lang)
    found = backward.record(N, D, Br, Bc, causal=causal)
    size = DTYPE_BYTES[dtype]

    def step(item: dict) -> dict:
        values = {"i": item["i"] + 1, "j": item["j"] + 1}
        return {
            **item,
            "rank": _RANK[item["line"]],
            "say": words[f"say_{item['line']}"].format(**values),
            "read_text": units.bytes_(item["read"] * size),
            "written_text": units.bytes_(item["written"] * size),
        }

    largest = {
        name: max(abs(value) for tile in found["tiles"] for row in tile[name] for value in row) or 1.0
        for name in ("p", "dp", "ds")
    }
    tiles = [{**tile, "error_text": units.number(tile["error"], 2)} for tile in found["tiles"]]
    return {
        **found,
        "tiles": tiles,
        "steps": [step(item) for item in found["steps"]],
        "largest": largest,
        "after_dq": _RANK["dq"],
        "error_none": words["error_none"],
    }


def opening(found: dict) -> int:
    """Return the step on which the play opens: dQ of a tile in the middle, when every kind of block is in use."""
    middle = len(found["tiles"]) // 2
    return next(k for k, s in enumerate(found["steps"]) if s["tile"] == middle and s["line"] == "dq")
