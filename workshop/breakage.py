"""What each mistake of `workshop.precision` does: where it first goes wrong, and what is wrong at the end.

A number is wrong when it lies further from float64 than the 2x rule allows. Whether a mistake shows depends on the
scores, so every pattern of workshop.score_patterns is run, and one long row of equal scores, where sums grow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from workshop import score_patterns
from workshop.precision import Rounded, limit, tiled
from workshop.score_patterns import Inputs

LONG = "long"
LONG_KEYS, _LONG_ROWS = 512, 4
PATTERNS = (*score_patterns.PATTERNS, LONG)


@dataclass(frozen=True)
class Outcome:
    """One mistake on one pattern, one format.

    fits: False when the pattern exceeds the format's range; nothing was run then. visits: tiles in all.
    first: number of the visit (from 0) after which a row first stands for a wrong output, None for never; `keys`
    (start, stop) of that tile and `row` concerned. nan, inf, wrong: output numbers at the end that are not numbers,
    infinite, or finite and off by more than `limit`; `count` of all. error: largest error of the finite ones.
    sound: largest error without the mistake. sums: smallest and largest l at the end.
    """

    pattern: str
    fits: bool
    visits: int = 0
    first: int | None = None
    keys: tuple[int, int] = (0, 0)
    row: int = 0
    nan: int = 0
    inf: int = 0
    wrong: int = 0
    count: int = 0
    error: float = np.nan
    sound: float = np.nan
    limit: float = np.nan
    sums: tuple[float, float] = (0.0, 0.0)

    @property
    def bad(self) -> int:
        """Output numbers that are wrong in any way."""
        return self.nan + self.inf + self.wrong

    @property
    def healed(self) -> bool:
        """Whether it went wrong on the way and still ended within the limit."""
        return self.first is not None and not self.bad


def make(pattern: str, N: int, d: int) -> Inputs:
    """The inputs of a pattern of PATTERNS: N rows of d, or for "long" a few rows that see LONG_KEYS equal scores."""
    if pattern != LONG:
        return score_patterns.make(pattern, N, d)
    # Values between 0 and 1: their mean stays away from 0, so a wrong sum shows in the output at its full size.
    v = np.random.default_rng(d).uniform(0.0, 1.0, (LONG_KEYS, d))
    return Inputs(LONG, np.zeros((_LONG_ROWS, d)), np.zeros((LONG_KEYS, d)), v)


@dataclass(frozen=True)
class _Sound:
    """What a run without a mistake leaves to judge by: see `outcome`."""

    problem: Rounded
    exact: np.ndarray
    room: np.ndarray
    error: float
    limit: float


@lru_cache(maxsize=64)
def _sound(
    pattern: str, N: int, d: int, Bc: int, number_format: str, order: str, causal: bool
) -> _Sound | None:
    inputs = make(pattern, N, d)
    problem = Rounded(inputs, number_format, causal=causal)
    if not problem.fits:
        return None
    run = tiled(problem, Bc, order=order)
    # The truth on the way: the same rounded inputs in float64, tile by tile.
    held = Inputs(
        pattern, *(x.astype(np.float64) for x in (problem.q, problem.k, problem.v)), problem.allowed
    )
    exact = run.partial
    if number_format != "float64":
        exact = tiled(Rounded(held, "float64"), Bc, order=order).partial
    _, allowed = limit(problem)
    # A row that has seen few keys may be further off by nature; the sound run says how far.
    room = np.maximum(allowed, 2.0 * np.abs(run.partial - exact).max(axis=(1, 2)))
    return _Sound(problem, exact, room, problem.error(run.output), allowed)


@lru_cache(maxsize=512)
def outcome(
    pattern: str, N: int, d: int, Bc: int, number_format: str, order: str, broken: str, causal: bool = False
) -> Outcome:
    """Run the mistake `broken` on a pattern, beside the sound run in the same format and in float64."""
    sound = _sound(pattern, N, d, Bc, number_format, order, causal)
    if sound is None:
        return Outcome(pattern, False)
    problem = sound.problem
    run = tiled(problem, Bc, order=order, broken=broken)
    with np.errstate(invalid="ignore", over="ignore"):
        off = np.abs(run.partial - sound.exact)
        late = ~(off <= sound.room[:, None, None])
        end = np.abs(run.output.astype(np.float64) - problem.truth)
    finite = np.isfinite(run.output)
    first = int(np.argmax(late.any(axis=(1, 2)))) if late.any() else None
    found = {}
    if first is not None:
        row = int(np.argmax(np.where(np.isnan(off[first]), np.inf, off[first]).max(axis=1)))
        found = {"first": first, "keys": run.tiles[first], "row": row}
    return Outcome(
        pattern,
        True,
        len(run.tiles),
        **found,
        nan=int(np.isnan(run.output).sum()),
        inf=int(np.isinf(run.output).sum()),
        wrong=int((finite & (end > sound.limit)).sum()),
        count=run.output.size,
        error=float(end[finite].max()) if finite.any() else np.nan,
        sound=sound.error,
        limit=sound.limit,
        sums=(float(run.sums.min()), float(run.sums.max())),
    )


def outcomes(
    N: int, d: int, Bc: int, number_format: str, order: str, broken: str, causal: bool = False
) -> tuple[Outcome, ...]:
    """The mistake on every pattern of PATTERNS, in their order."""
    return tuple(outcome(p, N, d, Bc, number_format, order, broken, causal) for p in PATTERNS)
