"""What the finished machine code says: registers, stack frame and instruction mix, read with `cuobjdump`.

The tool ships inside the triton package, next to the assembler that made the code, so no CUDA installation is
needed. Counts are of instructions in the program text, not of how often they run: one HGMMA in a loop counts once.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

#: Name shown -> (what it does, the SASS mnemonics counted under it). A mnemonic is a prefix of whole dotted parts:
#: "MUFU.EX2" counts MUFU.EX2 and MUFU.EX2.F16, "LDL" counts LDL and LDL.LU, not LDLX.
MEANINGS = {
    "HMMA": "tensor cores, one warp (Ampere, Ada)",
    "HGMMA": "tensor cores, four warps at once (Hopper)",
    "UTCHMMA": "tensor cores, one thread for the block, result in tensor memory (Blackwell)",
    "IMMA": "tensor cores, integers",
    "QGMMA": "tensor cores, 8-bit floats (Hopper)",
    "UTCQMMA": "tensor cores, 8-bit floats (Blackwell)",
    "DMMA": "tensor cores, doubles",
    "MUFU.EX2": "exp2 on the special function unit",
    "MUFU.RCP": "reciprocal on the special function unit",
    "MUFU.LG2": "log2 on the special function unit",
    "FFMA": "fp32 multiply-add",
    "FMUL": "fp32 multiply",
    "FADD": "fp32 add",
    "FMNMX": "fp32 minimum or maximum",
    "F2FP": "conversion of two floats to a narrower type",
    "SHFL": "exchange between the threads of a warp",
    "LDL": "load from local memory: a spilled register coming back",
    "STL": "store to local memory: a register spilled",
    "LDG": "load from global memory into registers",
    "STG": "store to global memory",
    "LDGSTS": "asynchronous copy from global to shared memory (cp.async)",
    "UTMALDG": "tensor memory accelerator: tile from global to shared memory",
    "UTMASTG": "tensor memory accelerator: tile from shared to global memory",
    "UBLKCP": "bulk copy between global and shared memory",
    "LDS": "load from shared memory",
    "STS": "store to shared memory",
    "LDSM": "matrix load from shared memory",
    "STSM": "matrix store to shared memory",
    "LDTM": "load from tensor memory",
    "STTM": "store to tensor memory",
    "BAR": "barrier of the block",
    "SYNCS": "memory barrier object (mbarrier)",
    "WARPGROUP": "ordering of four-warp tensor core work",
}
TENSOR_CORE = ("HMMA", "HGMMA", "UTCHMMA", "IMMA", "QGMMA", "UTCQMMA", "DMMA")
SPILLS = ("LDL", "STL")
#: Names that a report lists even when their count is zero.
ALWAYS = ("MUFU.EX2", *SPILLS)

_INSTRUCTION = re.compile(r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z][A-Z0-9_.]*)", re.MULTILINE)
_FUNCTION = re.compile(r"^\s*Function\s+(\S+?):\s*\n\s*REG:(\d+)\s+STACK:(\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Code:
    """registers: of a thread. stack_bytes: of a thread, its frame in local memory. instructions: name ->
    count, the names of `MEANINGS` that occur and those of `ALWAYS`. total: every instruction but padding."""

    registers: int
    stack_bytes: int
    instructions: dict[str, int]
    total: int


def read(cubin: bytes, function: str, cuobjdump: str) -> Code:
    """Figures of one kernel in a compiled object.

    Raises RuntimeError when the tool fails or does not list the function.
    """
    with tempfile.TemporaryDirectory(prefix="workshop-sass-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run(
            [cuobjdump, "-res-usage", "-sass", str(path)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"cuobjdump ended with status {done.returncode}: {done.stderr.strip()[:200]}")
    return parse(done.stdout, function)


def parse(text: str, function: str) -> Code:
    """The figures in what `cuobjdump -res-usage -sass` prints for an object with one kernel.

    Raises RuntimeError when the function is not listed or no instruction is found.
    """
    usage = {name: (int(registers), int(stack)) for name, registers, stack in _FUNCTION.findall(text)}
    if function not in usage:
        raise RuntimeError(
            f"expected the resources of {function} in cuobjdump's output, got {', '.join(usage) or 'none'}"
        )
    counted = Counter(_INSTRUCTION.findall(text))
    del counted["NOP"]
    if not counted:
        raise RuntimeError("expected instructions in cuobjdump's output, got none")
    registers, stack = usage[function]
    mix = {name: sum(n for found, n in counted.items() if _belongs(found, name)) for name in MEANINGS}
    return Code(
        registers,
        stack,
        {name: n for name, n in mix.items() if n or name in ALWAYS},
        sum(counted.values()),
    )


def _belongs(mnemonic: str, name: str) -> bool:
    return mnemonic == name or mnemonic.startswith(name + ".")
