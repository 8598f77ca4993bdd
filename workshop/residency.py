"""How many Q blocks a whole GPU holds at once: the R of the `waves` model.

A block occupies registers and shared memory of one multiprocessor, and as many blocks are resident as the
scarcest of them allows. Shared memory and, on Blackwell, tensor memory are those of `workshop.kernel_memory`.

Registers are a model of the teaching kernel as Triton compiles it. Each thread holds its share of

    O           Br d            in fp32
    S and P     1.75 Br Bc      scores in fp32, and their weights, half of them packed to 16 bit
    addresses   2 (K + V) / 16  64-bit pointers, one for every 16 B that it copies of the K and V tiles
    Q           Br d            as it is stored, where the tensor cores take their operands from registers

and a fixed 24 (44 where warps exchange weights), capped at 255, beyond which a compiler spills. Four warps up to
Br = 64, eight above.

Beside 1,000 compiled kernels (`recordings/compiled/compile-table.csv`), blocks on a multiprocessor are equal in 87 of
100, within one in 99 of 100 and never off by more than two (`tests/workshop/test_residency.py` says it by target).
What is left out: how the compiler spends registers that cost no occupancy, what the mask needs, shared memory for
barriers, tiles whose sides are no powers of two (compiled as the next), and fp32, whose kernel without tensor cores
holds more in registers than this says.
"""

from dataclasses import dataclass

import numpy as np

from workshop.hardware import GPU
from workshop.kernel_memory import (
    STAGES,
    default_warps,
    kernel_shared_bytes,
    padded_head,
    tensor_columns,
    weights_pass_through,
)
from workshop.kernel_memory import from_registers as operands_in_registers
from workshop.problem import Problem, Tile

FIXED_REGISTERS, EXCHANGE_REGISTERS, MOST_REGISTERS = 24, 20, 255
# NVIDIA's occupancy rules: registers are given to warps, out of the quarter of the file that each scheduler owns;
# shared memory to blocks; tensor memory in columns.
REGISTER_UNIT, SHARED_UNIT, SCHEDULERS, WARP = 256, 128, 4, 32
TENSOR_COLUMNS = 512
NO_LIMIT = 2**31 - 1


def registers_per_thread(Br, Bc, d, threads, element_bytes=2, target=None):
    """Registers a thread wants, before the cap of 255 (the model of this module). Ints or arrays, d padded."""
    quarters = 4 * Br * d + 7 * Br * Bc + Bc * d * element_bytes
    quarters = quarters + Br * d * element_bytes * operands_in_registers(Br, element_bytes, target)
    fixed = FIXED_REGISTERS + EXCHANGE_REGISTERS * weights_pass_through(Br, d, element_bytes, target)
    return fixed + -(-quarters // (4 * threads))


def blocks_by(gpu: GPU, warps, registers, shared, columns=0) -> dict[str, np.ndarray]:
    """Blocks that one multiprocessor holds by each resource, 0 where not even one. Ints or arrays.

    Args:
        warps: of a block. registers: of a thread, at most 255. shared: of a block, B. columns: of tensor
            memory, a block; 0 for none.
    Returns:
        {"shared memory", "registers", "threads", "tensor memory": blocks}; NO_LIMIT where none is used.
    """
    taken = -(-np.asarray(shared) // SHARED_UNIT) * SHARED_UNIT + gpu.smem_reserved
    per_warp = -(-np.maximum(registers, 1) * WARP // REGISTER_UNIT) * REGISTER_UNIT
    columns = np.asarray(columns)
    most = np.minimum(gpu.max_threads_sm // (np.asarray(warps) * WARP), gpu.max_blocks_sm)
    return {
        "shared memory": gpu.smem_sm // np.maximum(taken, 1) * (shared <= gpu.smem_block),
        "registers": gpu.regfile_sm // 4 // SCHEDULERS // per_warp * SCHEDULERS // warps,
        "threads": most,
        "tensor memory": np.where(columns > 0, TENSOR_COLUMNS // np.maximum(columns, 1), NO_LIMIT),
    }


def occupancy(gpu: GPU, Br, Bc, d, element_bytes, stages=STAGES) -> dict:
    """The residency model on ints or arrays: dict of warps, wanted registers, shared bytes, tensor memory
    columns, limits (as `blocks_by`) and blocks."""
    Br, Bc = np.asarray(Br, dtype=np.int64), np.asarray(Bc, dtype=np.int64)
    d = padded_head(d)
    warps = default_warps(Br)
    wanted = registers_per_thread(Br, Bc, d, warps * WARP, element_bytes, gpu.target)
    shared = kernel_shared_bytes(Br, Bc, d, element_bytes, stages, gpu.target)
    columns = tensor_columns(Br, Bc, d, element_bytes, gpu.target)
    limits = blocks_by(gpu, warps, np.minimum(wanted, MOST_REGISTERS), shared, columns)
    return {
        "warps": warps,
        "wanted": wanted,
        "shared": shared,
        "columns": columns,
        "limits": limits,
        "blocks": np.minimum.reduce(list(limits.values())),
    }


@dataclass(frozen=True)
class Residency:
    """What `resident_blocks` found.

    blocks: R for the whole GPU. per_sm: blocks on one multiprocessor, at least 1. fits: whether one block
    fits at all. limiter: "registers", "shared memory", "threads", "tensor memory" or "nothing fits".
    registers: a thread (capped at 255), and spilled: how many it wants beyond. warps: a block. shared_bytes,
    tensor_columns: a block. note: a sentence when `fits` is false.
    """

    blocks: int
    per_sm: int
    fits: bool
    limiter: str
    registers: int
    spilled: int
    warps: int
    shared_bytes: int
    tensor_columns: int
    note: str | None = None


def resident_blocks(gpu: GPU, tile: Tile, d: int, dtype: str, stages: int = STAGES) -> Residency:
    """Q blocks of this tile resident on the whole GPU at once.

    A tile whose shared memory (or tensor memory) exceeds the block limit would not launch. It is then counted as
    one block a multiprocessor, the most favourable reading, with `fits` False and a sentence in `note`.
    """
    found = occupancy(gpu, tile.Br, tile.Bc, d, Problem(d=d, dtype=dtype).element_bytes, stages)
    limits = {name: int(blocks) for name, blocks in found["limits"].items()}
    fits = min(limits["shared memory"], limits["tensor memory"]) > 0
    per_sm = max(1, int(found["blocks"]))
    wanted = int(found["wanted"])
    return Residency(
        blocks=per_sm * gpu.sms,
        per_sm=per_sm,
        fits=fits,
        # Where several are equally scarce, shared memory: its count is exact, that of registers a model.
        limiter=min(limits, key=limits.get) if fits else "nothing fits",
        registers=min(wanted, MOST_REGISTERS),
        spilled=max(0, wanted - MOST_REGISTERS),
        warps=int(found["warps"]),
        shared_bytes=int(found["shared"]),
        tensor_columns=int(found["columns"]),
        note=None if fits else _note(gpu, int(found["shared"]), int(found["columns"])),
    )


def _note(gpu: GPU, shared: int, columns: int) -> str:
    if shared > gpu.smem_block:
        return (
            f"A block of this kernel needs {shared:,} B of shared memory; {gpu.name} allows "
            f"{gpu.smem_block:,} B, so it would not launch. Counted as one block a multiprocessor."
        )
    return (
        f"A block of this kernel needs {columns:,} columns of tensor memory; {gpu.name} has "
        f"{TENSOR_COLUMNS} a multiprocessor, so it would not launch. Counted as one block a multiprocessor."
    )
