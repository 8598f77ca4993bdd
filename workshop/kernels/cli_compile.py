"""`python -m workshop compile`: what Triton's compiler makes of a kernel, for a GPU that need not be here.

Exit status: 0 a report was printed (also when the kernel would not launch), 2 bad input or nothing to compile
with; then one line on the error output says what.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from workshop.hardware import GPU, GPUS
from workshop.problem import OptionError
from workshop.units import binary, count, exact_bytes

from . import compile_table
from .compile_cache import Cache
from .compile_options import Options, describe
from .compile_report import CannotCompile, Report, build, triton_version
from .compile_sass import MEANINGS
from .compile_verdict import gpu_for, launches, occupancy, sentence, suggestions

PROGRAM = "python -m workshop compile"
COMPILED_FOR = tuple(slug for slug, gpu in GPUS.items() if gpu.target)
HELP = {
    "Br": "rows of a Q block",
    "Bc": "rows of a K, V block",
    "d": "head size",
    "dtype": "element type",
    "warps": "warps of a block (default: 4 up to Br = 64, 8 above)",
    "stages": "K, V tiles in flight",
    "target": "architecture to compile for (default: that of --gpu, or sm_90)",
    "kernel": "which kernel",
}
WHOLE = ("Br", "Bc", "d", "warps", "stages")


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        """One line without the usage text, and status 2; an option without its value is told its range."""
        for action in self._actions:
            if message.startswith(f"argument {'/'.join(action.option_strings)}: expected one argument"):
                option = action.dest
                message = (
                    f"argument {'/'.join(action.option_strings)}: expected {describe(option)}; got nothing"
                )
        self.exit(2, f"{self.prog}: {message}\n")


def _converter(option: str):
    """An argparse type for one option; the message names what was expected and got."""

    def convert(text: str):
        try:
            value = int(text) if option in WHOLE else text
            Options(**{option: value})
        except ValueError:
            raise argparse.ArgumentTypeError(f"expected {describe(option)}; got {text!r}") from None
        return value

    return convert


def _zero_or_one(text: str) -> bool:
    if text not in ("0", "1"):
        raise argparse.ArgumentTypeError(f"expected 0 or 1; got {text!r}")
    return text == "1"


def _gpu(text: str) -> GPU:
    if text not in COMPILED_FOR:
        raise argparse.ArgumentTypeError(f"expected one of {', '.join(COMPILED_FOR)}; got {text!r}")
    return GPUS[text]


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = _Parser(
        prog=PROGRAM,
        description="Compiles a kernel for a named GPU architecture, without a GPU, and reads shared memory, "
        "registers, spills and instructions off the result.",
        allow_abbrev=False,
    )
    made.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    standard = Options()
    for option, text in HELP.items():
        names = ["-d", "--d"] if option == "d" else [f"--{option}"]
        fixed = option not in ("warps", "target")
        help_text = f"{text}: {describe(option)}" + (
            f" (default {getattr(standard, option)})" if fixed else ""
        )
        made.add_argument(*names, dest=option, type=_converter(option), help=help_text)
    made.add_argument(
        "--causal",
        type=_zero_or_one,
        nargs="?",
        const=True,
        default=False,
        help="with the causal mask: 0 or 1",
    )
    made.add_argument("--gpu", type=_gpu, help=f"whose limits to judge by: {', '.join(COMPILED_FOR)}")
    made.add_argument(
        "--fresh", action="store_true", help="compile even if the table or the cache has the answer"
    )
    return made


def as_dict(report: Report, gpu: GPU) -> dict:
    """The report as the command prints it in JSON. Bytes; `instructions` are counts in the program text."""
    return {
        "shared_bytes": report.shared_bytes,
        "limit_bytes": gpu.smem_block,
        "launches": launches(report, gpu),
        "registers": report.registers,
        "stack_bytes": report.stack_bytes,
        "spill_instructions": report.spill_instructions,
        "instructions": report.instructions,
        "blocks_per_sm": occupancy(report, gpu).blocks,
        "triton": report.triton,
        "kernel": report.kernel,
    }


def as_table(report: Report, gpu: GPU, verdict: str) -> str:
    """The report for people."""
    o, held = report.options, occupancy(report, gpu)
    by = {
        "shared memory": held.by_shared,
        "registers": held.by_registers,
        "threads": held.by_threads,
        "tensor memory": held.by_tensor_memory,
    }
    lines = [
        f"{o.kernel} kernel, {o.Br} x {o.Bc} tile, d = {o.d}, {o.dtype}{', causal' if o.causal else ''}, "
        f"{o.warps} warps, {o.stages} stage{'' if o.stages == 1 else 's'}, {o.target}",
        f"compiled by Triton {report.triton}; limits of {gpu.name}",
        "",
        f"  {'shared memory':<22}{exact_bytes(report.shared_bytes):>12}  of {exact_bytes(gpu.smem_block)} "
        f"({binary(gpu.smem_block)}) a block",
    ]
    if report.tensor_columns:
        lines.append(f"  {'tensor memory':<22}{count(report.tensor_columns):>12}  columns of 512")
    lines += [
        f"  {'registers':<22}{count(report.registers):>12}  a thread, of 255",
        f"  {'stack (spilled)':<22}{exact_bytes(report.stack_bytes):>12}  a thread",
        f"  {'blocks on an SM':<22}{count(held.blocks):>12}  "
        + ", ".join(f"{name} {count(n)}" for name, n in by.items() if n is not None),
        "",
        f"  instructions in the program text, {count(report.instruction_total)} in all",
        *(f"    {name:<20}{count(n):>12}  {MEANINGS[name]}" for name, n in report.instructions.items()),
        "",
        f"It {verdict}.",
    ]
    return "\n".join(lines)


def obtain(options: Options, fresh: bool = False) -> Report:
    """A report from the shipped table, from the disk cache, or compiled now and kept.

    Raises CannotCompile with a sentence.
    """
    store = Cache()
    if not fresh:
        known = compile_table.lookup(options)
        # Figures of another compiler are not what this one would say; without one, the table is all there is.
        if known is not None and triton_version() in (known.triton, None):
            return known
        kept = store.get(options)
        if kept is not None:
            return kept
    report = build(options)
    store.put(report)
    return report


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit status."""
    made = parser()
    args = made.parse_args(argv)
    given = {name: getattr(args, name) for name in HELP if getattr(args, name) is not None}
    if args.gpu is not None:
        given.setdefault("target", args.gpu.target)
        if given["target"] != args.gpu.target:
            made.error(
                f"argument --target: expected {args.gpu.target} with --gpu {args.gpu.slug}; got {given['target']!r}"
            )
    try:
        options = Options(**given, causal=args.causal)
        gpu = args.gpu or gpu_for(options.target)
        report = obtain(options, args.fresh)
    except (OptionError, CannotCompile) as error:
        made.error(str(error))
    if args.json:
        print(json.dumps(as_dict(report, gpu), indent=2))
        return 0

    def ask(wanted: Options) -> Report | None:
        try:
            return obtain(wanted)
        except CannotCompile:
            return None

    found = None if launches(report, gpu) else suggestions(report, gpu, ask)
    print(as_table(report, gpu, sentence(report, gpu, found)))
    return 0
