"""Memory that Triton's compiler sets aside on the chip for a block of the teaching kernel, as formulas.

What a block keeps in shared memory depends on how its tensor cores are fed:

from shared memory   Hopper and Blackwell (sm_90, sm_100), from 64 rows up: the tensor cores read tiles where they
                     lie, so the tile in use and those on their way each have a buffer. Q + stages x (K + V).
from registers       Ampere and Ada (sm_80, sm_89), fewer than 64 rows anywhere, and fp32, which does without tensor
                     cores: the tile in use has been copied to registers, so one stage fewer has a buffer; with one
                     stage K and V take turns in a single one. Where a block is lower than d, its warps share out the
                     columns of O instead of the rows, and the weights P pass between them through shared memory (fp32:
                     always).

The formulas were read off 1,000 compiled kernels (`recordings/compiled/compile-table.csv`, bf16) and agree with
all of them for sm_80, sm_89 and sm_90 to the byte; on sm_100 the compiler asks for up to 2 KiB more, for barriers,
statistics and alignment, which are left out. fp8 is not compiled: it is counted as 16 bit, one byte an element.
A GPU without a target here (AMD, a reader's own) is counted as in the first case, as FlashAttention-2 is.
"""

from typing import NamedTuple

import numpy as np

from workshop.units import DTYPE_BYTES

STAGES = 2
#: Targets whose tensor cores read shared memory, and the rows from which they do (one instruction of 64 rows).
FROM_SHARED, LEAST_ROWS = ("sm_90", "sm_100"), 64
WITHOUT_TENSOR_CORES = DTYPE_BYTES["fp32"]


def padded_head(d):
    """Head size as a Triton kernel holds it: the next power of two, at least 16. Ints or arrays.

    A launch asks for it too, so an int does without arrays.
    """
    if isinstance(d, int):
        return max(16, 1 << (d - 1).bit_length())
    return 2 ** np.ceil(np.log2(np.maximum(d, 16))).astype(np.int64)


def default_warps(Br):
    """Warps of a block that is Br rows high: 4 up to 64 rows, 8 above. Ints or arrays."""
    return 4 * (1 + (Br > 64))


def from_registers(Br, element_bytes, target):
    """Whether operands are copied from shared memory to registers before they are multiplied. Ints or arrays."""
    if target is None:
        return np.zeros_like(np.asarray(Br), dtype=bool)
    return (
        (np.asarray(Br) < LEAST_ROWS) | (target not in FROM_SHARED) | (element_bytes == WITHOUT_TENSOR_CORES)
    )


def weights_pass_through(Br, d, element_bytes, target):
    """Whether the weights P pass between warps through shared memory. Ints or arrays, d padded."""
    low = (np.asarray(Br) < d) | (element_bytes == WITHOUT_TENSOR_CORES)
    return from_registers(Br, element_bytes, target) & low


class SharedMemory(NamedTuple):
    """Shared memory of one block, B: the Q tile, the buffers of K and of V, and the weights P. Ints or arrays.

    Where K and V take turns in one buffer, it is counted under k.
    """

    q: int
    k: int
    v: int
    p: int


def shared_memory(Br, Bc, d, element_bytes, stages=STAGES, target=None) -> SharedMemory:
    """Shared memory of one block, tensor by tensor. Ints or int64 arrays; d is not padded here."""
    registers = from_registers(Br, element_bytes, target)
    buffers = np.where(registers, stages - 1, stages)
    tile = Bc * d * element_bytes
    return SharedMemory(
        q=Br * d * element_bytes,
        k=tile * np.maximum(buffers, 1),
        v=tile * buffers,
        p=Br * Bc * element_bytes * weights_pass_through(Br, d, element_bytes, target),
    )


def kernel_shared_bytes(Br, Bc, d, element_bytes, stages=STAGES, target=None):
    """Shared memory of a FlashAttention kernel, B. Ints or arrays, d as given (see `padded_head`).

    target: compiler target, "sm_80" and so on, None for Q + stages x (K + V) whatever the tile.
    """
    return sum(shared_memory(Br, Bc, d, element_bytes, stages, target))


def tensor_columns(Br, Bc, d, element_bytes, target):
    """Tensor memory of a block, columns: on sm_100 S, P (half as wide) and O live there, 128 rows to a column.

    Up to 512 a power of two is allocated. 64 rows use half the lanes, and never fewer than 2 d columns (read off
    the table). 0 on other targets and where the tensor cores are fed from registers. Ints or arrays, d padded.
    """
    Br, Bc, d = (np.asarray(value, dtype=np.int64) for value in (Br, Bc, d))
    if target != "sm_100":
        return np.zeros(np.broadcast_shapes(Br.shape, Bc.shape, d.shape), dtype=np.int64)
    wanted = np.maximum(Br, LEAST_ROWS) * (3 * Bc + 2 * d) / 256
    wanted = np.where(Br <= LEAST_ROWS, np.maximum(wanted, 2 * d), wanted)
    # A tile between the powers of two is compiled as the next one; the columns grow with it.
    allocated = 2 ** np.ceil(np.log2(wanted))
    columns = np.where(allocated <= 512, allocated, np.ceil(wanted)).astype(np.int64)
    return np.where(from_registers(Br, element_bytes, target), 0, columns)
