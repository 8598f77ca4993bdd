"""The running softmax: absorb the scores block by block, and rescale what is already there.

For every query row three things are kept: m, the largest score seen; l, the sum of exp(score - m); and O, the
sum of exp(score - m) v. A block with a larger score raises m, so all that was accumulated is multiplied by

    alpha = exp(m_old - m_new),      0 <= alpha <= 1.

Sources: Milakov and Gimelshein 2018, algorithm 3 (m and l); Dao et al. 2022, Algorithm 1, lines 10 to 13;
Dao 2023, Algorithm 1 (O left undivided until the end).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class State:
    """What a block of r query rows carries: m (r,), l (r,), o (r, d); float64, o not yet divided by l."""

    m: np.ndarray
    l: np.ndarray
    o: np.ndarray


@dataclass(frozen=True)
class Update:
    """One tile absorbed: the states around it and everything between them.

    s, p (r, c): scores (masked ones -inf) and exp(s - m_new). alpha (r,): the rescale factor.
    added_l (r,), added_o (r, d): what this tile adds, so after.l = alpha * before.l + added_l, and so for o.
    """

    before: State
    after: State
    s: np.ndarray
    p: np.ndarray
    alpha: np.ndarray
    added_l: np.ndarray
    added_o: np.ndarray


def empty(rows: int, d: int) -> State:
    """The state before the first block: m = -inf, l = 0, O = 0."""
    return State(np.full(rows, -np.inf), np.zeros(rows), np.zeros((rows, d)))


def rescale(m_old: np.ndarray, m_new: np.ndarray) -> np.ndarray:
    """alpha = exp(m_old - m_new), with 0 where nothing was seen before (m_old = -inf): never NaN, at most 1.

    Raises ValueError where m_new < m_old: a running maximum cannot fall.
    """
    m_old, m_new = np.asarray(m_old, dtype=np.float64), np.asarray(m_new, dtype=np.float64)
    if np.any(m_new < m_old):
        raise ValueError(f"m_new: expected at least m_old, got {m_new} after {m_old}")
    return np.exp(m_old - _shift(m_new))


def absorb(state: State, s: np.ndarray, v: np.ndarray) -> Update:
    """Absorb a tile of scores s (r, c), masked ones -inf, with its values v (c, d) into `state`."""
    if s.shape != (len(state.m), len(v)):
        raise ValueError(f"s: expected shape {(len(state.m), len(v))}, got {s.shape}")
    m = np.maximum(state.m, s.max(axis=1, initial=-np.inf))
    alpha = rescale(state.m, m)
    p = np.exp(s - _shift(m)[:, None])
    added_l, added_o = p.sum(axis=1), p @ v
    after = State(m, alpha * state.l + added_l, alpha[:, None] * state.o + added_o)
    return Update(state, after, s, p, alpha, added_l, added_o)


def finish(state: State) -> tuple[np.ndarray, np.ndarray]:
    """Divide once: (O / l (r, d), m + log l (r,)); rows that saw no key give 0 and -inf."""
    output = state.o / np.where(state.l == 0.0, 1.0, state.l)[:, None]
    with np.errstate(divide="ignore"):  # log 0 = -inf is the answer for a row without keys
        return output, _shift(state.m) + np.log(state.l)


def _shift(m: np.ndarray) -> np.ndarray:
    """m, or 0 where m is -inf: exp(-inf - 0) is 0, while exp(-inf - -inf) would be NaN."""
    return np.where(np.isneginf(m), 0.0, m)
