"""Standard attention pass by pass: what each kernel carries between memory and chip, and what it computes for it.

The textbook program is three kernels, S = Q K^T, P = softmax(S), O = P V, each of which reads its inputs from
device memory and writes its result back (Dao et al., FlashAttention, 2022, Algorithm 0). A framework that
scales, masks or drops out in kernels of their own adds a trip out and a trip in of an N x N matrix for each.

FLOPs: 2 a multiply-add of the products, on the matrix units. The other passes run on the vector units in fp32;
counted an element are 1 to scale, 1 to mask, 1 to drop, 5 for the softmax (compare for the maximum, subtract,
exponential, add to the sum, divide). The exponential counts as one although it costs more, so the intensity
is of the right order and no better. Nothing here skips a causal mask: PyTorch eager does not either.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import isqrt

from workshop.hardware import GPU
from workshop.ledger import DIRECTIONS
from workshop.problem import Problem

OPTIONAL = ("scale", "mask", "dropout")
SCORES = ("S", "P", "dropped P", "kept?")  # the N x N tensors
KEPT_BYTES = 1  # a boolean an element, as PyTorch keeps it for the backward pass
NODE_GPUS = 8
_VECTOR_DTYPE = "fp32"


@dataclass(frozen=True)
class Trip:
    """One transfer of one tensor of one head: direction "read" (memory to chip) or "write", elements, bytes each."""

    tensor: str
    direction: str
    elements: int
    element_bytes: int
    why: str

    def __post_init__(self):
        if self.direction not in DIRECTIONS:
            raise ValueError(f"direction: expected one of {DIRECTIONS}; got {self.direction!r}")

    @property
    def bytes(self) -> int:
        """Bytes moved."""
        return self.elements * self.element_bytes

    @property
    def square(self) -> bool:
        """Whether this is one of the N x N matrices."""
        return self.tensor in SCORES


@dataclass(frozen=True)
class Pass:
    """One kernel: its trips, its FLOPs a head, and the units that do them ("matrix" or "vector")."""

    slug: str
    does: str
    units: str
    flops: int
    trips: tuple[Trip, ...]

    @property
    def bytes(self) -> int:
        """Bytes moved a head, both directions."""
        return sum(trip.bytes for trip in self.trips)

    @property
    def intensity(self) -> float:
        """FLOPs a byte moved."""
        return self.flops / self.bytes

    def rate(self, gpu: GPU, dtype: str) -> float:
        """FLOP/s of the units that work here: the tensor cores' for `dtype`, or the vector units' in fp32."""
        return gpu.rate(dtype if self.units == "matrix" else _VECTOR_DTYPE).flops

    def ridge(self, gpu: GPU, dtype: str) -> float:
        """FLOPs a byte from which on these units, and not the memory, would be what is waited for."""
        return self.rate(gpu, dtype) / gpu.bandwidth

    def compute_s(self, gpu: GPU, dtype: str) -> float:
        """Seconds of arithmetic at the data sheet's rate, for one head with the whole chip at work."""
        return self.flops / self.rate(gpu, dtype)

    def memory_s(self, gpu: GPU) -> float:
        """Seconds of traffic at the data sheet's bandwidth, for one head."""
        return self.bytes / gpu.bandwidth


def passes(
    problem: Problem, *, scale_pass: bool = False, mask_pass: bool = False, dropout_pass: bool = False
) -> tuple[Pass, ...]:
    """The passes of one head, forward, in the order in which they run."""
    N, d, size = problem.N, problem.d, problem.element_bytes
    strip, square = N * d, N * N

    def trip(tensor, direction, why, element_bytes=size):
        elements = square if tensor in SCORES else strip
        return Trip(tensor, direction, elements, element_bytes, why)

    found = [
        Pass(
            "scores",
            "S = Q Kᵀ",
            "matrix",
            2 * square * d,
            (
                trip("Q", "read", "every query, for its products with every key"),
                trip("K", "read", "every key"),
                trip(
                    "S", "write", "the next kernel looks for the scores in memory, so that is where they go"
                ),
            ),
        )
    ]
    if scale_pass:
        found.append(
            Pass(
                "scale",
                "S · 1/√d",
                "vector",
                square,
                (
                    trip("S", "read", "back again, to be multiplied by one constant"),
                    trip("S", "write", "and out again"),
                ),
            )
        )
    if mask_pass:
        found.append(
            Pass(
                "mask",
                "S + mask",
                "vector",
                square,
                (
                    trip("S", "read", "back again, to set masked scores to −∞"),
                    trip("S", "write", "and out again"),
                ),
            )
        )
    found.append(
        Pass(
            "softmax",
            "P = softmax(S)",
            "vector",
            5 * square,
            (
                trip("S", "read", "the same numbers come back"),
                trip("P", "write", "as many numbers leave, each row now summing to 1"),
            ),
        )
    )
    weights = "P"
    if dropout_pass:
        weights = "dropped P"
        found.append(
            Pass(
                "dropout",
                "dropout(P)",
                "vector",
                square,
                (
                    trip("P", "read", "back again, to set some weights to zero"),
                    trip("dropped P", "write", "and out again"),
                    trip("kept?", "write", "which ones were kept, for the backward pass", KEPT_BYTES),
                ),
            )
        )
    found.append(
        Pass(
            "output",
            "O = P V",
            "matrix",
            2 * square * d,
            (
                trip(weights, "read", "one last time"),
                trip("V", "read", "every value"),
                trip("O", "write", "the only matrix that was asked for"),
            ),
        )
    )
    return tuple(found)


def trips(found: tuple[Pass, ...]) -> tuple[Trip, ...]:
    """All trips of the passes, in order."""
    return tuple(trip for item in found for trip in item.trips)


def running(found: tuple[Pass, ...]) -> list[int]:
    """Bytes moved after each trip, the last being the total."""
    return list(accumulate(trip.bytes for trip in trips(found)))


def score_share(found: tuple[Pass, ...]) -> float:
    """Share of all bytes that are N x N matrices, 0 to 1."""
    every = trips(found)
    return sum(t.bytes for t in every if t.square) / sum(t.bytes for t in every)


def longest(capacity: int, problem: Problem) -> int:
    """The longest sequence whose score matrices of a layer, one a head, fit in `capacity` bytes. Exact.

    0 when not even one token's do. Raises ValueError below 0 bytes.
    """
    if capacity < 0:
        raise ValueError(f"capacity: expected 0 bytes or more; got {capacity!r}")
    return isqrt(capacity // (problem.heads * problem.element_bytes))
