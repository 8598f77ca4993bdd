"""The tiles that published kernels use for the forward pass, and the fastest one of our own recording.

FlashAttention-2 and -3 choose their block sizes by head size, number format and mask, in the source files named
here (read in 2026). Head sizes between theirs are padded to the next. "Triton" is the fastest tile of the sweep
that is kept in `workshop.recordings`: the teaching kernel on an H200, no number of it typed in here.
"""

from dataclasses import dataclass
from functools import lru_cache

from workshop import recordings
from workshop.hardware import GPU
from workshop.problem import Problem

FA2_SOURCE = "Dao, flash-attention, csrc/flash_attn/src/flash_fwd_launch_template.h (forward, no dropout)"
FA3_SOURCE = "Shah et al., flash-attention, hopper/tile_size.h (forward, H100)"
_SWEEP = "h200"
_SIXTEEN_BIT = ("bf16", "fp16")
_ADA = "sm_89"  # a smaller shared memory than A100 and H100: FlashAttention-2 takes smaller tiles there


@dataclass(frozen=True)
class KernelTile:
    """A tile that a kernel really uses: its slug and name, Br and Bc (rows), and where that is written down."""

    slug: str
    name: str
    Br: int
    Bc: int
    source: str


def _fa2(problem: Problem, gpu: GPU) -> tuple[int, int] | None:
    if problem.dtype not in _SIXTEEN_BIT:
        return None
    d, causal, ada = problem.d, problem.causal, gpu.target == _ADA
    if d <= 64:
        return 128, 128
    if d <= 96:
        return (64, 64) if ada and causal else (128, 64)
    if d <= 128:
        if ada:
            return (64, 64) if causal else (128, 32)
        return 128, 64
    if d <= 192:
        return 128, 64
    # 128 KiB where that is allowed and two blocks of 96 KiB would not fit side by side (A100); else 64 x 64.
    large = gpu.smem_block >= 2 * 256 * (128 + 2 * 64) and gpu.smem_sm < 4 * 256 * (64 + 2 * 64)
    return (128, 64) if large else (64, 64)


def _fa3(problem: Problem) -> tuple[int, int] | None:
    d, causal = problem.d, problem.causal
    if problem.dtype in _SIXTEEN_BIT:
        if d <= 64:
            return 192, 128 if causal else 192
        if d <= 96:
            return 192, 144
        if d <= 128:
            return 128, 128 if causal else 176
        return (128, 112) if d <= 192 else (128, 80)
    if problem.dtype == "fp8":
        if d <= 64:
            return 192, 160
        if d <= 96:
            return 192, 128
        if d <= 128:
            return 128, 224
        return (128, 160) if d <= 192 else (128, 128)
    return None


@lru_cache
def _sweep() -> dict[int, tuple[int, int, float]]:
    """Head size -> (Br, Bc, median s) of the fastest recorded tile at the sweep's own shape."""
    best: dict[int, tuple[int, int, float]] = {}
    found = recordings.load(_SWEEP).where(
        metric="time", provider="teaching", direction="forward", dtype="bf16", causal=False, N=4096, heads=32
    )
    for row in found.rows:
        if row.d not in best or row.p50 < best[row.d][2]:
            best[row.d] = row.Br, row.Bc, row.p50
    return best


def published(problem: Problem, gpu: GPU) -> tuple[KernelTile, ...]:
    """The tiles that kernels use for this head size, format and mask; empty where no such kernel exists (fp32).

    gpu decides where FlashAttention-2 itself does; FlashAttention-3 is written for the H100 and is listed whatever
    the GPU, as the tile to compare with. Triton's is listed for the head sizes that were swept, padded up.
    """
    found = []
    fa2, fa3 = _fa2(problem, gpu), _fa3(problem)
    if fa2:
        found.append(KernelTile("fa2", "FlashAttention-2", *fa2, FA2_SOURCE))
    if fa3:
        found.append(KernelTile("fa3", "FlashAttention-3", *fa3, FA3_SOURCE))
    swept = [d for d in sorted(_sweep()) if d >= problem.d]
    if swept and problem.dtype in _SIXTEEN_BIT:
        Br, Bc, _ = _sweep()[swept[0]]
        found.append(KernelTile("triton", "Triton", Br, Bc, sweep_source()))
    return tuple(found)


def sweep_source() -> str:
    """Where the Triton tile is from: kernel, device, versions and date."""
    return f"fastest tile of the teaching kernel at N = 4,096, 32 heads, bf16: {recordings.load(_SWEEP).source()}"
