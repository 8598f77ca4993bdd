"""A schematic model of a kernel's inner loop: which unit of a multiprocessor is busy when.

Each generation's loop is a list of tasks in program order. A task waits for the tasks it needs and for its unit;
a unit takes its tasks in order. Durations are counts over rates, in clocks of one multiprocessor:

    matmul       2 rows Bc d FLOP, twice a tile       / tensor-core rate
    exponential  rows Bc exponentials                 / rate of the special function units
    polynomial   those computed in software           / fp32 rate
    rescale      rows d multiplications               / fp32 rate
    load, store  bytes of the tiles                   / the multiprocessor's share of the L2 rate

Launch, latency, synchronisation, the maximum and the sum are left out, so this is a bound on what the order of the
loop allows, not a forecast. Real kernels reach less; `Generation.published` says how much.
"""

from dataclasses import dataclass

from workshop.generations import POLYNOMIAL_OPERATIONS, Generation, Units
from workshop.problem import Problem, Tile

LANES = ("load", "matmul", "exponential", "rescale")
KINDS = ("load", "scores", "softmax", "polynomial", "rescale", "output", "store")
# the last visits are left out of the pace: the loop ends there and units run empty
_WARM_UP, _MEASURED, _TAIL = 4, 8, 2


@dataclass(frozen=True)
class Task:
    """One piece of work. lane: the unit; kind: "load", "store", "scores", "softmax", "polynomial", "rescale" or
    "output"; visit: number of the tile of K, V (or of Q when K, V stay); part: which query tile; start, end:
    clocks; needs: numbers of the tasks it waited for."""

    lane: str
    kind: str
    visit: int
    part: int
    start: float
    end: float
    needs: tuple[int, ...]


@dataclass(frozen=True)
class Schedule:
    """What one multiprocessor does.

    tasks: in program order. period: clocks a visit once the loop runs evenly. work: {lane: clocks a visit}.
    shared: clocks a visit that shared memory needs at least (Q, K and V once to the tensor cores, P stays in
    registers); it is not a lane, because it works under the matmuls. chain: the kinds of task, in the order of
    KINDS, that follow one another without a gap and so set the period; all others work beside them.
    """

    tasks: tuple[Task, ...]
    period: float
    work: dict[str, float]
    shared: float
    chain: tuple[str, ...]

    def busy(self, lane: str) -> float:
        """Share of the time the unit works, once the loop runs evenly."""
        return self.work[lane] / self.period

    @property
    def binding(self) -> str:
        """The busiest lane, or "shared" when shared memory would need more time than the loop takes."""
        if self.shared > self.period * (1 + 1e-9):
            return "shared"
        return max(LANES, key=self.work.__getitem__)

    @property
    def serial(self) -> bool:
        """Whether no unit is busy all the time: they wait for one another."""
        return max(self.work.values()) < self.period * (1 - 1e-6)


def durations(generation: Generation, units: Units, problem: Problem, tile: Tile) -> dict[str, float]:
    """Clocks of one task of each kind, for one query tile of `tile_share` x Br rows."""
    rows, Bc, d, size = tile.Br * generation.tile_share, tile.Bc, problem.d, problem.element_bytes
    l2 = units.l2 / units.record.sms
    scores = rows * Bc
    product = 2 * scores * d / units.tensor_rate(problem.dtype)
    return {
        # one tile of K or of V; with K and V staying, a block of Q and of O
        "load": (Bc if generation.query_outer else 2 * rows) * d * size / l2,
        "store": 0.0 if generation.query_outer else rows * d * size / l2,
        "scores": product,
        "output": product,
        "softmax": scores * (1 - generation.emulated) / units.exponential,
        "polynomial": scores * generation.emulated * POLYNOMIAL_OPERATIONS / units.fp32,
        "rescale": rows * d * generation.rescaled / units.fp32,
    }


class _Loop:
    """Places tasks one after another."""

    def __init__(self, lengths: dict[str, float]) -> None:
        self.lengths, self.tasks, self.free = lengths, [], {}

    def add(self, lane: str, kind: str, visit: int, part: int, needs) -> int | None:
        """Place a task as early as it can run; returns its number, None for one that takes no time."""
        if not self.lengths[kind]:
            return None
        needs = tuple(n for n in needs if n is not None)
        start = max([self.free.get(lane, 0.0), *(self.tasks[n].end for n in needs)])
        end = start + self.lengths[kind]
        self.free[lane] = end
        self.tasks.append(Task(lane, kind, visit, part, start, end, needs))
        return len(self.tasks) - 1


def _keys_outer(loop: _Loop, visits: int) -> None:
    """K and V stay; Q and O of each block of queries come and go, one thing after another."""
    done = None
    for visit in range(visits):
        load = loop.add("load", "load", visit, 0, [done])
        scores = loop.add("matmul", "scores", visit, 0, [load])
        soft = loop.add("exponential", "softmax", visit, 0, [scores])
        rescale = loop.add("rescale", "rescale", visit, 0, [soft])
        output = loop.add("matmul", "output", visit, 0, [soft, rescale])
        done = loop.add("load", "store", visit, 0, [output])


def _queries_outer(generation: Generation, loop: _Loop, visits: int) -> None:
    """Q and O stay; K and V arrive ahead of time in `stages` buffers.

    With two query tiles, one multiplies while the other exponentiates: O of a tile and its next S are issued
    together, then the tensor cores turn to the other tile.
    """
    parts = range(generation.query_tiles)
    keys: dict[int, int | None] = {}
    values: dict[int, int | None] = {}
    scores: dict[tuple[int, int], int | None] = {}
    outputs: dict[tuple[int, int], int | None] = {}
    soft: dict[tuple[int, int], list[int | None]] = {}

    def fetch(loads: dict, readers: dict, visit: int) -> None:
        """Load a tile once the tile that has its buffer was read for the last time."""
        if visit < visits:
            before = [readers.get((visit - generation.stages, part)) for part in parts]
            loads[visit] = loop.add("load", "load", visit, 0, before)

    def begin(visit: int, part: int) -> None:
        """S of a tile, then what its warps do with it."""
        scores[visit, part] = now = loop.add("matmul", "scores", visit, part, [keys[visit]])
        if part == parts[-1]:
            fetch(keys, scores, visit + generation.stages)
        weights = loop.add("exponential", "softmax", visit, part, [now])
        polynomial = loop.add("rescale", "polynomial", visit, part, [now])
        # warps of their own rescale as soon as the maximum is known; else the same warps do it afterwards
        free = now if generation.apart else weights
        rescale = loop.add("rescale", "rescale", visit, part, [free, outputs.get((visit - 1, part))])
        soft[visit, part] = [weights, polynomial, rescale]

    for visit in range(generation.stages):
        fetch(keys, scores, visit)
        fetch(values, outputs, visit)
    for part in parts:
        begin(0, part)
    for visit in range(visits):
        for part in parts:
            outputs[visit, part] = loop.add(
                "matmul", "output", visit, part, [*soft[visit, part], values[visit]]
            )
            if part == parts[-1]:
                fetch(values, outputs, visit + generation.stages)
            if visit + 1 < visits:
                begin(visit + 1, part)


def _chain(tasks: list[Task], last: int, since: float) -> tuple[str, ...]:
    """Kinds of the tasks that lead to task `last` without a gap, back to the time `since`."""
    before: dict[str, int] = {}
    waited = []  # for each task, those that it may have waited for: its needs and the one before it on its lane
    for number, task in enumerate(tasks):
        waited.append((*task.needs, before[task.lane]) if task.lane in before else task.needs)
        before[task.lane] = number
    kinds, at = set(), last
    while tasks[at].end > since:
        kinds.add(tasks[at].kind)
        if not waited[at]:
            break
        at = max(waited[at], key=lambda number: tasks[number].end)
    return tuple(kind for kind in KINDS if kind in kinds)


def schedule(generation: Generation, units: Units, problem: Problem, tile: Tile) -> Schedule:
    """Play the loop of `generation` on a multiprocessor of `units` for the reader's d, dtype, Br and Bc.

    The tasks are those of the first visits and enough more to see the even pace; N does not matter.
    """
    lengths = durations(generation, units, problem, tile)
    loop = _Loop(lengths)
    visits = _WARM_UP + _MEASURED + _TAIL
    if generation.query_outer:
        _queries_outer(generation, loop, visits)
    else:
        _keys_outer(loop, visits)
    last = generation.query_tiles - 1
    outputs = {t.visit: n for n, t in enumerate(loop.tasks) if t.kind == "output" and t.part == last}
    final = _WARM_UP + _MEASURED - 1
    since = loop.tasks[outputs[_WARM_UP - 1]].end
    period = (loop.tasks[outputs[final]].end - since) / _MEASURED
    work = dict.fromkeys(LANES, 0.0)
    for task in loop.tasks:
        if task.visit == final:
            work[task.lane] += task.end - task.start
    rows = tile.Br * generation.tile_share * generation.query_tiles
    operands = (rows + 2 * tile.Bc * generation.query_tiles) * problem.d * problem.element_bytes
    chain = _chain(loop.tasks, outputs[final], since)
    return Schedule(tuple(loop.tasks), period, work, operands / units.shared, chain)
