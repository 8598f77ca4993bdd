"""What a recording measures, in order of importance, and what it will not even try.

A `Case` is one kernel on one shape. `plan()` lists batches of cases; a run that is stopped early has measured
the most important ones. Nothing here touches a GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from workshop.units import DTYPE_BYTES

#: Matrix products a pass does, as a multiple of the forward pass's two: the backward pass recomputes S and
#: forms dV, dP, dQ and dK, five in place of two.
PASS_FACTOR = {"forward": 1.0, "backward": 2.5, "forward+backward": 3.5}

SEQUENCES = (512, 1024, 2048, 4096, 8192, 16384)
LONG = 131072
SDPA = ("sdpa-cudnn", "sdpa-flash", "sdpa-efficient")
#: Tile (Br, Bc, warps, stages) the teaching kernel is timed with against N, by head size: the winner of the
#: tile sweep.
TEACHING_TILES = {64: (128, 64, 8, 4), 128: (128, 64, 4, 2), 256: (128, 64, 8, 2)}
SWEEP_ROWS = (16, 32, 64, 128, 256)
#: What published figures are measured at (Dao 2023, section 4.1; Shah et al. 2024, section 4.1): tokens of a batch,
#: and columns of all heads together.
PUBLISHED_TOKENS, PUBLISHED_COLUMNS = 16384, 2048


@dataclass(frozen=True)
class Case:
    """One kernel on one shape: Q is (batch, heads, N, d), K and V are (batch, kv_heads, N, d). Br, Bc, warps
    and stages are None where the kernel chooses them itself."""

    provider: str
    direction: str = "forward"
    dtype: str = "bf16"
    batch: int = 1
    heads: int = 32
    kv_heads: int = 32
    N: int = 4096
    d: int = 128
    causal: bool = False
    Br: int | None = None
    Bc: int | None = None
    warps: int | None = None
    stages: int | None = None

    @property
    def tile(self) -> tuple[int | None, int | None, int | None, int | None]:
        return self.Br, self.Bc, self.warps, self.stages

    def flops(self) -> float:
        """Floating-point operations of the two matrix products (2 a multiply-add), half of them when
        causal."""
        pairs = self.N**2 / 2 if self.causal else self.N**2
        return PASS_FACTOR[self.direction] * 4 * self.batch * self.heads * pairs * self.d

    def tensor_bytes(self) -> int:
        """Bytes of Q, K, V and O, and of their four gradients where there is a backward pass."""
        rows = 2 * self.batch * (self.heads + self.kv_heads) * self.N
        return rows * self.d * DTYPE_BYTES[self.dtype] * (1 if self.direction == "forward" else 2)

    def scratch_bytes(self) -> int:
        """Most bytes held beside the tensors: the N x N matrices of standard attention, else nothing that large.

        Forward, S is scaled while S still lives, then P is made while S still lives: two at once. Backward, P is
        kept and dP, dS and their scaled copy join it: four at once. A causal mask adds one matrix of one byte an
        element.
        """
        if self.provider != "standard":
            return 0
        matrix = self.batch * self.heads * self.N**2
        copies = 2 if self.direction == "forward" else 4
        return matrix * DTYPE_BYTES[self.dtype] * copies + (self.N**2 if self.causal else 0)

    def label(self) -> str:
        """A short name for progress lines."""
        tile = "" if self.Br is None else f" {self.Br}x{self.Bc} w{self.warps} s{self.stages}"
        heads = f"{self.heads}" if self.heads == self.kv_heads else f"{self.heads}/{self.kv_heads}"
        mask = " causal" if self.causal else ""
        shape = f"{self.batch}x{heads}x{self.N}x{self.d}"
        return f"{self.provider} {self.direction} {self.dtype} {shape}{mask}{tile}"

    def record(self) -> dict:
        """The case as plain values, keyed by the columns of a recording."""
        return asdict(self)


@dataclass(frozen=True)
class Batch:
    """Cases of one kind, measured together: "machine", "time", "error" or "counters"."""

    name: str
    kind: str
    cases: tuple[Case, ...] = ()


def does_not_fit(case: Case, free_bytes: int, reserve: float = 0.05) -> str | None:
    """Why a case must not be started on a GPU with `free_bytes` free, or None if it fits.

    `reserve` is the share kept back for the context, the cache-flush buffer and fragmentation.
    """
    scores, need = case.scratch_bytes(), case.tensor_bytes() + case.scratch_bytes()
    if need <= free_bytes * (1 - reserve):
        return None
    what = (
        f"standard attention would hold {scores:,} B of N x N matrices (N={case.N:,}, "
        f"{case.batch * case.heads} heads)"
        if scores
        else f"Q, K, V, O and gradients take {need:,} B"
    )
    return f"{what}; {int(free_bytes):,} B of GPU memory are free, so it was not started"


def _tiled(case: Case) -> Case:
    if case.provider != "teaching":
        return case
    Br, Bc, warps, stages = TEACHING_TILES[case.d]
    return replace(case, Br=Br, Bc=Bc, warps=warps, stages=stages)


def _grid(providers, ds, Ns, direction="forward", causals=(False, True), **shape) -> Iterator[Case]:
    for d in ds:
        for causal in causals:
            for N in Ns:
                for provider in providers:
                    yield _tiled(Case(provider, direction, N=N, d=d, causal=causal, **shape))


def as_published(providers, ds=(64, 128, 256), Ns=SEQUENCES) -> tuple[Case, ...]:
    """Forward, the batch so large that every length has as many tokens, the heads so many that d does not change the
    model's width: the conditions of the papers' figures."""
    return tuple(
        case
        for d in ds
        for N in Ns
        for case in _grid(
            providers,
            (d,),
            (N,),
            batch=max(1, PUBLISHED_TOKENS // N),
            heads=PUBLISHED_COLUMNS // d,
            kv_heads=PUBLISHED_COLUMNS // d,
        )
    )


def sweep(d: int, N: int = 4096, causal: bool = False) -> tuple[Case, ...]:
    """Every tile of the teaching kernel's sweep, tiles that cannot launch included: their refusal is a
    result."""
    return tuple(
        Case("teaching", N=N, d=d, causal=causal, Br=Br, Bc=Bc, warps=warps, stages=2)
        for Br in SWEEP_ROWS
        for Bc in SWEEP_ROWS
        for warps in (4, 8)
    )


def deeper(d: int, N: int = 4096, causal: bool = False) -> tuple[Case, ...]:
    """Tiles worth more or fewer stages than the sweep's two."""
    sides = (
        ((64, 64), (64, 128), (128, 32), (128, 64), (128, 128), (256, 64))
        if d <= 128
        else ((64, 64), (128, 64))
    )
    tiles = [(Br, Bc, warps) for Br, Bc in sides for warps in (4, 8)]
    stages = (1, 3, 4) if d <= 128 else (1, 2, 3)
    return tuple(
        Case("teaching", N=N, d=d, causal=causal, Br=Br, Bc=Bc, warps=warps, stages=n)
        for Br, Bc, warps in tiles
        for n in stages
    )


def _one_tile(N, heads, Br, Bc, d=128, warps=4, causal=False) -> Case:
    return Case(
        "teaching", heads=heads, kv_heads=heads, N=N, d=d, causal=causal, Br=Br, Bc=Bc, warps=warps, stages=2
    )


def counter_cases() -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    """Cases for the hardware counters: (those every claim rests on, those that look for the claims'
    limits)."""
    core = (
        Case("standard"),
        _one_tile(4096, 32, 64, 64),
        _one_tile(4096, 32, 128, 64, warps=8),
        _one_tile(4096, 32, 16, 64),
        Case("sdpa-flash"),
        Case("fast"),
        Case("sdpa-cudnn"),
        _one_tile(LONG, 1, 64, 64),
        _one_tile(LONG, 1, 128, 64, warps=8),
        _one_tile(2 * LONG, 1, 64, 64),
        _one_tile(2 * LONG, 1, 128, 64, warps=8),
        *(_one_tile(65536, heads, 64, 64) for heads in (1, 2, 4, 8)),
    )
    further = (
        # another head size, and the causal mask
        _one_tile(4096, 32, 64, 64, d=64),
        _one_tile(4096, 32, 128, 64, d=64),
        _one_tile(4096, 32, 64, 64, causal=True),
        Case("standard", d=64),
        Case("standard", causal=True),
        _one_tile(2 * LONG, 1, 64, 64, d=64),
        _one_tile(2 * LONG, 1, 128, 64, d=64),
        _one_tile(4 * LONG, 1, 128, 64, d=64),
        # where K and V of one head stop fitting in the cache: 4 MB to 50 MB
        *(_one_tile(N, 1, 64, 64) for N in (8192, 16384, 32768, 49152, 81920, 98304)),
        # blocks of other heights
        _one_tile(LONG, 1, 32, 64),
        _one_tile(LONG, 1, 256, 64, warps=8),
        # several heads: the larger block, and heads too long for the cache
        *(_one_tile(65536, heads, 128, 64, warps=8) for heads in (1, 2, 4, 8)),
        *(_one_tile(LONG, heads, 128, 64, warps=8) for heads in (2, 4)),
        *(_one_tile(32768, heads, 64, 64) for heads in (4, 8, 16)),
        _one_tile(LONG, 1, 128, 64, warps=8, causal=True),
        _one_tile(LONG, 1, 64, 64, causal=True),
        # our fast kernel and the libraries on a long head
        Case("fast", heads=1, kv_heads=1, N=LONG),
        Case("sdpa-flash", heads=1, kv_heads=1, N=LONG),
        Case("sdpa-cudnn", heads=1, kv_heads=1, N=LONG),
        # the backward pass
        Case("standard", "forward+backward"),
        Case("fast", "forward+backward"),
        Case("sdpa-flash", "forward+backward"),
    )
    limits = (
        # four blocks of 64 rows on a multiprocessor, at d=64: longer, shorter, wider, deeper
        *(_one_tile(N, 1, 64, 64, d=64) for N in (LONG, 4 * LONG)),
        _one_tile(2 * LONG, 1, 64, 128, d=64),
        _one_tile(2 * LONG, 1, 128, 64, d=64, warps=8),
        _one_tile(LONG, 1, 16, 64),
        _one_tile(LONG, 1, 64, 32),
        _one_tile(LONG, 1, 64, 128),
        # the edge of the cache, finer, and the other head size there
        *(_one_tile(N, 1, 64, 64) for N in (40960, 57344)),
        *(_one_tile(N, 1, 128, 64, d=64) for N in (65536, 81920, 98304, LONG)),
        # many heads on each side of it
        *(_one_tile(16384, heads, 64, 64) for heads in (4, 16)),
        _one_tile(65536, 16, 128, 64, warps=8),
        _one_tile(2 * LONG, 2, 128, 64, d=64),
        _one_tile(LONG, 4, 128, 64, d=64),
    )
    return core, further, limits


def _errors() -> tuple[Case, ...]:
    every = ("standard", "teaching", "fast", *SDPA)
    forward = tuple(_grid(every, (128, 64), (512, 4096)))
    half = tuple(replace(case, dtype="fp16") for case in _grid(every, (128, 64), (4096,)))
    single = tuple(
        replace(
            case, dtype="fp32", **({} if case.Br is None else {"Br": 64, "Bc": 32, "warps": 4, "stages": 2})
        )
        for case in _grid(("standard", "teaching", "fast", "sdpa-efficient"), (64, 128), (1024,))
    )
    backward = tuple(_grid(every, (128, 64), (1024, 4096), "forward+backward"))
    return (
        *forward,
        *backward,
        *half,
        *_grid(every, (128, 64), (16384,)),
        *single,
        *_grid(every, (256,), (4096,)),
    )


def plan(quick: bool = False, counters: bool = False) -> tuple[Batch, ...]:
    """The batches of a recording, most important first.

    Args:
        quick: a minute's run: a few shapes, every provider, every kind of figure.
        counters: include what needs `ncu`.
    """
    every = ("standard", "teaching", "fast", *SDPA)
    core, further, limits = counter_cases()
    if quick:
        batches = [
            Batch("machine", "machine"),
            Batch("forward", "time", tuple(_grid(every, (128, 64), (512, 4096)))),
            Batch("training", "time", tuple(_grid(every, (128,), (4096,), "forward+backward", (False,)))),
            Batch("errors", "error", tuple(_grid(every, (128,), (512,), causals=(True,)))),
            Batch("counters", "counters", core[:6]),
        ]
    else:
        eight = {"heads": 8, "kv_heads": 8}
        grouped = {"heads": 32, "kv_heads": 8}
        batches = [
            Batch("machine", "machine"),
            Batch("forward", "time", tuple(_grid(every, (128, 64), SEQUENCES))),
            Batch("training", "time", tuple(_grid(every, (128, 64), SEQUENCES, "forward+backward"))),
            Batch("tiles", "time", sweep(128) + sweep(64)),
            Batch("counters", "counters", core),
            Batch("errors", "error", _errors()),
            Batch("further counters", "counters", further),
            Batch("limits of the counters", "counters", limits),
            Batch("stages", "time", deeper(128) + deeper(64) + deeper(256)),
            Batch("long", "time", tuple(_grid(every, (128, 64), (LONG,), **eight))),
            Batch("causal tiles", "time", sweep(128, causal=True) + sweep(64, causal=True)),
            Batch("causal stages", "time", deeper(128, causal=True) + deeper(64, causal=True)),
            Batch("as published", "time", as_published(("fast", "teaching", "sdpa-cudnn", "sdpa-flash"))),
            Batch("wide", "time", tuple(_grid(every, (256,), SEQUENCES))),
            Batch("wide training", "time", tuple(_grid(every, (256,), SEQUENCES, "forward+backward"))),
            Batch(
                "grouped",
                "time",
                tuple(_grid(("fast", "sdpa-cudnn", "sdpa-flash"), (128,), (4096,), **grouped)),
            ),
        ]
    return tuple(batch for batch in batches if counters or batch.kind != "counters")


def cpu_plan() -> tuple[Batch, ...]:
    """A small real run on the CPU: standard attention beside torch's own fused CPU kernel."""
    small = {"heads": 4, "kv_heads": 4, "dtype": "fp32"}
    both = ("standard", "sdpa-flash")
    timed = tuple(_grid(both, (64,), (256, 512, 1024, 2048), **small))
    return Batch("cpu", "time", timed), Batch(
        "cpu errors", "error", tuple(_grid(both, (64,), (512,), **small))
    )
