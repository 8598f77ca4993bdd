"""What the forward pass of attention must keep until the backward pass, and the most that is alive in it.

Standard attention keeps P, N x N a head. FlashAttention keeps the output O and one logsumexp a row, and computes
P again tile by tile (Dao et al., FlashAttention, 2022, section 3.1; that paper kept two statistics a row, later
kernels one). Q, K and V are kept by both. The logsumexp and D are fp32, as kernels keep them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workshop.problem import LIMITS, Problem

MODELS = ("standard", "flash")
STATISTIC_BYTES = 4


@dataclass(frozen=True)
class Item:
    """One tensor that stays in memory, of a whole layer: elements, bytes each, and what it is for."""

    tensor: str
    elements: int
    element_bytes: int
    why: str

    @property
    def bytes(self) -> int:
        """Bytes of the layer."""
        return self.elements * self.element_bytes


@dataclass(frozen=True)
class Store:
    """What is in memory at one moment, tensor by tensor; the total is the sum of the items."""

    model: str
    items: tuple[Item, ...]

    @property
    def total(self) -> int:
        """Bytes of the layer (all B x H heads)."""
        return sum(item.bytes for item in self.items)

    def of(self, *tensors: str) -> int:
        """Bytes of the named tensors alone."""
        return sum(item.bytes for item in self.items if item.tensor in tensors)


def _kept(model, N, d, heads, size):
    """(tensor, elements, bytes each, why); N may be an array."""
    strip, square = heads * N * d, heads * N * N
    yield "Q", strip, size, "for dK"
    yield "K", strip, size, "for dQ"
    yield "V", strip, size, "for dP"
    if model == "standard":
        yield "P", square, size, "for dV and for the softmax's own derivative"
    elif model == "flash":
        yield "O", strip, size, "for D = rowsum(dO ∘ O); the next layer keeps it anyway"
        yield "logsumexp", heads * N, STATISTIC_BYTES, "one a row: makes P again from S"
    else:
        raise ValueError(f"model: expected one of {', '.join(MODELS)}; got {model!r}")


def _gradients(model, N, d, heads, size):
    strip, square = heads * N * d, heads * N * N
    if model == "standard":
        yield "O", strip, size, "the forward pass's result"
        yield "dP", square, size, "dO Vᵀ"
        yield "dS", square, size, "P ∘ (dP − D)"
    else:
        yield "D", heads * N, STATISTIC_BYTES, "rowsum(dO ∘ O), one a row"
    yield "dO", strip, size, "comes in from the layer above"
    for name in ("dQ", "dK", "dV"):
        yield name, strip, size, "a result"


def kept(model: str, problem: Problem) -> Store:
    """What a layer keeps from its forward to its backward pass. Raises ValueError for an unknown model."""
    lines = _kept(model, problem.N, problem.d, problem.heads, problem.element_bytes)
    return Store(model, tuple(Item(*line) for line in lines))


def peak(model: str, problem: Problem) -> Store:
    """The most that is alive at once in the backward pass of a layer: what is kept, and the gradients.

    Standard: when dS is made from P and dP, the three stand side by side (an implementation may overwrite dP).
    """
    args = (problem.N, problem.d, problem.heads, problem.element_bytes)
    return Store(model, tuple(Item(*line) for line in (*_kept(model, *args), *_gradients(model, *args))))


def kept_bytes(model: str, problem: Problem, N) -> np.ndarray:
    """`kept(...).total` over an array of sequence lengths N (integers within LIMITS); float64 bytes.

    A layer of many long heads passes 2^63 bytes, so the result is floating point, good to 16 digits.
    """
    N = np.asarray(N)
    low, high = LIMITS["N"]
    if not np.issubdtype(N.dtype, np.integer) or (N.size and not low <= N.min() <= N.max() <= high):
        raise ValueError(f"N: expected whole numbers from {low:,} to {high:,}; got {N!r}")
    lines = _kept(model, N.astype(np.float64), problem.d, problem.heads, problem.element_bytes)
    return sum(elements * size for _, elements, size, _ in lines)
