"""FlashAttention Q block by Q block: what has crossed, and which pass over K and V is running, at any byte.

The order is that of `traffic`'s `tiled` (Q blocks on the outer loop, FlashAttention-2): a Q block comes in, the K,V
tiles it may see stream past it, its block of O leaves. What does not fit on the chip goes out and back on every tile
(`sram.spill_ledger`). Per head, forward pass, in elements; the last block ends on the ledger's total.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workshop import sram
from workshop.ledger import Ledger
from workshop.masks import ceil_div
from workshop.problem import Problem, Tile

STAGES = ("start", "load", "stream", "leave", "done")


@dataclass(frozen=True)
class Place:
    """Where the loop stands. done: Q blocks whose output has left. stage: one of STAGES, of the block after those.

    passes: passes over K and V so far, the running one as the share of it that is done.
    """

    done: int
    stage: str
    passes: float


@dataclass(frozen=True)
class Stream:
    """The loop over all Q blocks of one head."""

    problem: Problem
    tile: Tile

    @cached_property
    def ledger(self) -> Ledger:
        """`tiled` with the spill, line by line."""
        return sram.spill_ledger(self.problem, self.tile)

    @property
    def blocks(self) -> int:
        """Q blocks, each of which makes one pass over K and V: Tr."""
        return ceil_div(self.problem.N, self.tile.Br)

    @property
    def excess(self) -> int:
        """Elements of the working set that the chip has no room for."""
        return sram.working_set(self.problem, self.tile).spill_bytes // self.problem.element_bytes

    @cached_property
    def _rows(self) -> np.ndarray:
        """The last query row of each block, plus one."""
        last = np.arange(1, self.blocks + 1, dtype=np.int64) * self.tile.Br
        return np.minimum(last, self.problem.N)

    @cached_property
    def _passes(self) -> np.ndarray:
        """Elements of each pass: K and V of the tiles that the block may see, and what spills at each of them."""
        N, Bc = self.problem.N, self.tile.Bc
        tiles = ceil_div(self._rows, Bc) if self.problem.causal else np.full(self.blocks, ceil_div(N, Bc))
        return 2 * self.problem.d * np.minimum(tiles * Bc, N) + 2 * self.excess * tiles

    @cached_property
    def _strips(self) -> np.ndarray:
        """Elements of each block of Q, and as many of O."""
        return np.diff(self._rows, prepend=0) * self.problem.d

    @cached_property
    def ends(self) -> np.ndarray:
        """Elements that have crossed when each block's output has left, int64."""
        return np.cumsum(2 * self._strips + self._passes)

    def at(self, elements: int) -> Place:
        """Where the loop stands when so many elements have crossed."""
        if elements <= 0:
            return Place(0, "start", 0.0)
        done = int(np.searchsorted(self.ends, elements, side="right"))
        if done >= self.blocks:
            return Place(self.blocks, "done", float(self.blocks))
        into = elements - (int(self.ends[done - 1]) if done else 0)
        strip, whole = int(self._strips[done]), int(self._passes[done])
        streamed = min(max(into - strip, 0), whole)
        stage = "load" if into <= strip else "stream" if into <= strip + whole else "leave"
        return Place(done, stage, done + streamed / whole)
