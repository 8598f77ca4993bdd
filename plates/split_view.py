"""The picture of one query over a cache cut in pieces, and the small attention that it shows."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

import numpy as np
import param

from plates.drawn import Drawn, Picture
from plates.text import STATIC, static
from workshop import reference, split_kv
from workshop.online_softmax import finish

KEYS, WIDTH = 64, 16  # of the attention in the picture
CHECKED = 8192  # keys at most of the one that is checked


class SplitView(Drawn):
    """Scores, partial results, rescale factors and the merge, piece by piece."""

    play = Picture("null", doc="Scores and pieces, see `play`.")
    words = param.Dict(doc="Labels.")

    _esm = STATIC / "serving.js"
    _stylesheets: ClassVar[list[str]] = [static("serving.css")]


@lru_cache(maxsize=256)
def play(parts: int) -> dict:
    """One query over KEYS keys in ``parts`` pieces.

    Returns the scores; of each piece its keys, m, l, factor, share of the merged l and rescaled O; the sum of
    those O, the output, and the output of the full softmax for comparison.
    """
    rng = np.random.default_rng(5)
    q, k, v = (
        rng.standard_normal((1, WIDTH)),
        rng.standard_normal((KEYS, WIDTH)),
        rng.standard_normal((KEYS, WIDTH)),
    )
    ranges = split_kv.splits(KEYS, parts)
    found = [split_kv.partial(q, k[p.start : p.stop], v[p.start : p.stop]) for p in ranges]
    merged = split_kv.merge_all(found)
    pieces = []
    for part, keys in zip(found, ranges, strict=True):
        alpha = float(split_kv.rescale(part.m, merged.m)[0])
        pieces.append(
            {
                "from": keys.start,
                "to": keys.stop,
                "m": None if np.isneginf(part.m[0]) else float(part.m[0]),
                "l": float(part.l[0]),
                "alpha": alpha,
                "share": float(alpha * part.l[0] / merged.l[0]),
                "o": (alpha * part.o[0]).tolist(),
            }
        )
    full = reference.attention(q, k, v)
    return {
        "scores": full.scores[0].tolist(),
        "pieces": pieces,
        "sum": merged.o[0].tolist(),
        "output": finish(merged)[0][0].tolist(),
        "full": full.output[0].tolist(),
    }


@lru_cache(maxsize=256)
def merge_error(N: int, d: int, parts: int) -> float:
    """Largest difference, in float64, between the merged output of one query over N keys and the full one."""
    rng = np.random.default_rng([N, d])
    q, k, v = rng.standard_normal((1, d)), rng.standard_normal((N, d)), rng.standard_normal((N, d))
    merged, _ = split_kv.attention(q, k, v, split_kv.splits(N, parts))
    return float(np.abs(merged - reference.attention(q, k, v).output).max())
