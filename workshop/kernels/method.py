"""How each metric is measured, in words that travel with every recording and every live run."""

from __future__ import annotations

from workshop.hardware import SECTOR

from .counters import LAUNCHES, NCU
from .machine import COPY_BYTES, MATMUL_SIDE
from .timing import FLUSH_CACHES, LEAST, MOST

METHOD = {
    "time": (
        f"Device time between two events around one call: median, 20th and 80th percentile of {LEAST} "
        f"to {MOST} calls. Before each call a buffer of {FLUSH_CACHES} times the L2 cache is "
        "overwritten, as often as it takes for the whole call to be queued before the device reaches "
        "the first event. The first call, which compiles, is not timed. forward+backward is one "
        "forward call and the gradients of Q, K and V."
    ),
    "error-max": (
        "Largest absolute difference from float64 on the same rounded inputs, standard normal Q, K, V "
        "and dO: over the first and last head and, forward, at most 1,024 rows spread evenly; "
        "forward+backward, over dQ, dK and dV. The percentiles are over three random inputs."
    ),
    "dram-read": (
        f"{NCU['dram_read']} of Nsight Compute, summed over the kernels of one call; caches flushed "
        f"before each kernel, clocks not locked. The percentiles are over {LAUNCHES} launches."
    ),
    "dram-write": (
        f"{NCU['dram_write']}, as dram-read. What is still in the L2 when a kernel ends is not counted."
    ),
    "l2": (
        "Bytes that multiprocessors read from and write to the L2, as dram-read: "
        f"{SECTOR} x ({NCU['l2_read_sectors']} + {NCU['l2_write_sectors']}). Reads of one line by "
        "neighbouring multiprocessors can reach the L2 as one, so this can be below l1-load; spilled "
        "registers are in it."
    ),
    "l1-load": (
        f"Bytes that arrive in L1 and shared memory from the L2, as dram-read: {NCU['l1_fill']}. It "
        "counts plain loads, asynchronous copies and bulk tensor copies alike."
    ),
    "shared": (
        "Shared memory of a block as Triton compiled it; where the GPU refused the launch, what it asked for."
    ),
    "registers": "Registers of a thread, as the driver reports them for the loaded kernel.",
    "spills": "Bytes of local memory a thread spills registers to, as the driver reports them.",
    "copy-bandwidth": (
        f"Bytes read plus bytes written, a second, of a {COPY_BYTES >> 30} GiB device-to-device copy; "
        "timed as time."
    ),
    "matmul-rate": (
        f"FLOP a second, 2 a multiply-add, of a bf16 product of two {MATMUL_SIDE:,} x {MATMUL_SIDE:,} "
        "standard normal matrices; timed as time."
    ),
}

#: What the CPU's figures mean where they differ from a GPU's.
CPU_METHOD = METHOD | {
    "time": (
        "Wall-clock time of one call on the CPU: median, 20th and 80th percentile of several calls. "
        "The first call is not counted; caches are as the call before left them."
    ),
}
