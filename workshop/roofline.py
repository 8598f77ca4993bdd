"""Time from FLOPs and bytes: a bound, not a prediction (Williams, Waterman and Patterson, Roofline, 2009).

Arithmetic and memory traffic may overlap fully, max(FLOPs / peak, bytes / bandwidth), or not at all, their
sum: the truth of an ideal machine lies between. Peak and bandwidth are data-sheet values, so real kernels
take longer.

FLOPs count 2 a multiply-add of the matrix products and nothing else (no exponentials, no scaling): forward 4
N^2 d a head. Backward, FlashAttention recomputes S and needs five products (2.5x forward), standard attention
kept P and needs four (2x).
"""

from dataclasses import dataclass, replace

import numpy as np

from workshop import masks
from workshop.hardware import DEFAULT_GPU, GPU
from workshop.ledger import Ledger
from workshop.problem import Problem, Tile
from workshop.traffic import MODELS, algorithm_1_blocks, ledger

# Matrix products of N x N x d: (forward, backward), 2 FLOPs an element and unit of d each.
_PRODUCTS = {"standard": (2, 4)}
_FLASH_PRODUCTS = (2, 5)
DIRECTIONS = ("forward", "backward", "both")


def scores_computed(problem: Problem, model: str, tile: Tile, *, skip_masked: bool = False) -> int:
    """Scores of one head that the model's algorithm computes.

    `standard`: all N^2, or the live ones with skip_masked (causal). The others: the elements of visited
    tiles, with the blocks of Algorithm 1 for `algorithm_1` and the reader's tile for the rest (`bound`,
    `compulsory` and `waves` are statements about traffic; the arithmetic is the tile kernel's). Raises
    ValueError for an unknown model.
    """
    if model not in MODELS:
        raise ValueError(f"model: expected one of {', '.join(MODELS)}; got {model!r}")
    if model == "standard":
        return masks.unmasked_elements(problem.N, problem.causal and skip_masked)
    Br, Bc = tile.Br, tile.Bc
    if model == "algorithm_1":
        Br, Bc = algorithm_1_blocks(tile.M(problem), problem.d)
    return masks.visited_elements(problem.N, Br, Bc, problem.causal)


def products(model: str, direction: str = "forward") -> int:
    """Matrix products of N x N x d in a pass. direction: "forward", "backward" or "both"."""
    if direction not in DIRECTIONS:
        raise ValueError(f"direction: expected one of {DIRECTIONS}; got {direction!r}")
    forward, backward = _PRODUCTS.get(model, _FLASH_PRODUCTS)
    return {"forward": forward, "backward": backward, "both": forward + backward}[direction]


def work(scores, problem: Problem, products: int = 2):
    """FLOPs of a layer (all B x H heads) whose heads compute `scores` scores each: 2 d for each and each product.

    An int, exact, or a float array: a layer's FLOPs can pass 2^63, so arrays are multiplied as floats.
    """
    scores = scores.astype(float) if isinstance(scores, np.ndarray) else scores
    return products * 2 * scores * problem.d * problem.heads


def flops(
    problem: Problem,
    model: str,
    tile: Tile,
    *,
    direction: str = "forward",
    skip_masked: bool = False,
) -> int:
    """FLOPs of a layer (all B x H heads), exact. direction: "forward", "backward" or "both"."""
    scores = scores_computed(problem, model, tile, skip_masked=skip_masked)
    return work(scores, problem, products(model, direction))


@dataclass(frozen=True)
class Time:
    """Time of a layer in seconds: arithmetic at peak, traffic at data-sheet bandwidth, and what they came
    from.

    flops, bytes: of the whole layer. note: a sentence when the GPU computes in another dtype than it stores.
    """

    compute_s: float
    memory_s: float
    flops: int
    bytes: int
    note: str | None = None

    @property
    def lower(self) -> float:
        """Full overlap, s: the larger of the two parts."""
        return max(self.compute_s, self.memory_s)

    @property
    def upper(self) -> float:
        """No overlap, s: the sum of the two parts."""
        return self.compute_s + self.memory_s

    @property
    def binding(self) -> str:
        """What sets the lower bound: "compute" or "memory" (a tie counts as compute)."""
        return "compute" if self.compute_s >= self.memory_s else "memory"

    @property
    def intensity(self) -> float:
        """FLOPs per byte."""
        return self.flops / self.bytes

    @property
    def rate(self) -> float:
        """FLOP/s if the lower bound were met: where the layer stands on the roofline."""
        return self.flops / self.lower


def attainable(gpu: GPU, dtype: str, intensity, share: float = 1.0):
    """FLOP/s that the roofline allows at `intensity` FLOP/B (a number or an array): min(peak, share x bandwidth x
    intensity).

    share: part of the data-sheet bandwidth that is reached, above 0 and at most 1. Raises ValueError otherwise.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share: expected above 0 and at most 1; got {share!r}")
    return np.minimum(gpu.rate(dtype).flops, share * gpu.bandwidth * np.asarray(intensity, dtype=float))


def sustained(gpu: GPU, share: float) -> GPU:
    """The same GPU with `share` of its data-sheet bandwidth. Raises ValueError unless 0 < share <= 1."""
    if not 0 < share <= 1:
        raise ValueError(f"share: expected above 0 and at most 1; got {share!r}")
    return replace(gpu, bandwidth=share * gpu.bandwidth)


def time_of(traffic: Ledger, flops: int, problem: Problem, gpu: GPU | None = None) -> Time:
    """Time of a layer from one head's ledger and the layer's FLOPs. gpu defaults to DEFAULT_GPU."""
    gpu = gpu or DEFAULT_GPU
    moved = traffic.bytes(problem.dtype) * problem.heads
    rate = gpu.rate(problem.dtype)
    return Time(flops / rate.flops, moved / gpu.bandwidth, flops, moved, rate.note)


def time(model: str, problem: Problem, tile: Tile, gpu: GPU | None = None, **switches) -> Time:
    """Time of a layer, forward, under a traffic model. `switches` are those of `traffic.ledger`."""
    work = flops(problem, model, tile, skip_masked=switches.get("skip_masked", False))
    return time_of(ledger(model, problem, tile, gpu, **switches), work, problem, gpu)
