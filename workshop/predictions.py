"""Three answers worth guessing first, each with the curve that it sits on.

crossover   the N from which `bound` is limited by arithmetic: intensity >= ridge
best_Br     the block of queries that moves the fewest bytes under the budget, spill counted
speedup     time of `standard` over time of `bound`, lower bounds, at the reader's N
"""

from dataclasses import dataclass, replace

import numpy as np

from workshop import roofline, sram
from workshop.hardware import GPU
from workshop.problem import LIMITS, Problem, Tile


@dataclass(frozen=True)
class Curve:
    """A model's curve: x and y (1-D arrays, finite, positive) and its name."""

    name: str
    x: np.ndarray
    y: np.ndarray


def intensity(model: str, problem: Problem, tile: Tile, gpu: GPU, N: int) -> float:
    """FLOP a byte of a layer of N tokens."""
    return roofline.time(model, replace(problem, N=N), tile, gpu).intensity


def crossover(problem: Problem, tile: Tile, gpu: GPU) -> int | None:
    """An N whose intensity under `bound` reaches the GPU's ridge while that of N - 1 does not; None if no N does.

    Without a mask intensity rises with N, so this is the smallest such N. A causal mask makes it saw-toothed by a
    tile; then it is a crossing near the smallest.
    """
    ridge = gpu.ridge(problem.dtype)
    low, high = LIMITS["N"]
    if intensity("bound", problem, tile, gpu, low) >= ridge:
        return low
    if intensity("bound", problem, tile, gpu, high) < ridge:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        if intensity("bound", problem, tile, gpu, middle) >= ridge:
            high = middle
        else:
            low = middle
    return high


def lengths(points: int = 41) -> np.ndarray:
    """Round-numbered N over the whole range, 1-D, for curves."""
    low, high = LIMITS["N"]
    return np.unique(np.geomspace(low, high, points).round().astype(np.int64))


def intensity_curve(model: str, problem: Problem, tile: Tile, gpu: GPU) -> Curve:
    """Intensity against N, FLOP/B."""
    N = lengths()
    return Curve(model, N, np.array([intensity(model, problem, tile, gpu, int(n)) for n in N]))


def block_curve(problem: Problem, tile: Tile, gpu: GPU) -> Curve:
    """Bytes a head against Br at the reader's Bc, spill counted, for every Br in range."""
    Br = np.arange(LIMITS["Br"][0], LIMITS["Br"][1] + 1)
    found = sram.landscape(problem, tile.sram, Br, [tile.Bc], gpu)
    return Curve("tiled", Br, found["traffic_bytes"][:, 0])


def best_Br(problem: Problem, tile: Tile, gpu: GPU) -> int:
    """The smallest Br with the fewest bytes, at the reader's Bc and budget."""
    curve = block_curve(problem, tile, gpu)
    return int(curve.x[curve.y.argmin()])


def speedup(problem: Problem, tile: Tile, gpu: GPU) -> float:
    """Time of `standard` over time of `bound`, both lower bounds of the roofline."""
    slow, fast = (roofline.time(model, problem, tile, gpu).lower for model in ("standard", "bound"))
    return slow / fast


def speedup_curve(problem: Problem, tile: Tile, gpu: GPU) -> Curve:
    """`speedup` against N."""
    N = lengths()
    y = np.array([speedup(replace(problem, N=int(n)), tile, gpu) for n in N])
    return Curve("speedup", N, y)
