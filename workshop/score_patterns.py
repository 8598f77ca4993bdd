"""Small attention problems whose scores have a shape worth watching.

Each pattern is built from Q and K (not painted on S), so a step-through computes its scores as a kernel does.
Everything is a pure function of (pattern, N, d, seed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

# The ramp spans this much from the first key to the last, so the oldest block still leaves a visible trace.
RAMP = 6.0
HUGE = 40.0
EXTREME = -2.45e5
LONGEST = 64


@dataclass(frozen=True)
class Inputs:
    """q, k, v (N, d) float64; mask (N, N) True where a query may look at a key, or None for everywhere."""

    pattern: str
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    mask: np.ndarray | None = None

    @property
    def scale(self) -> float:
        """The factor of Q K^T, 1/sqrt(d)."""
        return self.q.shape[1] ** -0.5


@dataclass(frozen=True)
class Pattern:
    """A score pattern: `name` for a menu, `what` it does to the running maximum, and how to make it."""

    slug: str
    name: str
    what: str
    build: Callable[[np.random.Generator, int, int], tuple[np.ndarray, np.ndarray, np.ndarray | None]]


def _normal(rng: np.random.Generator, N: int, d: int):
    return rng.standard_normal((N, d)), 1.5 * rng.standard_normal((N, d)), None


def _ramp(rng: np.random.Generator, N: int, d: int, sign: float):
    """Scores that rise (or fall) strictly from key to key in every row, whatever the tile width."""
    q, k, _ = _normal(rng, N, d)
    step = RAMP / max(N - 1, 1)
    q[:, 0] = d**0.5
    k[:, 0] = sign * step * (np.arange(N) - (N - 1) / 2)
    if d > 1:
        # Two neighbouring keys may differ by at most half a step through the other columns.
        noise = d**-0.5 * np.abs(q[:, 1:] @ k[:, 1:].T).max()
        k[:, 1:] *= min(1.0, step / (4 * noise))
    return q, k, None


def _rising(rng, N, d):
    return _ramp(rng, N, d, +1.0)


def _falling(rng, N, d):
    return _ramp(rng, N, d, -1.0)


def _huge(rng, N, d):
    q, k, _ = _normal(rng, N, d)
    key = (2 * N) // 3
    q[:, 0] = d**0.5
    k[:, 0] = 0.5 * rng.standard_normal(N)
    # Whatever the other columns add, the key's score ends HUGE above the row's largest.
    rest = d**-0.5 * (q[:, 1:] @ k[:, 1:].T) if d > 1 else np.zeros((N, N))
    k[key, 0] = HUGE + k[:, 0].max() + rest.max() - rest[:, key].min()
    return q, k, None


def _masked(rng, N, d):
    q, k, _ = _normal(rng, N, d)
    mask = np.ones((N, N), dtype=bool)
    mask[N // 3] = False
    return q, k, mask


def _extreme(rng, N, d):
    q, k = np.zeros((N, d)), np.zeros((N, d))
    q[:, 0], k[:, 0] = d**0.5, EXTREME
    return q, k, None


PATTERNS = {
    pattern.slug: pattern
    for pattern in (
        Pattern("random", "Random", "the maximum rises now and then, and less and less often", _normal),
        Pattern(
            "rising", "Rising maxima", "every block beats the one before, so every block rescales", _rising
        ),
        Pattern(
            "falling", "Falling maxima", "the first block holds the maximum: no rescale after it", _falling
        ),
        Pattern("huge", "One huge logit", "one key towers 40 above the rest and wipes what was there", _huge),
        Pattern(
            "masked", "A fully masked row", "one query may look at no key: its output is 0, not NaN", _masked
        ),
        Pattern(
            "extreme",
            "All at −245,000",
            "every scaled score is −2.45e5: the output is the mean of V",
            _extreme,
        ),
    )
}


def make(pattern: str, N: int, d: int, seed: int = 0) -> Inputs:
    """The inputs of a pattern, N from 1 to 64 rows, d from 1 to 256 columns.

    Raises ValueError that names the option, what was expected and what was given.
    """
    if pattern not in PATTERNS:
        raise ValueError(f"pattern: expected one of {', '.join(PATTERNS)}; got {pattern!r}")
    for name, value, most in (("N", N, LONGEST), ("d", d, 256)):
        if not 1 <= value <= most:
            raise ValueError(f"{name}: expected a whole number from 1 to {most}; got {value!r}")
    rng = np.random.default_rng([seed, N, d])
    q, k, mask = PATTERNS[pattern].build(rng, N, d)
    v = rng.uniform(-1.0, 1.0, (N, d))
    return Inputs(pattern, q, k, v, mask)
