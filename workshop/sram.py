"""What a tile needs on the chip, what happens when it does not fit, and the Br x Bc landscape of both.

The teaching model keeps Q, O, K, V, the scores S and two statistics a row (m, l) in SRAM, all in the
problem's dtype. `kernel_view` is what a real kernel does: Q and some tiles of K and V in shared memory, S, O, m
and l in fp32 registers.

Spill is a model, not a measurement: when the working set W exceeds M, the excess E = W - M is written out and
read back on every tile visit, which the best replacement policy cannot avoid, so 2E more bytes a visited tile
on top of `tiled`. A real kernel does not spill shared memory: it refuses to launch. What does spill there is
registers.
"""

from dataclasses import dataclass

import numpy as np

from workshop import masks, roofline
from workshop.hardware import DEFAULT_GPU, GPU
from workshop.kernel_memory import padded_head, shared_memory
from workshop.ledger import Ledger, Line
from workshop.problem import LIMITS, Problem, Tile
from workshop.traffic import ledger, totals

FP32_BYTES = 4


@dataclass(frozen=True)
class WorkingSet:
    """Bytes a tile keeps in SRAM, tensor by tensor, beside the budget they have to fit in (all in bytes)."""

    q: int
    o: int
    k: int
    v: int
    s: int
    statistics: int
    budget: int

    @property
    def total(self) -> int:
        """The working set W in bytes."""
        return self.q + self.o + self.k + self.v + self.s + self.statistics

    @property
    def fits(self) -> bool:
        """Whether W is within the budget (equal counts as fitting)."""
        return self.total <= self.budget

    @property
    def spill_bytes(self) -> int:
        """The excess E = max(0, W - budget), bytes."""
        return max(0, self.total - self.budget)

    def parts(self) -> dict[str, int]:
        """The six parts in drawing order: {"q": bytes, ...}; they sum to `total`."""
        return {name: getattr(self, name) for name in ("q", "o", "k", "v", "s", "statistics")}


def working_set(problem: Problem, tile: Tile, *, fp32_accumulators: bool = False) -> WorkingSet:
    """The teaching model's working set: Q, O of Br x d, K, V of Bc x d, S of Br x Bc, statistics 2 Br.

    fp32_accumulators: O, S and the statistics in fp32, as kernels accumulate, instead of the problem's dtype.
    A tile longer than the sequence is counted at its full size, which is what a kernel allocates.
    """
    wide = FP32_BYTES if fp32_accumulators else problem.element_bytes
    return WorkingSet(**_parts(problem, tile.Br, tile.Bc, wide), budget=tile.M_bytes)


def _parts(problem, Br, Bc, wide) -> dict:
    """Bytes of each part of a tile; Br and Bc ints or arrays. wide: bytes of an element of O, S and statistics."""
    small, d = problem.element_bytes, problem.d
    return {
        "q": Br * d * small,
        "o": Br * d * wide,
        "k": Bc * d * small,
        "v": Bc * d * small,
        "s": Br * Bc * wide,
        "statistics": 2 * Br * wide,
    }


@dataclass(frozen=True)
class KernelView:
    """Where a real kernel keeps a tile, in bytes a block: shared memory for q, k, v and p (weights that pass
    between warps); fp32 registers for o, s, statistics.

    buffers: K tiles, and as many V tiles, that have a place in shared memory; 0 where K and V take turns in
    one (then v is 0). stages: K,V tiles in flight.
    """

    stages: int
    buffers: int
    q: int
    k: int
    v: int
    p: int
    o: int
    s: int
    statistics: int

    @property
    def shared(self) -> int:
        """Shared memory of one block, bytes."""
        return self.q + self.k + self.v + self.p

    @property
    def registers(self) -> int:
        """Register bytes of one block that hold O, S and the statistics (addresses and temporaries not
        counted)."""
        return self.o + self.s + self.statistics

    def launches(self, gpu: GPU) -> bool:
        """Whether the GPU gives a block that much shared memory."""
        return self.shared <= gpu.smem_block


def kernel_view(problem: Problem, tile: Tile, stages: int = 1, gpu: GPU | None = None) -> KernelView:
    """The kernel's view of a tile: Q and tiles of K and V in shared memory, the rest in fp32 registers.

    stages: K,V tiles in flight. Raises ValueError below 1. gpu: the teaching kernel as it is compiled for that
    GPU (`workshop.kernel_memory`), d padded. None: Q + stages x (K + V), as FlashAttention-2's published sizes
    are for 1 stage.
    """
    if stages < 1:
        raise ValueError(f"stages: expected 1 or more; got {stages!r}")
    Br, Bc, size = tile.Br, tile.Bc, problem.element_bytes
    d = padded_head(problem.d) if gpu else problem.d
    shared = shared_memory(Br, Bc, d, size, stages, gpu.target if gpu else None)
    q, k, v, p = (int(held) for held in shared)
    needed = _parts(problem, Br, Bc, FP32_BYTES)
    return KernelView(
        stages=stages,
        buffers=v // (Bc * d * size),
        q=q,
        k=k,
        v=v,
        p=p,
        o=Br * d * FP32_BYTES,
        **{name: needed[name] for name in ("s", "statistics")},
    )


def spill_ledger(problem: Problem, tile: Tile) -> Ledger:
    """`tiled` plus the spill: E elements written and read back on every visited tile. Per head, exact.

    E is in elements of the problem's dtype (the working set and the budget are whole multiples of it). A tile
    that fits has two lines of 0 elements, so that the lines of every tile are the same.
    """
    excess = working_set(problem, tile).spill_bytes // problem.element_bytes
    visits, _ = masks.visited(problem.N, tile.Br, tile.Bc, problem.causal)
    return Ledger(
        "spill",
        (
            *ledger("tiled", problem, tile).lines,
            Line("working set", "write", excess * visits, "what does not fit, out of the way, on every tile"),
            Line("working set", "read", excess * visits, "and back again, on every tile"),
        ),
    )


def _grids(problem, sram, Br, Bc):
    """Working set, excess (bytes), visits and traffic (elements, with spill) for broadcasting int64 Br and
    Bc."""
    size = problem.element_bytes
    needed = sum(_parts(problem, Br, Bc, size).values())
    excess = np.maximum(0, needed - sram * 1024)
    N = np.int64(problem.N) + np.zeros_like(Br * Bc)
    visits, _ = masks.visited(N, Br, Bc, problem.causal)
    traffic = totals("tiled", problem, Tile(sram=sram), Br=Br, Bc=Bc) + 2 * excess // size * visits
    return needed, excess, visits, traffic


@dataclass(frozen=True)
class Cliff:
    """Where the traffic of all Br at one Bc lies beside `standard`, spill counted.

    lowest: the Br that moves least. wins: whether it moves less than `standard`. crossing: the first Br above it that
    spills so much that traffic passes `standard`; None if none in range does, or if none ever won.
    """

    lowest: int
    wins: bool
    crossing: int | None


def cliff(problem: Problem, tile: Tile) -> Cliff:
    """The cliff at the tile's Bc and budget."""
    Br = np.arange(LIMITS["Br"][0], LIMITS["Br"][1] + 1, dtype=np.int64)
    _, excess, _, traffic = _grids(problem, tile.sram, Br, np.int64(tile.Bc))
    standard, lowest = ledger("standard", problem, tile).total, int(traffic.argmin())
    wins = bool(traffic[lowest] < standard)
    lost = (excess > 0) & (traffic > standard) & (Br > Br[lowest])
    crossing = int(Br[lost.argmax()]) if wins and lost.any() else None
    return Cliff(int(Br[lowest]), wins, crossing)


def landscape(problem: Problem, sram: int, Br, Bc, gpu: GPU | None = None) -> dict[str, np.ndarray]:
    """Traffic, time and memory of every tile of a grid, arrays of shape (len(Br), len(Bc)).

    Br, Bc: 1-D integer sequences within LIMITS; sram in KiB; gpu defaults to DEFAULT_GPU. Keys:
    `working_set` (B), `fits` (bool), `spill_bytes` (B, the excess E), `visits` (tiles a head),
    `traffic_elements` (a head, `tiled` with spill), `traffic_bytes` (a head), all int64 and exact;
    `time` (s a layer, the roofline's lower bound), float64. Raises ValueError for sizes outside LIMITS.
    """
    gpu = gpu or DEFAULT_GPU
    sram = Tile(sram=sram).sram
    Br = np.asarray(Br).reshape(-1, 1)
    Bc = np.asarray(Bc).reshape(1, -1)
    needed, excess, visits, traffic = _grids(problem, sram, Br, Bc)
    scores = masks.visited_elements(np.full(traffic.shape, problem.N, dtype=np.int64), Br, Bc, problem.causal)
    # A layer's bytes can pass 2^63: floats from here on.
    compute = roofline.work(scores, problem) / gpu.rate(problem.dtype).flops
    memory = traffic * float(problem.element_bytes * problem.heads) / gpu.bandwidth
    return {
        "working_set": needed,
        "fits": excess == 0,
        "spill_bytes": excess,
        "visits": visits,
        "traffic_elements": traffic,
        "traffic_bytes": traffic * problem.element_bytes,
        "time": np.maximum(compute, memory),
    }
