"""Where a model starts or stops beating standard attention, in traffic, and how far it can get."""

from fractions import Fraction

import numpy as np

from workshop.hardware import GPU
from workshop.masks import ceil_div
from workshop.problem import LIMITS, Problem, Tile
from workshop.residency import resident_blocks
from workshop.traffic import DEFAULT_GPU, MODELS, algorithm_1_blocks, ledger, totals


def bound_M(d: int) -> int:
    """Smallest on-chip memory, in elements, at which `bound` does not exceed `standard`: d^2 / 2, rounded up.

    Independent of N: both have 4Nd, and 2 N^2 d^2 / M <= 4 N^2 exactly when M >= d^2 / 2. Not causal.
    """
    return ceil_div(d * d, 2)


def _first(option, values, model, problem, tile, gpu):
    won = totals(model, problem, tile, gpu, **{option: values}) <= ledger("standard", problem, tile).total
    return int(values[won.argmax()]) if won.any() else None


def tiled_Br(problem: Problem, tile: Tile) -> int | None:
    """Smallest Br at which `tiled` does not exceed `standard` (d/2 for large N, not causal); None if none in
    range."""
    low, high = LIMITS["Br"]
    return _first("Br", np.arange(low, high + 1), "tiled", problem, tile, None)


def gain_limit(model: str, problem: Problem, tile: Tile, gpu: GPU | None = None) -> Fraction | None:
    """What standard / model tends to as N grows without end; None for `compulsory`, whose gain has no
    ceiling.

    bound 2M / d^2, tiled 2 Br / d, algorithm_1 4 Bc / (3d + 4) (its own Bc, statistics counted), waves 2 R Br
    / d. A causal mask doubles them, because `standard` does not skip. Raises ValueError for an unknown model.
    """
    if model not in MODELS:
        raise ValueError(f"model: expected one of {', '.join(MODELS)}; got {model!r}")
    if model == "standard":
        return Fraction(1)
    if model == "compulsory":
        return None
    d = problem.d
    if model == "bound":
        gain = Fraction(2 * tile.M(problem), d * d)
    elif model == "tiled":
        gain = Fraction(2 * tile.Br, d)
    elif model == "waves":
        gain = Fraction(2 * tile.Br * resident_blocks(gpu or DEFAULT_GPU, tile, d, problem.dtype).blocks, d)
    else:
        gain = Fraction(4 * algorithm_1_blocks(tile.M(problem), d)[1], 3 * d + 4)
    return gain * (2 if problem.causal else 1)
