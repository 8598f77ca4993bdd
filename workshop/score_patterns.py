"""Small attention problems whose scores have a shape worth watching.

Each pattern is built from Q and K (not painted on S), so a step-through computes its scores as a kernel does.
Everything is a pure function of (pattern, N, d, seed).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

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


def _normal(rng: np.random.Generator, N: int, d: int):
    """The maximum rises now and then, less and less often."""
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
    """Every block beats the one before, so every block rescales."""
    return _ramp(rng, N, d, +1.0)


def _falling(rng, N, d):
    """The first block holds the maximum: no rescale after it."""
    return _ramp(rng, N, d, -1.0)


def _huge(rng, N, d):
    """One key, at two thirds of the way, towers HUGE above every row's other scores."""
    q, k, _ = _normal(rng, N, d)
    key = (2 * N) // 3
    q[:, 0] = d**0.5
    k[:, 0] = 0.5 * rng.standard_normal(N)
    # Whatever the other columns add, the key's score ends HUGE above the row's largest.
    rest = d**-0.5 * (q[:, 1:] @ k[:, 1:].T) if d > 1 else np.zeros((N, N))
    k[key, 0] = HUGE + k[:, 0].max() + rest.max() - rest[:, key].min()
    return q, k, None


def _masked(rng, N, d):
    """One query, a third of the way down, may look at no key."""
    q, k, _ = _normal(rng, N, d)
    mask = np.ones((N, N), dtype=bool)
    mask[N // 3] = False
    return q, k, mask


def _extreme(rng, N, d):
    """Every scaled score is EXTREME, so the output is the mean of V."""
    q, k = np.zeros((N, d)), np.zeros((N, d))
    q[:, 0], k[:, 0] = d**0.5, EXTREME
    return q, k, None


PATTERNS: Mapping[str, Callable] = MappingProxyType(
    {
        "random": _normal,
        "rising": _rising,
        "falling": _falling,
        "huge": _huge,
        "masked": _masked,
        "extreme": _extreme,
    }
)


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
    q, k, mask = PATTERNS[pattern](rng, N, d)
    v = rng.uniform(-1.0, 1.0, (N, d))
    return Inputs(pattern, q, k, v, mask)
