"""How many Q blocks a whole GPU holds at once: the R of the `waves` model.

A block occupies registers and shared memory of one multiprocessor, and as many blocks are resident as the
scarcer of the two allows. Shared memory is exact (Q tile + stages x (K + V tiles)). Registers are a model of
the teaching kernel, fitted to compiled kernels at d = 128 (see `tests/workshop/test_residency.py`): per
thread, the share of O in fp32, of S in fp32, of its exponentials in fp32 and of P packed to 16 bit, plus a
fixed 24, rounded up to the 8 that hardware allocates and capped at 255, beyond which a compiler spills. Four
warps up to Br = 64, eight above. Tiles of fewer than 64 rows are compiled with other instructions, and the
model is a guide there (16 x 16 was compiled to 64 registers, where it says 45).
"""

from dataclasses import dataclass

import numpy as np

from workshop.hardware import GPU
from workshop.problem import Problem, Tile

FIXED_REGISTERS, MOST_REGISTERS, REGISTER_STEP = 24, 255, 8
STAGES = 2


def padded_head(d):
    """Head size as a Triton kernel holds it: the next power of two, at least 16. Ints or arrays."""
    return 2 ** np.ceil(np.log2(np.maximum(d, 16))).astype(np.int64)


def kernel_shared_bytes(Br, Bc, d, element_bytes, stages=STAGES):
    """Shared memory of a FlashAttention kernel, B: Q tile + stages x (K + V tiles). Ints or arrays, d as
    given."""
    return (Br * d + stages * 2 * Bc * d) * element_bytes


def registers_per_thread(Br, Bc, d, threads):
    """Registers a thread wants, before the cap of 255 (the model of this module). Ints or arrays."""
    # O in fp32; S in fp32, exp(S - m) in fp32, P in 16 bit: 2.5 registers a score.
    return FIXED_REGISTERS + -(-(2 * Br * d + 5 * Br * Bc) // (2 * threads))


def occupancy(gpu: GPU, Br, Bc, d, element_bytes, stages=STAGES) -> dict:
    """The residency model on ints or arrays: dict of warps, wanted and allocated registers, shared bytes,
    limits, blocks."""
    Br, Bc = np.asarray(Br, dtype=np.int64), np.asarray(Bc, dtype=np.int64)
    d = padded_head(d)
    warps = np.where(Br <= 64, 4, 8)
    threads = warps * 32
    wanted = registers_per_thread(Br, Bc, d, threads)
    allocated = -(-np.minimum(wanted, MOST_REGISTERS) // REGISTER_STEP) * REGISTER_STEP
    shared = kernel_shared_bytes(Br, Bc, d, element_bytes, stages)
    by_registers = gpu.regfile_sm // (allocated * threads * 4)
    by_shared = np.maximum(1, gpu.smem_sm // (shared + gpu.smem_reserved)) * (shared <= gpu.smem_block)
    by_limits = np.minimum(gpu.max_threads_sm // threads, gpu.max_blocks_sm)
    blocks = np.minimum(np.minimum(by_registers, by_shared), by_limits)
    return {
        "warps": warps,
        "wanted": wanted,
        "shared": shared,
        "by_registers": by_registers,
        "by_shared": by_shared,
        "by_limits": by_limits,
        "blocks": blocks,
    }


@dataclass(frozen=True)
class Residency:
    """What `resident_blocks` found.

    blocks: R for the whole GPU. per_sm: blocks on one multiprocessor, at least 1. fits: whether one block
    fits at all. limiter: "registers", "shared memory", "threads" or "nothing fits". registers: a thread
    (capped at 255), and spilled: how many it wants beyond. warps: a block. shared_bytes: a block. note: a
    sentence when `fits` is false.
    """

    blocks: int
    per_sm: int
    fits: bool
    limiter: str
    registers: int
    spilled: int
    warps: int
    shared_bytes: int
    note: str | None = None


def resident_blocks(gpu: GPU, tile: Tile, d: int, dtype: str, stages: int = STAGES) -> Residency:
    """Q blocks of this tile resident on the whole GPU at once.

    A tile whose shared memory exceeds the block limit would not launch. It is then counted as one block a
    multiprocessor, the most favourable reading, with `fits` False and a sentence in `note`.
    """
    problem = Problem(d=d, dtype=dtype)
    found = occupancy(gpu, tile.Br, tile.Bc, d, problem.element_bytes, stages)
    found = {key: int(value) for key, value in found.items()}
    fits = found["by_shared"] > 0
    limits = {
        "registers": found["by_registers"],
        "shared memory": found["by_shared"],
        "threads": found["by_limits"],
    }
    per_sm = max(1, found["blocks"])
    return Residency(
        blocks=per_sm * gpu.sms,
        per_sm=per_sm,
        fits=fits,
        limiter=min(limits, key=limits.get) if fits else "nothing fits",
        registers=min(found["wanted"], MOST_REGISTERS),
        spilled=max(0, found["wanted"] - MOST_REGISTERS),
        warps=found["warps"],
        shared_bytes=found["shared"],
        note=None
        if fits
        else (
            f"A block of this kernel needs {found['shared']:,} B of shared memory; {gpu.name} allows "
            f"{gpu.smem_block:,} B, so it would not launch. Counted as one block a multiprocessor."
        ),
    )
