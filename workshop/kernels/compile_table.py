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
    program_hash         of the program that the compiler's front end made of it, see `compile_report`
    triton               version of the compiler
    date                 UTC day

    python -m workshop.kernels.compile_table            compile what is missing or out of date
    python -m workshop.kernels.compile_table --check 8  recompile a sample and compare

The command compiles one kernel at a time at low priority, saves as it goes, and goes on where it was stopped. When
the source has changed but the front end still makes the same program of it, the figures stand and only the hash
is renewed.
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
from .compile_report import CannotCompile, Report, TritonMissing, build, program_hash, triton_version
from .compile_source import kernel_hash

# A folder of its own: the CSV files beside it are measurements and have other columns.
PATH = Path(__file__).parents[1] / "recordings" / "compiled" / "compile-table.csv"
COLUMNS = (
    *("kernel", "target", "dtype", "causal", "d", "Br", "Bc", "warps", "stages"),
    *("status", "shared_bytes", "tensor_columns", "registers", "stack_bytes", "instructions"),
    *("instruction_total", "note", "kernel_hash", "program_hash", "triton", "date"),
)
SIDES, HEADS = (16, 32, 64, 128, 256), (128, 64, 256)
COMMAND = "python -m workshop.kernels.compile_table"


def grid() -> Iterator[Options]:
    """The builds of the table, most asked for first.

    Two stages, bf16: the sliders' tiles, every head size of `HEADS`, every target. Then the same with one stage,
    which is what a tile that does not fit is advised to try; then, for the two smaller head sizes, three stages
    and the causal kernel.
    """
    targets = ("sm_90", *sorted(set(TARGETS) - {"sm_90"}))
    for stages, causal, heads in (
        (2, False, HEADS),
        (1, False, HEADS),
        (2, True, HEADS[:2]),
        (3, False, HEADS[:2]),
    ):
        for d, target, Br, Bc in product(heads, targets, SIDES, SIDES):
            yield Options(Br=Br, Bc=Bc, d=d, stages=stages, target=target, causal=causal)


def row(options: Options, report: Report | None, note: str = "") -> dict[str, str]:
    """One line as text cells: a report, or a refusal with its sentence."""
    cells = {name: str(int(v) if isinstance(v, bool) else v) for name, v in options.record().items()}
    cells |= dict.fromkeys(COLUMNS[len(cells) :], "")
    cells |= {
        "status": "built" if report else "refused",
        "note": note,
        "kernel_hash": report.kernel_hash if report else kernel_hash(options.kernel),
        "program_hash": report.program_hash if report else "",
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
        program_hash=cells["program_hash"],
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
    say(f"{len(wanted) - len(todo):,} of {len(wanted):,} builds are current, {len(todo):,} to look at")
    started = saved = time.monotonic()
    compiled = 0
    for number, options in enumerate(todo, 1):
        kept = renewed(options, rows.get(options), version)
        rows[options] = kept or compiled_row(options)
        compiled += kept is None
        now = time.monotonic()
        if now - saved > save_every or number == len(todo):
            write(path, (rows[options] for options in wanted if options in rows))
            saved = now
            say(
                f"{number:,} of {len(todo):,} in {now - started:.0f} s, {compiled:,} compiled ({options.key()})"
            )
    if not todo:
        write(path, (rows[options] for options in wanted))
    return compiled


def compiled_row(options: Options) -> dict[str, str]:
    """One line, compiled now."""
    try:
        return row(options, build(options))
    except TritonMissing:
        raise
    except CannotCompile as refusal:
        return row(options, None, str(refusal))


def renewed(options: Options, cells: dict[str, str] | None, version: str) -> dict[str, str] | None:
    """A line whose figures stand although the kernel's source has changed, or None where it must be compiled."""
    if cells is None or cells["triton"] != version or not cells["program_hash"]:
        return None
    try:
        same = program_hash(options) == cells["program_hash"]
    except TritonMissing:
        raise
    except CannotCompile:
        return None
    return cells | {"kernel_hash": kernel_hash(options.kernel)} if same else None


def differences(cells: dict[str, str]) -> list[str]:
    """Recompiles one line; what differs, as sentences."""
    options, _ = parse(cells)
    got = compiled_row(options)
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
