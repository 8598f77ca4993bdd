"""Hardware counters: this program run as a child of NVIDIA's `ncu`, whose CSV is read back.

The child (`cli_measure --child counters`) runs each case once to compile and warm up, then `LAUNCHES` times
between `cudaProfilerStart` and `Stop`, inside an NVTX range that names the case. `ncu` replays every kernel
in that window until all counters are read, with its caches flushed before each pass, and leaves the clocks
alone.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from workshop.hardware import SECTOR

LAUNCHES = 2

#: ncu's counters, by the name a recording keeps them under in its JSON.
NCU = {
    "dram_read": "dram__bytes_read.sum",
    "dram_write": "dram__bytes_write.sum",
    "l2_read_sectors": "lts__t_sectors_srcunit_tex_op_read.sum",
    "l2_write_sectors": "lts__t_sectors_srcunit_tex_op_write.sum",
    "l2_total": "lts__t_bytes.sum",
    "l1_fill": "l1tex__m_xbar2l1tex_read_bytes.sum",
    "l1_global_load": "l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum",
    "l1_fill_bulk": "l1tex__m_xbar2l1tex_read_bytes_pipe_tma.sum",
    "spill_load": "l1tex__t_bytes_pipe_lsu_mem_local_op_ld.sum",
    "spill_store": "l1tex__t_bytes_pipe_lsu_mem_local_op_st.sum",
    "duration": "gpu__time_duration.sum",
    "registers": "launch__registers_per_thread",
    "shared_dynamic": "launch__shared_mem_per_block_dynamic",
    "grid": "launch__grid_size",
    "block": "launch__block_size",
    "blocks_by_registers": "launch__occupancy_limit_registers",
    "blocks_by_shared": "launch__occupancy_limit_shared_mem",
    "blocks_by_warps": "launch__occupancy_limit_warps",
}
_RANGE = re.compile(r"workshop-case-(\d+)-(\d+)")


class CountersRefused(RuntimeError):
    """`ncu` is missing or may not read the counters here; the message says which and what to do."""


@dataclass(frozen=True)
class Counted:
    """The counters of one kernel launch: `case` is the index of its case, `launch` the repetition, `counters`
    are by the names of `NCU` (bytes, sectors, seconds, or plain numbers); one that was not read is absent."""

    case: int
    launch: int
    kernel: str
    counters: dict[str, float]


def range_name(case: int, launch: int) -> str:
    """The NVTX range that wraps one repetition of a case."""
    return f"workshop-case-{case}-{launch}"


def command(log: Path, child: Sequence[str], ncu: str = "ncu") -> list[str]:
    """The command line that runs `child` (a Python module and its arguments) under ncu, writing CSV to
    `log`."""
    return [
        ncu,
        "--csv",
        "--page",
        "raw",
        "--print-units",
        "base",
        "--nvtx",
        "--profile-from-start",
        "off",
        "--clock-control",
        "none",
        "--cache-control",
        "all",
        "--replay-mode",
        "kernel",
        "--metrics",
        ",".join(NCU.values()),
        "--log-file",
        str(log),
        sys.executable,
        "-m",
        *child,
    ]


def find_ncu() -> str:
    """The path of `ncu`.

    Raises:
        CountersRefused: it is not installed.
    """
    found = shutil.which("ncu")
    if found is None:
        raise CountersRefused("ncu (Nsight Compute) was not found on PATH, so no hardware counters were read")
    return found


def parse(text: str) -> list[Counted]:
    """What ncu's raw CSV page says, one entry a profiled kernel.

    Raises:
        CountersRefused: ncu says that it may not read the counters, or printed no table.
    """
    if "ERR_NVGPUCTRPERM" in text:
        raise CountersRefused(
            "ncu may not read the counters of this GPU (ERR_NVGPUCTRPERM): run as root, or let the "
            "administrator set "
            "NVreg_RestrictProfilingToAdminUsers=0"
        )
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        said = " / ".join(line for line in lines if line.startswith("==")) or "nothing"
        raise CountersRefused(f"ncu printed no table; it said: {said[-400:]}")
    table = [line for line in lines[start:] if line.startswith('"')]
    header, units, *rows = csv.reader(io.StringIO("\n".join(table)))
    return list(_counted(header, units, rows))


def _counted(header: Sequence[str], units: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[Counted]:
    unit = dict(zip(header, units, strict=True))
    range_of_call = None
    for row in rows:
        # torch launches a backward pass from a thread of its own, which is outside the range; its kernels
        # come right after the forward kernels of their call, so they belong to the last range seen.
        range_of_call = next((match for cell in row if (match := _RANGE.search(cell))), range_of_call)
        if range_of_call is None:
            raise CountersRefused("ncu's table names no NVTX range, so its rows cannot be told apart")
        cells = dict(zip(header, row, strict=True))
        counters = {}
        for name, metric in NCU.items():
            try:
                value = float(cells.get(metric, "").replace(",", ""))
            except ValueError:
                continue  # "n/a": this chip does not have the counter
            counters[name] = value * (1e-9 if unit[metric] in ("ns", "nsecond") else 1)
        yield Counted(int(range_of_call[1]), int(range_of_call[2]), cells["Kernel Name"], counters)


def figures(kernels: Iterable[Counted]) -> dict[str, float]:
    """A recording's metrics for one repetition of a case: the sums over its kernels, in bytes.

    `l2` is what the L1s ask of the L2, read and written. `l1-load` is what arrives in L1 and shared memory from
    the L2: the same for plain loads, asynchronous copies and the bulk (TMA) copies that the load counters do not
    see.
    """
    sums = {"dram-read": 0.0, "dram-write": 0.0, "l2": 0.0, "l1-load": 0.0}
    for kernel in kernels:
        c = kernel.counters
        sums["dram-read"] += c["dram_read"]
        sums["dram-write"] += c["dram_write"]
        sums["l2"] += SECTOR * (c["l2_read_sectors"] + c["l2_write_sectors"])
        sums["l1-load"] += c["l1_fill"]
    return sums


def blocks_per_sm(counters: dict[str, float]) -> int:
    """Blocks of a kernel that fit on a multiprocessor, by registers, shared memory and warps."""
    return int(min(counters[name] for name in ("blocks_by_registers", "blocks_by_shared", "blocks_by_warps")))
