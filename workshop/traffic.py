"""Six models of what attention moves to and from memory, per head and forward pass, as ledgers in elements.

All are right; each counts at another boundary or for another algorithm (Dao et al., FlashAttention, 2022;
Dao, FlashAttention-2, 2023):

standard     every matrix of the textbook algorithm through memory: 4Nd + 4N^2.
bound        Theorem 2 with the constant 2 in its Theta(): 4Nd + 2N^2 d^2 / M. But for 2Nd it is `tiled` with
             all of M spent on the Q block (Br = M/d). M is the tile's `sram` in elements of the dtype.
tiled        Q block on the outer loop (FlashAttention-2 order), what a kernel asks of the level above shared
             memory: 2Nd + 2Nd Tr.
algorithm_1  K,V block on the outer loop (the 2022 paper's Algorithm 1), with that paper's block sizes for M.
compulsory   every input read once, every output written once: 4Nd.
waves        what DRAM sees when a head's K,V exceed the L2 cache: R blocks resident at once stream K,V
             together, so 2Nd + 2Nd ceil(Tr / R). It is `tiled` for a Q block of R Br rows, counted as if the
             head had the chip alone (`workshop.waves` has several).

Causal problems: `tiled`, `waves` and `algorithm_1` read visited tiles only, whole tiles, at their true size
at the ragged end. `bound` keeps its continuous form: a Q block of Br = M/d rows reads the keys up to its own
last row, which turns 2N^2 d^2 / M into N^2 d^2 / M (1 + min(1, M / Nd)). `compulsory` is unchanged.
`standard` does not skip (PyTorch eager does not) unless `skip_masked=True`, which counts the N(N+1)/2 live
scores of S and P.
"""

from typing import TypedDict, Unpack

import numpy as np

from workshop import masks
from workshop.hardware import DEFAULT_GPU, GPU
from workshop.ledger import Ledger, Line
from workshop.masks import ceil_div
from workshop.problem import LIMITS, Problem, Tile
from workshop.residency import occupancy, resident_blocks

__all__ = ["MODELS", "algorithm_1_blocks", "ledger", "resident_blocks", "totals"]

MODELS = ("standard", "bound", "tiled", "algorithm_1", "compulsory", "waves")


def algorithm_1_blocks(M, d):
    """Block sizes of Algorithm 1, (Br, Bc): Bc = ceil(M / 4d), Br = min(Bc, d). M in elements; ints or
    arrays."""
    Bc = ceil_div(M, 4 * d)
    return (np.minimum(Bc, d) if isinstance(Bc, np.ndarray) or isinstance(d, np.ndarray) else min(Bc, d)), Bc


def _standard(N, d, causal, scale_pass, mask_pass, skip_masked):
    scores = masks.unmasked_elements(N, causal and skip_masked)
    yield "Q", "read", N * d, "for the scores S = Q K^T"
    yield "K", "read", N * d, "for the scores"
    yield "S", "write", scores, "the score matrix does not fit on the chip"
    if scale_pass:
        yield "S", "read", scores, "a pass of its own to scale by 1/sqrt(d)"
        yield "S", "write", scores, "scaled scores"
    if mask_pass:
        yield "S", "read", scores, "a pass of its own to mask"
        yield "S", "write", scores, "masked scores"
    yield "S", "read", scores, "for the softmax"
    yield "P", "write", scores, "the softmax of each row"
    yield "P", "read", scores, "for the output O = P V"
    yield "V", "read", N * d, "for the output"
    yield "O", "write", N * d, "the output"


def _once(N, d, training):
    """Q, K, V in and O out, and in training the one number a row that the backward pass needs."""
    yield "Q", "read", N * d, "once"
    yield "K", "read", N * d, "once"
    yield "V", "read", N * d, "once"
    yield "O", "write", N * d, "once"
    if training:
        yield "logsumexp", "write", N, "one a row, for the backward pass"


def _bound(N, d, M, causal, training):
    yield from _once(N, d, training)
    if not causal:
        again = ceil_div(2 * N * N * d * d, M)
    else:
        # N^2 d^2 / M (1 + min(1, M / Nd)); the second term is exactly Nd once the Q block is shorter than N.
        square = N * N * d * d
        several, one = ceil_div(square, M) + N * d, ceil_div(2 * square, M)
        again = (
            np.where(M < N * d, several, one)
            if isinstance(one, np.ndarray)
            else several
            if M < N * d
            else one
        )
    yield "K, V", "read", again, "2N²d²/M: again for every Q block of M/d rows (rounded up)"


def _query_outer(N, d, rows, why, training):
    yield "Q", "read", N * d, "each block once"
    yield "K", "read", rows * d, why
    yield "V", "read", rows * d, why
    yield "O", "write", N * d, "each block once, when its row of tiles is complete"
    if training:
        yield "logsumexp", "write", N, "one a row, for the backward pass"


def _key_outer(N, d, rows, statistics):
    yield "K", "read", N * d, "each block once"
    yield "V", "read", N * d, "each block once"
    yield "Q", "read", rows * d, "again for every K,V block"
    yield "O", "read", (rows - N) * d, "the unfinished output, for every K,V block but the first"
    yield "O", "write", rows * d, "the unfinished output, for every K,V block"
    if statistics:
        yield "m, l", "read", 2 * (rows - N), "running maximum and sum, for every K,V block but the first"
        yield "m, l", "write", 2 * rows, "running maximum and sum, for every K,V block"


class Switches(TypedDict, total=False):
    """What a model may be asked to count besides, all off but `statistics`.

    scale_pass, mask_pass: extra trips of S in `standard`, 2N^2 each. skip_masked: `standard` touches live scores
    only (causal). training: also write the logsumexp (N elements; `standard` keeps the P it wrote anyway,
    `algorithm_1` its statistics). statistics: False leaves m and l out of `algorithm_1`, as the paper's Figure 2
    does. blocks: (Br, Bc) for `algorithm_1` instead of its own sizes.
    """

    scale_pass: bool
    mask_pass: bool
    skip_masked: bool
    training: bool
    statistics: bool
    blocks: tuple[int, int] | None


def _transfers(
    model, N, d, Br, Bc, M, R, causal, *, scale_pass=False, mask_pass=False, skip_masked=False, training=False,
    statistics=True, blocks=None,
):  # fmt: skip
    """The lines of a model as (tensor, direction, elements, why); elements are ints or arrays, as the inputs
    are."""
    if model == "standard":
        return _standard(N, d, causal, scale_pass, mask_pass, skip_masked)
    if model == "bound":
        return _bound(N, d, M, causal, training)
    if model == "tiled":
        return _query_outer(N, d, masks.kv_rows(N, Br, Bc, causal), "again for every Q block", training)
    if model == "waves":
        # One wave of R resident blocks behaves as one Q block of R Br rows.
        rows = masks.kv_rows(N, Br * R, Bc, causal)
        return _query_outer(N, d, rows, "again for every wave of resident Q blocks", training)
    if model == "algorithm_1":
        Br, Bc = blocks or algorithm_1_blocks(M, d)
        return _key_outer(N, d, masks.q_rows(N, Br, Bc, causal), statistics)
    if model == "compulsory":
        return _once(N, d, training)
    raise ValueError(f"model: expected one of {', '.join(MODELS)}; got {model!r}")


def ledger(
    model: str, problem: Problem, tile: Tile, gpu: GPU | None = None, **switches: Unpack[Switches]
) -> Ledger:
    """The traffic of one head in one forward pass, in elements; exact Python ints.

    model: one of MODELS. gpu: used by `waves` alone (default DEFAULT_GPU). switches: see `Switches`. `bound` is
    fractional and rounded up to a whole element. Raises ValueError for an unknown model, TypeError for an unknown
    switch.
    """
    resident = 1
    if model == "waves":
        resident = resident_blocks(gpu or DEFAULT_GPU, tile, problem.d, problem.dtype).blocks
    M = tile.M(problem)
    lines = _transfers(model, problem.N, problem.d, tile.Br, tile.Bc, M, resident, problem.causal, **switches)
    return Ledger(model, tuple(Line(*line) for line in lines))


def totals(
    model: str,
    problem: Problem,
    tile: Tile,
    gpu: GPU | None = None,
    *,
    N=None,
    d=None,
    Br=None,
    Bc=None,
    sram=None,
    **switches: Unpack[Switches],
) -> np.ndarray:
    """`ledger(...).total` over arrays: any of N, d, Br, Bc, sram may be given as integer arrays that
    broadcast together.

    What is not given is taken from `problem` and `tile`. Returns int64, exact: inside `problem.LIMITS` no
    intermediate reaches 2^58. Values outside LIMITS raise ValueError.
    """
    given = {
        "N": problem.N if N is None else N,
        "d": problem.d if d is None else d,
        "Br": tile.Br if Br is None else Br,
        "Bc": tile.Bc if Bc is None else Bc,
        "sram": tile.sram if sram is None else sram,
    }
    arrays = np.broadcast_arrays(*(np.asarray(value) for value in given.values()))
    for option, array in zip(given, arrays, strict=True):
        low, high = LIMITS[option]
        if not np.issubdtype(array.dtype, np.integer) or (
            array.size and not low <= array.min() <= array.max() <= high
        ):
            raise ValueError(
                f"{option}: expected whole numbers from {low:,} to {high:,}; got {given[option]!r}"
            )
    N, d, Br, Bc, sram = (array.astype(np.int64) for array in arrays)
    resident = 1
    if model == "waves":
        gpu = gpu or DEFAULT_GPU
        resident = np.maximum(1, occupancy(gpu, Br, Bc, d, problem.element_bytes)["blocks"]) * gpu.sms
    M = sram * 1024 // problem.element_bytes
    lines = _transfers(model, N, d, Br, Bc, M, resident, problem.causal, **switches)
    return sum(elements for _, _, elements, _ in lines)
