"""Attention for one query over a long cache, cut in pieces that are computed apart and merged (FlashDecoding).

Each piece keeps what the running softmax keeps, (m, l, O): its largest score, its sum of exponentials under
that score, and its unscaled output. Two pieces merge by the rule that absorbs a tile: bring both to the larger
m, and add. The rule is associative in real arithmetic, so the pieces may be merged in any order and any tree.

Sources: Dao, Haziza, Massa, Sizov, Flash-Decoding for long-context inference (2023); the merge of partial
softmaxes is Milakov and Gimelshein's (2018).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from workshop.masks import ceil_div
from workshop.online_softmax import State, absorb, empty, finish, rescale
from workshop.reference import check_shapes

PARTIAL_BYTES = 4  # partial results are kept in fp32


def splits(N: int, parts: int) -> list[range]:
    """N keys in `parts` runs as even as whole blocks allow: ceil(N / parts) each, the last ones short or
    empty."""
    if N < 0 or parts < 1:
        raise ValueError(f"N, parts: expected 0 or more keys and 1 or more parts; got {N!r}, {parts!r}")
    size = ceil_div(N, parts)
    return [range(min(i * size, N), min((i + 1) * size, N)) for i in range(parts)]


def partial(q, k, v, *, mask=None, scale: float | None = None) -> State:
    """(m, l, O) of queries q (r, d) over one piece of the cache, k and v (c, d); mask (r, c), True where
    live."""
    q, k, v = (np.asarray(x, dtype=np.float64) for x in (q, k, v))
    check_shapes(q, k, v)
    s = (q.shape[1] ** -0.5 if scale is None else scale) * (q @ k.T)
    if mask is not None:
        if mask.shape != s.shape:
            raise ValueError(f"mask: expected shape {s.shape}, got {mask.shape}")
        s = np.where(mask, s, -np.inf)
    return absorb(empty(*q.shape), s, v).after


def merge(a: State, b: State) -> State:
    """Both pieces under the larger maximum: the rescale rule of the running softmax, on both sides."""
    if a.o.shape != b.o.shape:
        raise ValueError(f"b: expected outputs of shape {a.o.shape}, got {b.o.shape}")
    m = np.maximum(a.m, b.m)
    left, right = rescale(a.m, m), rescale(b.m, m)
    return State(m, left * a.l + right * b.l, left[:, None] * a.o + right[:, None] * b.o)


def merge_all(pieces: list[State]) -> State:
    """Merge one piece or more, left to right."""
    if not pieces:
        raise ValueError("pieces: expected at least one, got none")
    return reduce(merge, pieces)


def attention(q, k, v, pieces: list[range], *, mask=None) -> tuple[np.ndarray, np.ndarray]:
    """Output (r, d) and logsumexp (r,) over the cache cut in `pieces`, which must cover each key once."""
    if sorted(i for piece in pieces for i in piece) != list(range(len(k))):
        raise ValueError(f"pieces: expected every key from 0 to {len(k) - 1} once; got {pieces!r}")
    parts = [
        partial(q, k[p.start : p.stop], v[p.start : p.stop], mask=None if mask is None else mask[:, p])
        for p in pieces
    ]
    return finish(merge_all(parts))


@dataclass(frozen=True)
class Occupancy:
    """How a decoding step of attention fills a GPU: `work` independent blocks on `sms` multiprocessors."""

    work: int
    sms: int

    @property
    def waves(self) -> int:
        """Rounds needed when each multiprocessor takes one block at a time."""
        return ceil_div(self.work, self.sms)

    @property
    def busy(self) -> int:
        """Multiprocessors with work in the first round."""
        return min(self.work, self.sms)

    @property
    def share(self) -> float:
        """Share of all multiprocessor time that is spent working, 0 to 1, over all rounds."""
        return self.work / (self.waves * self.sms)


def occupancy(B: int, kv_heads: int, parts: int, sms: int, gpus: int = 1) -> Occupancy:
    """Blocks of a step on the busiest of `gpus` GPUs that share the blocks evenly.

    One block for every conversation, K,V head and piece; the query heads of a group share it. sms: of one
    GPU.
    """
    return Occupancy(ceil_div(B * kv_heads * parts, gpus), sms)


def fewest_splits(B: int, kv_heads: int, sms: int, gpus: int = 1) -> int:
    """The fewest pieces that give every multiprocessor of every GPU a block."""
    return ceil_div(sms * gpus, B * kv_heads)


def partial_bytes(heads: int, d: int, parts: int) -> int:
    """Bytes written by the pieces of one conversation's layer and read by the merge: m, l and O in fp32 each
    way."""
    return 2 * parts * heads * (d + 2) * PARTIAL_BYTES
