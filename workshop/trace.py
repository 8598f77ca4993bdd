"""One head of tiled attention written down step by step, so that it can be played, checked and metered.

`trace` runs the running softmax (workshop.online_softmax) over the tiles of a small problem in one of two
loop orders and records a step for every group of pseudocode lines: what moved, what is on the chip, and the
numbers of the tile. Bytes are counted from the arrays that move, never from a formula; tests compare them
with the ledgers.

Orders: "query-outer" is FlashAttention-2 (Dao 2023, Algorithm 1): a Q block stays, K and V stream past it.
"key-outer" is FlashAttention (Dao et al. 2022, Algorithm 1): a K,V block stays, and Q, O, m, l travel.
The chip is the teaching model's: Q, O, K, V, S (overwritten by P) and the statistics m, l, all in `dtype`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from workshop import masks
from workshop.online_softmax import State, absorb, empty, finish
from workshop.reference import may_look
from workshop.score_patterns import Inputs
from workshop.steps import TENSORS, Move, Step, Trace, Visit
from workshop.units import DTYPE_BYTES

ORDERS = ("query-outer", "key-outer")


class _Recorder:
    """Counts what moves, remembers what is on the chip, and writes the steps down."""

    def __init__(self, element_bytes: int):
        self.element_bytes = element_bytes
        self.steps: list[Step] = []
        self.visits: list[Visit] = []
        self.resident: dict[str, int] = {}
        self.read = self.written = self.done = 0

    def step(
        self, line: str, i: int = -1, j: int = -1, *, visit: int = -1, stop: bool = False, moves=()
    ) -> None:
        for move in moves:
            if move.direction == "read":
                self.read += move.elements * self.element_bytes
            else:
                self.written += move.elements * self.element_bytes
        held = {tensor: self.resident[tensor] for tensor in TENSORS if self.resident.get(tensor)}
        self.steps.append(
            Step(line, i, j, visit, self.done, tuple(moves), held, self.read, self.written, stop)
        )

    def hold(self, **elements: int) -> None:
        self.resident.update(elements)

    def free(self, *tensors: str) -> None:
        for tensor in tensors:
            self.resident.pop(tensor, None)

    def tile(self, visit: Visit) -> None:
        """The four steps that both orders share: scores, maximum, weights, update."""
        self.visits.append(visit)
        number = len(self.visits) - 1
        self.hold(s=visit.update.s.size)
        for line in ("scores", "maximum", "weights", "update"):
            self.step(line, visit.i, visit.j, visit=number, stop=line == "update")
        self.done += 1
        self.free("s")


def trace(
    inputs: Inputs,
    Br: int,
    Bc: int,
    *,
    causal: bool = False,
    order: str = "query-outer",
    dtype: str = "bf16",
    skip_masked: bool = False,
) -> Trace:
    """Run and record tiled attention on `inputs`, N rows of d, with tiles of Br x Bc (short at the edges).

    The arithmetic is float64; `dtype` sets the bytes an element takes. Tiles above the causal diagonal are
    never loaded; skip_masked: nor are those where the inputs' own mask leaves no score. Raises ValueError
    naming the option.
    """
    if order not in ORDERS:
        raise ValueError(f"order: expected one of {', '.join(ORDERS)}; got {order!r}")
    if dtype not in DTYPE_BYTES:
        raise ValueError(f"dtype: expected one of {', '.join(DTYPE_BYTES)}; got {dtype!r}")
    for name, value in (("Br", Br), ("Bc", Bc)):
        if value < 1:
            raise ValueError(f"{name}: expected a whole number of 1 or more; got {value!r}")
    N, d = inputs.q.shape
    kinds = masks.kinds(N, Br, Bc, causal)
    tiles = _Tiles(inputs, Br, Bc, may_look(N, N, causal=causal, mask=inputs.mask))
    if skip_masked:
        kinds = tiles.kinds()
    recorder = _Recorder(DTYPE_BYTES[dtype])
    output, logsumexp = np.zeros((N, d)), np.full(N, -np.inf)
    recorder.step("start", stop=True)
    walk = _query_outer if order == "query-outer" else _key_outer
    for rows, state in walk(recorder, tiles, kinds):
        output[rows], logsumexp[rows] = finish(state)
    recorder.resident.clear()
    recorder.step("compare", stop=True)
    return Trace(
        inputs,
        order,
        Br,
        Bc,
        causal,
        dtype,
        kinds,
        tuple(recorder.visits),
        tuple(recorder.steps),
        output,
        logsumexp,
    )


class _Tiles:
    """Cuts the inputs into blocks and makes the masked scores of a tile."""

    def __init__(self, inputs: Inputs, Br: int, Bc: int, allowed: np.ndarray):
        self.inputs, self.allowed = inputs, allowed
        self.N, self.d = inputs.q.shape
        self.rows = [slice(start, min(start + Br, self.N)) for start in range(0, self.N, Br)]
        self.keys = [slice(start, min(start + Bc, self.N)) for start in range(0, self.N, Bc)]

    def length(self, block: slice) -> int:
        return block.stop - block.start

    def kinds(self) -> np.ndarray:
        """masks.SKIPPED, PARTIAL or FULL of every tile, looked up in the mask."""
        return np.array(
            [
                [
                    masks.FULL if live.all() else masks.PARTIAL if live.any() else masks.SKIPPED
                    for live in (self.allowed[rows, keys] for keys in self.keys)
                ]
                for rows in self.rows
            ],
            dtype=np.int8,
        )

    def visit(self, i: int, j: int, state: State) -> Visit:
        rows, keys = self.rows[i], self.keys[j]
        s = self.inputs.scale * (self.inputs.q[rows] @ self.inputs.k[keys].T)
        s = np.where(self.allowed[rows, keys], s, -np.inf)
        return Visit(i, j, rows.start, keys.start, absorb(state, s, self.inputs.v[keys]))


def _query_outer(recorder: _Recorder, tiles: _Tiles, kinds: np.ndarray) -> Iterator[tuple[slice, State]]:
    d = tiles.d
    for i, rows in enumerate(tiles.rows):
        r = tiles.length(rows)
        recorder.hold(q=r * d, o=r * d, statistics=2 * r)
        recorder.step("load-q", i, visit=len(recorder.visits), moves=[Move("Q", "read", r * d)])
        state = empty(r, d)
        for j in np.flatnonzero(kinds[i]):
            c = tiles.length(tiles.keys[j])
            recorder.hold(k=c * d, v=c * d)
            moves = [Move("K", "read", c * d), Move("V", "read", c * d)]
            recorder.step("load-kv", i, int(j), visit=len(recorder.visits), moves=moves)
            visit = tiles.visit(i, int(j), state)
            recorder.tile(visit)
            state = visit.update.after
            recorder.free("k", "v")
        moves = [Move("O", "write", r * d), Move("logsumexp", "write", r)]
        recorder.step("store", i, visit=len(recorder.visits) - 1, moves=moves)
        recorder.free("q", "o", "statistics")
        yield rows, state


def _key_outer(recorder: _Recorder, tiles: _Tiles, kinds: np.ndarray) -> Iterator[tuple[slice, State]]:
    d = tiles.d
    # What HBM holds between visits: O divided by l, as the 2022 algorithm keeps it, with m and l beside it.
    stored: list[State | None] = [None] * len(tiles.rows)
    for j, keys in enumerate(tiles.keys):
        c = tiles.length(keys)
        recorder.hold(k=c * d, v=c * d)
        moves = [Move("K", "read", c * d), Move("V", "read", c * d)]
        recorder.step("load-kv", -1, j, visit=len(recorder.visits), moves=moves)
        for i in np.flatnonzero(kinds[:, j]):
            r, state = tiles.length(tiles.rows[i]), stored[i]
            recorder.hold(q=r * d, o=r * d, statistics=2 * r)
            moves = [Move("Q", "read", r * d)]
            if state is not None:
                moves += [Move("O", "read", r * d), Move("m, l", "read", 2 * r)]
                state = State(state.m, state.l, state.o * state.l[:, None])
            recorder.step("load-q", int(i), j, visit=len(recorder.visits), moves=moves)
            visit = tiles.visit(int(i), j, empty(r, d) if state is None else state)
            recorder.tile(visit)
            after = visit.update.after
            stored[i] = State(after.m, after.l, finish(after)[0])
            moves = [Move("O", "write", r * d), Move("m, l", "write", 2 * r)]
            recorder.step("store", int(i), j, visit=len(recorder.visits) - 1, moves=moves)
            recorder.free("q", "o", "statistics")
        recorder.free("k", "v")
    for rows, state in zip(tiles.rows, stored, strict=True):
        if state is None:  # no tile of these rows was visited: their output stays zero and is never stored
            state = empty(tiles.length(rows), d)
        yield rows, State(state.m, state.l, state.o * state.l[:, None])
