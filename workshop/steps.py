"""The records of a trace: transfers, tiles, steps and the whole run, with what can be read off them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workshop.online_softmax import Update
from workshop.reference import attention
from workshop.score_patterns import Inputs
from workshop.units import DTYPE_BYTES

# What a step may leave on the chip, in the order in which it is drawn.
TENSORS = ("q", "o", "k", "v", "s", "statistics")


@dataclass(frozen=True)
class Move:
    """One transfer between HBM and the chip: tensor, direction ("read" or "write"), elements."""

    tensor: str
    direction: str
    elements: int


@dataclass(frozen=True)
class Visit:
    """A tile that the kernel visits: block numbers i, j, its first row and key, and what happened there."""

    i: int
    j: int
    row: int
    key: int
    update: Update

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and keys of this tile, which is short at the edge of the matrix."""
        return self.update.s.shape


@dataclass(frozen=True)
class Step:
    """One step of the play.

    line: the pseudocode line, or "start" and "compare" at the ends. i, j: blocks concerned, -1 for none.
    visit: index of the tile shown, -1 for none. done: tiles finished before this step. moves: transfers made
    in it. resident: elements on the chip after it, by tensor of TENSORS. read, written: bytes so far, this
    step included. stop: a play by tile rests here.
    """

    line: str
    i: int
    j: int
    visit: int
    done: int
    moves: tuple[Move, ...]
    resident: dict[str, int]
    read: int
    written: int
    stop: bool


@dataclass(frozen=True)
class Trace:
    """A whole run: inputs and tiling, `visits`, `steps`, and results `output` (N, d), `logsumexp` (N,)."""

    inputs: Inputs
    order: str
    Br: int
    Bc: int
    causal: bool
    dtype: str
    kinds: np.ndarray
    visits: tuple[Visit, ...]
    steps: tuple[Step, ...]
    output: np.ndarray
    logsumexp: np.ndarray

    @property
    def N(self) -> int:
        """Rows of Q, K and V."""
        return self.inputs.q.shape[0]

    @property
    def d(self) -> int:
        """Head size."""
        return self.inputs.q.shape[1]

    @property
    def element_bytes(self) -> int:
        """Bytes of one element in HBM and on the chip."""
        return DTYPE_BYTES[self.dtype]

    @property
    def bytes_read(self) -> int:
        """Bytes read from HBM by the whole run."""
        return self.steps[-1].read

    @property
    def bytes_written(self) -> int:
        """Bytes written to HBM by the whole run."""
        return self.steps[-1].written

    @cached_property
    def reference(self) -> np.ndarray:
        """The oracle's output (N, d), float64, from the whole score matrix."""
        inputs = self.inputs
        return attention(inputs.q, inputs.k, inputs.v, causal=self.causal, mask=inputs.mask).output

    @property
    def row_errors(self) -> np.ndarray:
        """Largest absolute difference from the oracle in each row of the output (N,)."""
        return np.abs(self.output - self.reference).max(axis=1)

    @property
    def error_max(self) -> float:
        """Largest absolute difference from the oracle."""
        return float(self.row_errors.max())

    @cached_property
    def focus_rows(self) -> tuple[int, ...]:
        """The row of each Q block worth following, counted inside the block.

        A row that may see no key is the story of its block; otherwise the row that its rescales shrink
        most, the last among equals (under a causal mask it sees most).
        """
        shrunk: dict[int, np.ndarray] = {}
        for visit in self.visits:
            update = visit.update
            lost = np.where(update.before.l > 0.0, 1.0 - update.alpha, 0.0)
            shrunk[visit.i] = shrunk.get(visit.i, 0.0) + lost
        blind = np.isneginf(self.logsumexp)
        rows = []
        for i in range(self.kinds.shape[0]):
            hidden = np.flatnonzero(blind[i * self.Br : (i + 1) * self.Br])
            rows.append(
                int(hidden[0]) if len(hidden) else len(shrunk[i]) - 1 - int(np.argmax(shrunk[i][::-1]))
            )
        return tuple(rows)

    @cached_property
    def highlight(self) -> int:
        """The step to open on.

        Where a row may see no key: the maximum of its second tile. Otherwise, in the first Q block whose followed
        row shrinks, the first update whose α is at most twice the smallest; if none does, the second update, or
        the only one.
        """
        at = {(step.line, step.visit): number for number, step in enumerate(self.steps)}
        shrinks: dict[int, list[tuple[int, float]]] = {}
        blind: dict[int, list[int]] = {}
        for number, visit in enumerate(self.visits):
            row = self.focus_rows[visit.i]
            alpha = float(visit.update.alpha[row])
            if np.isneginf(self.logsumexp[visit.row + row]):
                blind.setdefault(visit.i, []).append(number)
            elif visit.update.before.l[row] > 0.0 and alpha < 1.0:
                shrinks.setdefault(visit.i, []).append((number, alpha))
        for tiles in blind.values():
            return at["maximum", tiles[min(1, len(tiles) - 1)]]
        if shrinks:
            found = shrinks[min(shrinks)]
            smallest = min(alpha for _, alpha in found)
            return at["update", next(number for number, alpha in found if alpha <= 2.0 * smallest)]
        return at["update", min(1, len(self.visits) - 1)]

    @cached_property
    def visit_order(self) -> np.ndarray:
        """Which visit a tile is, (Tr, Tc) ints; -1 for a skipped tile."""
        order = np.full(self.kinds.shape, -1)
        for number, visit in enumerate(self.visits):
            order[visit.i, visit.j] = number
        return order
