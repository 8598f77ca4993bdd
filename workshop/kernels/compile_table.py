"""The shipped table of compile reports, and the command that makes it.

`lookup(options)` answers from `recordings/compiled/compile-table.csv` at once and without Triton. Every line stands
alone and carries where it comes from; the columns are

    kernel, target, dtype, causal, d, Br, Bc, warps, stages    what was compiled (`Options`)
    status               "built", or "refused": the compiler does not build it, and `note` says why
    shared_bytes         shared memory of a block, B
    tensor_columns       tensor memory of a block, columns (sm_100)
    registers            of a thread
    stack_bytes          local memory of a thread, B: spilled registers
    instructions         "HGMMA=16 MUFU.EX2=66 ...": instruction counts by SASS name
    instruction_total    all instructions
    note                 a sentence, for a refusal
    kernel_hash          of the kernel's source, see `compile_source`
    triton               version of the compiler
    date                 UTC day

    python -m workshop.kernels.compile_table            compile what is missing or out of date
    python -m workshop.kernels.compile_table --check 8  recompile a sample and compare

The command compiles one kernel at a time at low priority, saves as it goes, and goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
import time
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import product
from pathlib import Path

from .compile_options import TARGETS, Options
from .compile_report import CannotCompile, Report, TritonMissing, build, triton_version
from .compile_source import kernel_hash

# A folder of its own: the CSV files beside it are measurements and have other columns.
PATH = Path(__file__).parents[1] / "recordings" / "compiled" / "compile-table.csv"
COLUMNS = (
    *("kernel", "target", "dtype", "causal", "d", "Br", "Bc", "warps", "stages"),
    *("status", "shared_bytes", "tensor_columns", "registers", "stack_bytes", "instructions"),
    *("instruction_total", "note", "kernel_hash", "triton", "date"),
)
SIDES, HEADS = (16, 32, 64, 128, 256), (64, 128, 256)
COMMAND = "python -m workshop.kernels.compile_table"


def grid() -> Iterator[Options]:
    """The builds of the table, most asked for first: the sliders' tiles on every target with two stages, then
    one and three stages, then the causal kernel, then fp16."""
    for stages, causal, dtype in (
        *((stages, False, "bf16") for stages in (2, 1, 3)),
        (2, True, "bf16"),
        (2, False, "fp16"),
    ):
        for d, target, Br, Bc in product(
            (128, 64, 256), ("sm_90", *sorted(set(TARGETS) - {"sm_90"})), SIDES, SIDES
        ):
            yield Options(Br=Br, Bc=Bc, d=d, dtype=dtype, stages=stages, target=target, causal=causal)


def row(options: Options, report: Report | None, note: str = "") -> dict[str, str]:
    """One line as text cells: a report, or a refusal with its sentence."""
    cells = {name: str(int(v) if isinstance(v, bool) else v) for name, v in options.record().items()}
    cells |= dict.fromkeys(COLUMNS[len(cells) :], "")
    cells |= {
        "status": "built" if report else "refused",
        "note": note,
        "kernel_hash": report.kernel_hash if report else kernel_hash(options.kernel),
        "triton": report.triton if report else triton_version() or "",
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }
    if report:
        numbers = ("shared_bytes", "tensor_columns", "registers", "stack_bytes", "instruction_total")
        cells |= {name: str(getattr(report, name)) for name in numbers}
        cells["instructions"] = " ".join(f"{name}={count}" for name, count in report.instructions.items())
    return {name: cells[name] for name in COLUMNS}


def parse(cells: dict[str, str]) -> tuple[Options, Report | str]:
    """One line as options and report, or options and the sentence of a refusal.

    Raises ValueError when a cell is not of its column's kind.
    """
    whole = {name: int(cells[name]) for name in ("d", "Br", "Bc", "warps", "stages", "causal")}
    options = Options(**whole, **{name: cells[name] for name in ("kernel", "target", "dtype")})
    if cells["status"] == "refused":
        return options, cells["note"]
    if cells["status"] != "built":
        raise ValueError(f"status: expected built or refused, got {cells['status']!r}")
    pairs = (pair.split("=") for pair in cells["instructions"].split())
    return options, Report(
        options=options,
        instructions={name: int(count) for name, count in pairs},
        triton=cells["triton"],
        kernel_hash=cells["kernel_hash"],
        **{name: int(cells[name]) for name in ("shared_bytes", "tensor_columns", "registers", "stack_bytes")},
        instruction_total=int(cells["instruction_total"]),
    )


def read(path: Path = PATH) -> list[dict[str, str]]:
    """The lines of a table as text; empty when there is no file.

    Raises ValueError when the columns are not `COLUMNS`.
    """
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        lines = csv.DictReader(file)
        if tuple(lines.fieldnames or ()) != COLUMNS:
            raise ValueError(
                f"{path.name}: expected the columns {', '.join(COLUMNS)}, got {lines.fieldnames}"
            )
        return list(lines)


def write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    """Replaces a table in one step."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    temporary.write_text(text.getvalue(), encoding="utf-8")
    os.replace(temporary, path)


@lru_cache(maxsize=1)
def _table() -> dict[Options, Report | str]:
    current = {}
    for cells in read():
        options, found = parse(cells)
        if cells["kernel_hash"] == kernel_hash(options.kernel):
            current[options] = found
    return current


def find(options: Options) -> Report | str | None:
    """What the shipped table says: a report, the sentence of a refusal, or None where it does not know.

    Lines made from another kernel source than today's are passed over.
    """
    return _table().get(options)


def lookup(options: Options) -> Report | None:
    """The report in the shipped table, or None. Takes microseconds after the first call; needs no Triton."""
    found = find(options)
    return found if isinstance(found, Report) else None


def stale(path: Path = PATH) -> list[str]:
    """What is wrong with the table, as sentences that say what to run; empty when it is complete and current."""
    rows = read(path)
    kernels = sorted({cells["kernel"] for cells in rows})
    wrong = []
    for kernel in kernels:
        old = sorted(
            {cells["kernel_hash"] for cells in rows if cells["kernel"] == kernel} - {kernel_hash(kernel)}
        )
        if old:
            wrong.append(
                f"{path.name} was made from another {kernel} kernel (expected hash {kernel_hash(kernel)}, got "
                f"{', '.join(old)}); run {COMMAND}"
            )
    missing = set(grid()) - {parse(cells)[0] for cells in rows}
    if missing:
        wrong.append(f"{path.name} lacks {len(missing):,} builds of its grid; run {COMMAND}")
    return wrong


def make(path: Path, builds: Iterable[Options], say, save_every: float = 10.0) -> int:
    """Compiles what the table lacks or holds from another kernel or Triton; returns how many it compiled."""
    wanted, version = list(builds), triton_version() or ""
    rows = {parse(cells)[0]: cells for cells in read(path)}
    current = {
        options
        for options, cells in rows.items()
        if (cells["kernel_hash"], cells["triton"]) == (kernel_hash(options.kernel), version)
    }
    todo = [options for options in wanted if options not in current]
    say(f"{len(wanted) - len(todo):,} of {len(wanted):,} builds are current, {len(todo):,} to compile")
    started = saved = time.monotonic()
    for number, options in enumerate(todo, 1):
        try:
            rows[options] = row(options, build(options))
        except TritonMissing:
            raise
        except CannotCompile as refusal:
            rows[options] = row(options, None, str(refusal))
        now = time.monotonic()
        if now - saved > save_every or number == len(todo):
            write(path, (rows[options] for options in wanted if options in rows))
            saved = now
            left = (now - started) / number * (len(todo) - number)
            say(f"{number:,} of {len(todo):,}, about {left / 60:.0f} min left ({options.key()})")
    if not todo:
        write(path, (rows[options] for options in wanted))
    return len(todo)


def differences(cells: dict[str, str]) -> list[str]:
    """Recompiles one line; what differs, as sentences."""
    options, _ = parse(cells)
    try:
        got = row(options, build(options))
    except TritonMissing:
        raise
    except CannotCompile as refusal:
        got = row(options, None, str(refusal))
    return [
        f"{options.key()}, {name}: expected {cells[name]} as in the table, got {got[name]}"
        for name in COLUMNS
        if name != "date" and cells[name] != got[name]
    ]


def sample(rows: list[dict[str, str]], count: int) -> list[dict[str, str]]:
    """So many lines spread evenly over the table."""
    return [rows[(2 * i + 1) * len(rows) // (2 * count)] for i in range(min(count, len(rows)))]


def main(argv: list[str] | None = None) -> int:
    """The command; exit status 0 done, 1 a checked line differs, 2 bad input or no Triton."""
    made = argparse.ArgumentParser(
        prog=COMMAND, description="Make or check the shipped table of compile reports."
    )
    made.add_argument("--check", type=int, metavar="N", help="recompile N lines and compare, change nothing")
    made.add_argument("--out", type=Path, default=PATH, help="the table (default: the shipped one)")
    args = made.parse_args(argv)
    if hasattr(os, "nice"):
        os.nice(10)
    try:
        if args.check is None:
            make(args.out, grid(), lambda text: print(text, file=sys.stderr, flush=True))
            return 0
        found = stale(args.out) + [
            text for cells in sample(read(args.out), args.check) for text in differences(cells)
        ]
    except (TritonMissing, ValueError) as error:
        print(f"{COMMAND}: {error}", file=sys.stderr)
        return 2
    print("\n".join(found) or "every checked line is as compiled today")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
