"""FlashAttention, -2, -3 and -4: who made which, for which chip, how the loop is arranged, and what was published.

`Generation` holds the structure that the schedule model (`workshop.schedule`) plays; the sentences about it are
prose. `UNITS` holds the rates of one multiprocessor per clock, from makers' documents. The clock itself is never
needed: a schedule is drawn in clocks. That the rates fit the data sheets (rate x multiprocessors x a boost clock =
peak) is tested.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from workshop.hardware import GPU, GPUS

_GUIDE = "NVIDIA, CUDA C++ Programming Guide, arithmetic instructions: results a clock and multiprocessor"


@dataclass(frozen=True)
class Units:
    """What one multiprocessor of a GPU does in one clock.

    gpu: slug. tensor: FLOP in bf16 on the tensor cores. exponential: results of the special function units.
    fp32: multiplications (or multiply-adds) outside the tensor cores. shared: B from shared memory. l2: B from
    the L2 cache to all multiprocessors together. sources: where from; notes: what is assumed.
    """

    gpu: str
    tensor: int
    exponential: int
    fp32: int
    shared: int
    l2: int
    sources: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def record(self) -> GPU:
        """The GPU these rates belong to."""
        return GPUS[self.gpu]

    def tensor_rate(self, dtype: str) -> float:
        """FLOP a clock for data stored in `dtype`, scaled from bf16 by the data sheet's rates."""
        return self.tensor * self.record.rate(dtype).flops / self.record.rate("bf16").flops


_ASSUMED = "The L2 rate is the A100's: no document of the maker gives a newer one."
UNITS: Mapping[str, Units] = MappingProxyType(
    {
        "a100": Units(
            "a100-sxm-80",
            tensor=2048,
            exponential=16,
            fp32=64,
            shared=128,
            l2=5120,
            sources=("NVIDIA A100 Tensor Core GPU Architecture white paper (2020)", _GUIDE),
        ),
        "h100": Units(
            "h100-sxm",
            tensor=4096,
            exponential=16,
            fp32=128,
            shared=128,
            l2=5120,
            sources=("NVIDIA H100 Tensor Core GPU Architecture white paper (2022)", _GUIDE),
            notes=(_ASSUMED,),
        ),
        "b200": Units(
            "b200",
            tensor=8192,
            exponential=16,
            fp32=128,
            shared=128,
            l2=5120,
            sources=("Zadouri et al., FlashAttention-4 (2026): rates of a B200 multiprocessor", _GUIDE),
            notes=(_ASSUMED,),
        ),
    }
)


@dataclass(frozen=True)
class Generation:
    """One generation of the kernel.

    slug, name, year, chip: key into `UNITS` of the GPU it was written for. query_outer: whether a block of Q
    stays and K, V stream past it. stages: tiles of K and of V that have room at once; 0: nothing is fetched
    while a tile is computed.
    query_tiles: tiles of queries in turn on one multiprocessor (2: while one multiplies, the other
    exponentiates). tile_share: rows of one such tile as a share of Br. emulated: share of the exponentials
    computed as polynomials on the fp32 units. rescaled: share of tiles at which O is rescaled.
    apart: rescaling is done by warps of its own, off the path of the softmax. published: share of the peak
    that its authors report (low, high) on that chip; source: where.
    """

    slug: str
    name: str
    year: int
    chip: str
    query_outer: bool
    stages: int
    query_tiles: int
    tile_share: float
    published: tuple[float, float]
    source: str
    emulated: float = 0.0
    rescaled: float = 1.0
    apart: bool = False


# A polynomial of degree 3 takes 3 multiply-adds; splitting off the exponent and putting it back takes as many again.
POLYNOMIAL_OPERATIONS = 6

_ALL = (
    Generation(
        "fa1",
        "FlashAttention",
        2022,
        "a100",
        query_outer=False,
        stages=0,
        query_tiles=1,
        tile_share=1,
        published=(0.25, 0.40),
        source="Dao, FlashAttention-2 (2023), abstract",
    ),
    Generation(
        "fa2",
        "FlashAttention-2",
        2023,
        "a100",
        query_outer=True,
        stages=1,
        query_tiles=1,
        tile_share=1,
        published=(0.50, 0.73),
        source="Dao, FlashAttention-2 (2023), abstract",
    ),
    Generation(
        "fa3",
        "FlashAttention-3",
        2024,
        "h100",
        query_outer=True,
        stages=2,
        query_tiles=2,
        tile_share=0.5,
        published=(0.75, 0.75),
        source="Shah et al., FlashAttention-3 (2024), abstract",
    ),
    Generation(
        "fa4",
        "FlashAttention-4",
        2026,
        "b200",
        query_outer=True,
        stages=3,
        query_tiles=2,
        tile_share=1,
        published=(0.71, 0.71),
        source="Zadouri et al., FlashAttention-4 (2026), abstract",
        emulated=0.25,
        rescaled=0.1,
        apart=True,
    ),
)
GENERATIONS: Mapping[str, Generation] = MappingProxyType({item.slug: item for item in _ALL})
