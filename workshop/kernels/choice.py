"""Which device program a call of the fast kernel runs, with which tile, and why not a faster one.

gluon   Hopper (compute capability 9), float16 or bfloat16, 33 <= d <= 256, tensors that the copy engine can
        address; if d <= 128 more than 512 queries, or more than 256 if 65 <= d and no mask
tma     compute capability 9 or more, tensors that the copy engine can address
plain   everything else: the teaching kernel with a tile from a table
"""

from __future__ import annotations

from dataclasses import dataclass

from . import tiles, tma
from .checks import interpreting

#: Queries up to which blocks of 64 rows that need little to start are as fast as gluon's.
SHORT = 512
#: Queries beyond which three groups of warps pay for their coarser Q blocks.
LONG = 2048


@dataclass(frozen=True)
class Choice:
    """path: "gluon", "tma" or "plain". Br, Bc, warps, stages: its tile and launch. reason: why no faster path was
    taken, "" for the fastest. resident: programs stay and take one Q block after another, else one program a Q block
    (gluon). turns: groups of warps take turns at the tensor cores (gluon). apart: O leaves through shared memory of
    its own, so that the next Q comes earlier (gluon)."""

    path: str
    Br: int
    Bc: int
    warps: int
    stages: int
    reason: str = ""
    resident: bool = False
    turns: bool = False
    apart: bool = False


#: Kernels that this Triton could not build -> its reason; they are not tried again.
unbuildable: dict[str, str] = {}


def choose(q, k, v, causal=False) -> Choice:
    """The path and tile for checked inputs: the fastest that takes them, with the reason against faster ones."""
    d, Nq = q.shape[-1], q.shape[-2]
    D = max(16, 1 << (d - 1).bit_length())
    size = q.element_size()
    limit = tiles.shared_limit(q.device)
    reason = _against_tma(q, k, v)
    if reason:
        return _of_tile("plain", tiles.best(tiles.PLAIN, D, size, limit), reason)
    reason = _against_gluon(q, d, Nq, causal)
    if reason:
        table = tiles.SHORT_TMA if Nq <= SHORT else tiles.TMA
        return _of_tile("tma", tiles.best(table, D, size, limit), reason)
    return _gluon(max(64, D), Nq, causal)


def _of_tile(path: str, tile: tiles.Tile, reason: str) -> Choice:
    return Choice(path, tile.Br, tile.Bc, tile.warps, tile.stages, reason)


def _against_tma(q, k, v) -> str | None:
    if interpreting():
        return "Triton interprets"
    if not tma.engine(q.device):
        return "the GPU has no copy engine (compute capability below 9)"
    refusals = (tma.refusal(name, x) for name, x in (("q", q), ("k", k), ("v", v)))
    return next((reason for reason in refusals if reason), None) or unbuildable.get("tma")


def _against_gluon(q, d: int, Nq: int, causal: bool) -> str | None:
    major = tma.capability(q.device)[0]
    if q.element_size() != 2:
        return "float32 does not run on the tensor cores in full precision"
    if major != 9:
        return f"gluon is written for compute capability 9, this GPU has {major}"
    if d <= 32:
        return "d <= 32 would leave the groups of warps too little to multiply"
    few = SHORT // 2 if 64 < d <= 128 and not causal else SHORT
    if Nq <= few and d <= 128:
        return f"up to {few} queries smaller blocks are as fast and start sooner"
    return unbuildable.get("gluon")


def _gluon(D: int, Nq: int, causal: bool) -> Choice:
    """The gluon tile: as measured on an H200 (bfloat16, 32 heads, N = 512 to 16,384)."""
    long = Nq > LONG
    if D == 64 and long and (not causal or Nq > 2 * LONG):
        return Choice("gluon", 192, 128, 16, 2, resident=True, turns=True, apart=True)
    if D == 64:
        return Choice("gluon", 128, 128, 12, 4 if causal else 3, resident=True, turns=True, apart=True)
    if D == 128 and (Nq <= SHORT or (causal and long)):
        return Choice("gluon", 128, 128, 12, 2, turns=True)
    if D == 128:
        return Choice("gluon", 128, 128, 12, 2, resident=True, turns=True, apart=True)
    return Choice("gluon", 128, 64, 12, 2)
