"""Traffic, FLOPs and time of forward and backward together, standard and flash, line by line.

Standard backward is Algorithm 3 of Dao et al., FlashAttention (2022): five kernels and four products of stored
P, 8Nd + 7N^2 elements a head. FlashAttention's backward recomputes the scores tile by tile, K,V blocks on the
outer loop: Q, dO and the row statistics come in again for each K,V block, and dQ goes out and back, because
every K,V block adds to it. Three boundaries, as in `traffic`:

bound       every input and output once, and 8 N^2 d^2 / M: what the loop would cost if a whole budget of M
            elements held one block of K and V (Bc = M / 2d). Theorem 5 of the paper with a constant put in.
tiled       the loop at the reader's Br, Bc: what a kernel asks of the level above shared memory.
compulsory  every input and output once: what the memory sees when a cache catches each second reading.

All lines count elements of the problem's dtype. Real kernels sum dQ in fp32, which doubles that line in bytes.
"""

from __future__ import annotations

import numpy as np

from workshop import masks, roofline, traffic
from workshop.hardware import DEFAULT_GPU, GPU
from workshop.ledger import Ledger, Line
from workshop.masks import ceil_div
from workshop.problem import Problem, Tile

BOUNDARIES = ("bound", "tiled", "compulsory")
MODELS = ("standard", *BOUNDARIES)


def _standard(N, d):
    strip, square = N * d, N * N
    yield "P", "read", square, "kept since the forward pass; for dV = Pᵀ dO"
    yield "dO", "read", strip, "for dV"
    yield "dV", "write", strip, "a result"
    yield "dO", "read", strip, "for dP = dO Vᵀ"
    yield "V", "read", strip, "for dP"
    yield "dP", "write", square, "does not fit on the chip"
    yield "P", "read", square, "for dS = P ∘ (dP − D)"
    yield "dP", "read", square, "for dS"
    yield "dS", "write", square, "does not fit on the chip"
    yield "dS", "read", square, "for dQ = dS K"
    yield "K", "read", strip, "for dQ"
    yield "dQ", "write", strip, "a result"
    yield "dS", "read", square, "for dK = dSᵀ Q"
    yield "Q", "read", strip, "for dK"
    yield "dK", "write", strip, "a result"


def _once(N, d):
    strip = N * d
    for name in ("Q", "K", "V", "O", "dO"):
        yield name, "read", strip, "once"
    yield "logsumexp", "read", N, "one a row, kept since the forward pass"
    for name in ("dQ", "dK", "dV"):
        yield name, "write", strip, "a result"


def _bound(N, d, M, causal):
    yield from _once(N, d)
    cube = N * N * d * d
    again = ceil_div(8 * cube, M)
    if causal:
        # A block of Bc = M / 2d keys is seen by the rows from its first one on: half of them and half a block.
        halved = ceil_div(4 * cube, M) + 2 * N * d
        again = np.where(M < 2 * N * d, halved, again) if isinstance(again, np.ndarray) else again
        if not isinstance(again, np.ndarray) and M < 2 * N * d:
            again = halved
    yield "Q, dO, dQ", "read", again, "8N²d²/M: again for every K,V block of M/2d rows (rounded up)"


def _tiled(N, d, rows):
    """rows: rows of Q blocks visited, summed over the K,V blocks."""
    strip = N * d
    yield "O", "read", strip, "for D = rowsum(dO ∘ O), before the loop"
    yield "dO", "read", strip, "for D"
    yield "D", "write", N, "one a row"
    yield "K", "read", strip, "each block once"
    yield "V", "read", strip, "each block once"
    yield "Q", "read", rows * d, "again for every K,V block"
    yield "dO", "read", rows * d, "again for every K,V block"
    yield "logsumexp, D", "read", 2 * rows, "again for every K,V block"
    yield "dQ", "read", (rows - N) * d, "the unfinished sum, for every K,V block but the first"
    yield "dQ", "write", rows * d, "the unfinished sum, for every K,V block"
    yield "dK", "write", strip, "each block once, when its column of tiles is complete"
    yield "dV", "write", strip, "each block once"


def _lines(model, N, d, Br, Bc, M, causal):
    if model == "standard":
        return _standard(N, d)
    if model == "bound":
        return _bound(N, d, M, causal)
    if model == "tiled":
        return _tiled(N, d, masks.q_rows(N, Br, Bc, causal))
    if model == "compulsory":
        return _once(N, d)
    raise ValueError(f"model: expected one of {', '.join(MODELS)}; got {model!r}")


def backward(model: str, problem: Problem, tile: Tile) -> Ledger:
    """The backward pass of one head, in elements, exact. Raises ValueError for a model not in MODELS."""
    lines = _lines(model, problem.N, problem.d, tile.Br, tile.Bc, tile.M(problem), problem.causal)
    return Ledger(model, tuple(Line(*line) for line in lines))


def forward(model: str, problem: Problem, tile: Tile) -> Ledger:
    """The forward pass of one head when a backward pass will follow: FlashAttention writes its logsumexp too."""
    return traffic.ledger(model, problem, tile, training=True)


def both(model: str, problem: Problem, tile: Tile) -> Ledger:
    """Forward and backward of one head, one after the other."""
    lines = (*forward(model, problem, tile).lines, *backward(model, problem, tile).lines)
    return Ledger(model, lines)


def totals(model: str, problem: Problem, tile: Tile, N) -> tuple[np.ndarray, np.ndarray]:
    """(forward, backward) elements of one head over an integer array of N; int64, exact, equal to the ledgers."""
    N = np.asarray(N, dtype=np.int64)
    ahead = traffic.totals(model, problem, tile, N=N, training=True)
    lines = _lines(model, N, np.int64(problem.d), tile.Br, tile.Bc, tile.M(problem), problem.causal)
    return ahead, sum(elements for _, _, elements, _ in lines)


def scores(model: str, problem: Problem, tile: Tile, N) -> np.ndarray:
    """Scores that one head computes, over an integer array of N: all N^2, or those of visited tiles."""
    N = np.asarray(N, dtype=np.int64)
    if model == "standard":
        return N * N
    return masks.visited_elements(N, tile.Br, tile.Bc, problem.causal)


def flops(model: str, problem: Problem, tile: Tile, N) -> tuple[np.ndarray, np.ndarray]:
    """(forward, backward) FLOPs of a layer over an array of N, float64; `roofline.flops` at each N."""
    computed = scores(model, problem, tile, N)
    ahead, back = (roofline.products(model, way) for way in ("forward", "backward"))
    return roofline.work(computed, problem, ahead), roofline.work(computed, problem, back)


def times(model: str, problem: Problem, tile: Tile, N, gpu: GPU | None = None) -> np.ndarray:
    """Seconds of a layer, forward and backward, over an array of N.

    Each pass takes the larger of its arithmetic at peak and its traffic at data-sheet bandwidth (a bound from
    below, see `roofline`); the backward pass starts when the forward pass is done, so the two add up.
    """
    gpu = gpu or DEFAULT_GPU
    per_element = float(problem.element_bytes * problem.heads) / gpu.bandwidth
    rate = gpu.rate(problem.dtype).flops
    moved = totals(model, problem, tile, N)
    work = flops(model, problem, tile, N)
    return sum(np.maximum(f / rate, e * per_element) for f, e in zip(work, moved, strict=True))


def time(
    model: str, problem: Problem, tile: Tile, gpu: GPU | None = None
) -> tuple[roofline.Time, roofline.Time]:
    """(forward, backward) of a layer as `roofline.Time`."""
    return tuple(
        roofline.time_of(
            make(model, problem, tile), roofline.flops(problem, model, tile, direction=way), problem, gpu
        )
        for make, way in ((forward, "forward"), (backward, "backward"))
    )


def recompute_seconds(problem: Problem, gpu: GPU | None = None) -> float:
    """Seconds to compute one score again, 2d FLOPs, with the whole chip at its dense peak."""
    return 2 * problem.d / (gpu or DEFAULT_GPU).rate(problem.dtype).flops


def read_seconds(problem: Problem, gpu: GPU | None = None) -> float:
    """Seconds to read one stored weight at data-sheet bandwidth."""
    return problem.element_bytes / (gpu or DEFAULT_GPU).bandwidth


def cheapest_head(problem: Problem, gpu: GPU | None = None) -> float:
    """The head size d at which computing a score again takes as long as reading a stored weight once.

    2d / peak = bytes / bandwidth, so d = ridge x bytes / 2. Below it, recomputing wins even against one reading.
    """
    return (gpu or DEFAULT_GPU).ridge(problem.dtype) * problem.element_bytes / 2
