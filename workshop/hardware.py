"""GPUs as their makers describe them: dense rates, memory sizes, and a source for every row.

Units are SI (B, B/s, FLOP/s). On-chip sizes are powers of two as devices report them; `memory` is decimal, as
data sheets print it, and a device reports a little less as free. `peak` is the dense rate without sparsity:
data sheets that print only the sparse rate are halved here. fp32 is IEEE arithmetic outside the tensor cores,
not TF32. Figures that sources disagree about, or that are not published, say so in `notes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from workshop.units import DTYPE_BYTES

KIB, MIB = 1024, 1024 * 1024
#: Bytes that an L2 cache asks the memory for at least.
SECTOR = 32

# Sustained share of the data-sheet bandwidth that large copies reach in practice, low and high end.
SUSTAINED = (0.80, 0.89)
# What to compute in when the tensor cores have no rate for the stored type.
_WIDER = {"fp8": "bf16", "bf16": "fp16", "fp16": "fp32"}

_GUIDE = "NVIDIA, CUDA C++ Programming Guide, technical specifications per compute capability"
_A100 = "NVIDIA A100 Tensor Core GPU data sheet; NVIDIA A100 Tensor Core GPU Architecture white paper (2020)"
_HOPPER = "NVIDIA H100 Tensor Core GPU Architecture white paper (2022); NVIDIA Hopper Tuning Guide"
_ADA = "NVIDIA Ada GPU Architecture white paper (2022)"


@dataclass(frozen=True)
class Rate:
    """Arithmetic rate for a stored dtype: FLOP/s, the dtype it is computed in, a sentence if the two
    differ."""

    flops: float
    dtype: str
    note: str | None = None


@dataclass(frozen=True)
class GPU:
    """One accelerator.

    slug, name: the key in links, the name for readers. bandwidth: device memory, B/s. peak: {dtype: dense
    FLOP/s, or None where the hardware has no such rate}. sms: multiprocessors (compute units on AMD).
    smem_sm, smem_block: shared memory of one multiprocessor and the most one block may take, B.
    smem_reserved: B the system keeps per block. l2, last_level: caches of the whole chip, B (last_level: a
    cache behind L2, 0 if none). regfile_sm: B. max_threads_sm, max_blocks_sm: residency limits. memory:
    device memory, B. host_link: PCIe, B/s in one direction. on_chip_bandwidth: published aggregate
    shared-memory bandwidth, B/s, or None where no source gives it. target: compiler target, or None. sources,
    notes: citations, and what is disputed or derived.
    """

    slug: str
    name: str
    bandwidth: float
    peak: Mapping[str, float | None]
    sms: int
    smem_sm: int
    smem_block: int
    l2: int
    regfile_sm: int
    memory: int
    memory_kind: str
    max_threads_sm: int
    max_blocks_sm: int
    smem_reserved: int = KIB
    last_level: int = 0
    host_link: float = 0.0
    on_chip_bandwidth: float | None = None
    target: str | None = None
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self):
        object.__setattr__(self, "peak", MappingProxyType(dict(self.peak)))

    def __hash__(self):
        return hash((self.slug, self.name, self.bandwidth, self.sms))

    def __reduce__(self):
        # A read-only mapping does not pickle, and a worker process needs the GPU too.
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return _rebuild, (values | {"peak": dict(self.peak)},)

    def rate(self, dtype: str) -> Rate:
        """The rate for data stored in `dtype`.

        Where the table has None (an A100 has no fp8 tensor cores), a kernel converts on the chip and computes
        in the next wider type: that rate is returned with a sentence that says so. Raises ValueError for an
        unknown dtype.
        """
        if dtype not in DTYPE_BYTES:
            raise ValueError(f"dtype: expected one of {', '.join(DTYPE_BYTES)}; got {dtype!r}")
        used = dtype
        while self.peak.get(used) is None:
            if used not in _WIDER:
                raise ValueError(
                    f"peak: expected a rate for {dtype} or a wider type on {self.name}; got none"
                )
            used = _WIDER[used]
        if used == dtype:
            return Rate(self.peak[dtype], dtype)
        return Rate(
            self.peak[used],
            used,
            f"{self.name} has no {dtype} arithmetic: data stored in {dtype} is converted on the chip and "
            f"computed at the {used} rate.",
        )

    def ridge(self, dtype: str) -> float:
        """FLOPs per byte at which arithmetic and memory take the same time, rate(dtype) / bandwidth."""
        return self.rate(dtype).flops / self.bandwidth


def _rebuild(values):
    return GPU(**values)


def _peaks(bf16, fp32, fp8, fp16=None):
    """Rates in TFLOP/s to FLOP/s; `round` keeps 989 TFLOP/s an exact float."""
    table = {"bf16": bf16, "fp16": bf16 if fp16 is None else fp16, "fp32": fp32, "fp8": fp8}
    return {dtype: None if rate is None else float(round(rate * 1e12)) for dtype, rate in table.items()}


def _a100(slug, name, bandwidth, memory, kind):
    return GPU(
        slug=slug,
        name=name,
        bandwidth=bandwidth,
        peak=_peaks(bf16=312, fp32=19.5, fp8=None),
        sms=108,
        smem_sm=164 * KIB,
        smem_block=163 * KIB,
        l2=40 * MIB,
        regfile_sm=256 * KIB,
        memory=memory,
        memory_kind=kind,
        max_threads_sm=2048,
        max_blocks_sm=32,
        host_link=32e9,
        on_chip_bandwidth=19e12,
        target="sm_80",
        sources=(
            _A100,
            _GUIDE,
            "on-chip bandwidth: Dao et al., FlashAttention (2022), 2.1, after Jia and Van Sandt (2021)",
        ),
        notes=(
            "The often quoted 20 MB of SRAM at 19 TB/s is the whole chip added up, not one multiprocessor.",
            "No fp8 tensor cores.",
        ),
    )


def _hopper(slug, name, bandwidth, l2, memory, kind, source, notes):
    return GPU(
        slug=slug,
        name=name,
        bandwidth=bandwidth,
        peak=_peaks(bf16=989, fp32=67, fp8=1979),
        sms=132,
        smem_sm=228 * KIB,
        smem_block=227 * KIB,
        l2=l2,
        regfile_sm=256 * KIB,
        memory=memory,
        memory_kind=kind,
        max_threads_sm=2048,
        max_blocks_sm=32,
        host_link=64e9,
        target="sm_90",
        sources=(source, _HOPPER, _GUIDE),
        notes=("Data sheets print the rate with sparsity (1,979 TFLOP/s); dense is half of it.", *notes),
    )


_ALL = (
    _hopper(
        "h100-sxm",
        "H100 SXM",
        3.35e12,
        50 * MIB,
        80_000_000_000,
        "HBM3",
        "NVIDIA H100 Tensor Core GPU data sheet",
        (),
    ),
    _hopper(
        "h200-sxm",
        "H200 SXM",
        4.8e12,
        60 * MIB,
        141_000_000_000,
        "HBM3e",
        "NVIDIA H200 Tensor Core GPU data sheet",
        ("L2 is disputed: documents say 50 MB, the device itself reports 60 MiB, which is used here.",),
    ),
    _a100("a100-sxm-40", "A100 SXM 40 GB", 1.555e12, 40_000_000_000, "HBM2"),
    _a100("a100-sxm-80", "A100 SXM 80 GB", 2.039e12, 80_000_000_000, "HBM2e"),
    GPU(
        slug="b200",
        name="B200",
        bandwidth=8.0e12,
        peak=_peaks(bf16=2250, fp32=75, fp8=4500),
        sms=148,
        smem_sm=228 * KIB,
        smem_block=227 * KIB,
        l2=126 * MIB,
        regfile_sm=256 * KIB,
        memory=180_000_000_000,
        memory_kind="HBM3e",
        max_threads_sm=2048,
        max_blocks_sm=32,
        host_link=64e9,
        target="sm_100",
        sources=(
            "NVIDIA DGX B200 and HGX B200 data sheets",
            "NVIDIA Blackwell Tuning Guide",
            _GUIDE,
        ),
        notes=(
            "Memory is disputed: 180 GB in system data sheets, 192 GB of chips on the package.",
            "fp32 is disputed: 75 or 80 TFLOP/s, depending on the document.",
            "256 KiB of tensor memory per multiprocessor hold accumulators; the register model ignores it.",
        ),
    ),
    GPU(
        slug="rtx-4090",
        name="GeForce RTX 4090",
        bandwidth=1.008e12,
        peak=_peaks(bf16=165.2, fp32=82.6, fp8=330.3),
        sms=128,
        smem_sm=100 * KIB,
        smem_block=99 * KIB,
        l2=72 * MIB,
        regfile_sm=256 * KIB,
        memory=24_000_000_000,
        memory_kind="GDDR6X",
        max_threads_sm=1536,
        max_blocks_sm=24,
        host_link=32e9,
        target="sm_89",
        sources=(_ADA, _GUIDE),
        notes=("Rates are with fp32 accumulation; fp16 accumulation doubles the fp16 and fp8 rates.",),
    ),
    GPU(
        slug="l4",
        name="L4",
        bandwidth=300e9,
        peak=_peaks(bf16=121, fp32=30.3, fp8=242.5),
        sms=58,
        smem_sm=100 * KIB,
        smem_block=99 * KIB,
        l2=48 * MIB,
        regfile_sm=256 * KIB,
        memory=24_000_000_000,
        memory_kind="GDDR6",
        max_threads_sm=1536,
        max_blocks_sm=24,
        host_link=32e9,
        target="sm_89",
        sources=("NVIDIA L4 Tensor Core GPU data sheet", _ADA, _GUIDE),
        notes=("The data sheet prints rates with sparsity (242 TFLOP/s in bf16); dense is half of it.",),
    ),
    GPU(
        slug="mi300x",
        name="Instinct MI300X",
        bandwidth=5.3e12,
        peak=_peaks(bf16=1307.4, fp32=163.4, fp8=2614.9),
        sms=304,
        smem_sm=64 * KIB,
        smem_block=64 * KIB,
        smem_reserved=0,
        l2=32 * MIB,
        last_level=256 * MIB,
        regfile_sm=512 * KIB,
        memory=192_000_000_000,
        memory_kind="HBM3",
        max_threads_sm=2048,
        max_blocks_sm=32,
        host_link=64e9,
        sources=("AMD Instinct MI300X data sheet", "AMD CDNA 3 Architecture white paper (2023)"),
        notes=(
            "Multiprocessors are AMD's compute units, shared memory its local data share (LDS), L2 the sum "
            "of eight chiplets' 4 MiB; 256 MiB of Infinity Cache lie behind them.",
            "The register model was fitted to NVIDIA compilers and is only indicative here.",
        ),
    ),
)
GPUS: Mapping[str, GPU] = MappingProxyType({gpu.slug: gpu for gpu in _ALL})
DEFAULT_GPU = GPUS["h100-sxm"]


def gpu_named(slug: str) -> GPU:
    """The GPU of that slug. Raises ValueError that lists the known ones."""
    if slug not in GPUS:
        raise ValueError(f"gpu: expected one of {', '.join(GPUS)}; got {slug!r}")
    return GPUS[slug]


CUSTOM_NAME = "Custom GPU"


def custom(
    bandwidth: float,
    peak: float,
    *,
    name: str = CUSTOM_NAME,
    sms: int = 132,
    smem_sm: int = 228 * KIB,
    smem_block: int = 227 * KIB,
    l2: int = 50 * MIB,
    regfile_sm: int = 256 * KIB,
    memory: int = 80_000_000_000,
    max_threads_sm: int = 2048,
    max_blocks_sm: int = 32,
    host_link: float = 64e9,
) -> GPU:
    """A GPU the reader types in: bandwidth in B/s, one peak in FLOP/s for every dtype; the rest defaults to
    an H100's.

    Raises ValueError for a number that is not finite and positive, and for a block limit above the
    multiprocessor's.
    """
    given = {
        "bandwidth": bandwidth,
        "peak": peak,
        "sms": sms,
        "smem_sm": smem_sm,
        "smem_block": smem_block,
        "l2": l2,
        "regfile_sm": regfile_sm,
        "memory": memory,
        "max_threads_sm": max_threads_sm,
        "max_blocks_sm": max_blocks_sm,
        "host_link": host_link,
    }
    for option, value in given.items():
        if isinstance(value, bool) or not 0 < value < float("inf"):
            raise ValueError(f"{option}: expected a finite number above 0; got {value!r}")
    if smem_block > smem_sm:
        raise ValueError(f"smem_block: expected at most smem_sm, {smem_sm:,} B; got {smem_block:,} B")
    del given["peak"]
    return GPU(
        slug="custom",
        name=name,
        peak=dict.fromkeys(DTYPE_BYTES, float(peak)),
        memory_kind="typed in",
        sources=("typed in by the reader",),
        notes=("Values that were not typed in are those of an H100 SXM.",),
        **given,
    )
