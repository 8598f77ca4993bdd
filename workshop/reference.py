"""Attention in float64, computed the long way: the answer that every other computation here is judged by.

Source: Vaswani et al. 2017, equation 1; the causal mask is aligned bottom-right when the two lengths differ,
as in flash-attn since version 2.1; a row that may look at no key gives 0 (not NaN) and a logsumexp of -inf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Attention:
    """Result of one head: `output` (Nq, d), `logsumexp` (Nq,), and `scores`, `weights` (Nq, Nk), float64."""

    output: np.ndarray
    logsumexp: np.ndarray
    scores: np.ndarray
    weights: np.ndarray


def check_shapes(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
    """Raise ValueError unless q is (Nq, d) and k, v are (Nk, d) with the same d."""
    for name, array in (("q", q), ("k", k), ("v", v)):
        if array.ndim != 2:
            raise ValueError(f"{name}: expected 2 dimensions (rows, d), got shape {array.shape}")
    if q.shape[1] != k.shape[1]:
        raise ValueError(f"k: expected d={q.shape[1]} columns like q, got {k.shape[1]}")
    if v.shape != k.shape:
        raise ValueError(f"v: expected shape {k.shape} like k, got {v.shape}")


def may_look(rows: int, columns: int, *, causal: bool = False, mask: np.ndarray | None = None) -> np.ndarray:
    """Which query may look at which key, as booleans (rows, columns).

    Causal: query r sees key c when c - columns <= r - rows, so the last query sees every key.
    `mask` (rows, columns), True where allowed, is applied on top.
    """
    allowed = np.ones((rows, columns), dtype=bool)
    if causal:
        allowed = np.arange(columns)[None, :] <= np.arange(rows)[:, None] + (columns - rows)
    if mask is not None:
        if mask.shape != allowed.shape:
            raise ValueError(f"mask: expected shape {allowed.shape}, got {mask.shape}")
        allowed = allowed & mask.astype(bool)
    return allowed


def attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    causal: bool = False,
    mask: np.ndarray | None = None,
    scale: float | None = None,
) -> Attention:
    """softmax(scale Q K^T) V of one head in float64, with the whole score matrix in memory.

    q (Nq, d), k and v (Nk, d), mask (Nq, Nk) True where allowed; scale defaults to 1/sqrt(d).
    """
    q, k, v = (np.asarray(array, dtype=np.float64) for array in (q, k, v))
    check_shapes(q, k, v)
    scale = q.shape[1] ** -0.5 if scale is None else scale
    allowed = may_look(len(q), len(k), causal=causal, mask=mask)
    scores = np.where(allowed, scale * (q @ k.T), -np.inf)
    largest = np.max(scores, axis=1, keepdims=True, initial=-np.inf)
    # A row without a single key has the maximum -inf; subtracting 0 instead keeps exp(-inf) = 0 and no NaN.
    shift = np.where(np.isneginf(largest), 0.0, largest)
    weights = np.exp(scores - shift)
    denominator = weights.sum(axis=1, keepdims=True)
    weights = weights / np.where(denominator == 0.0, 1.0, denominator)
    with np.errstate(divide="ignore"):  # log 0 = -inf is the answer for a row without keys
        logsumexp = (shift + np.log(denominator))[:, 0]
    return Attention(weights @ v, logsumexp, scores, weights)
