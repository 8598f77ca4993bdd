"""The models from a terminal: `python -m workshop --json -N 8192 -d 128`.

Without a sub-command: traffic, time and memory of one setting, as a table or as JSON. `compile` asks Triton's
compiler about a tile, `measure` runs the kernels on a GPU; both need torch and triton. Exit status: 0 done, 2
bad input or a sub-command that cannot run here (one line on stderr), 141 the reader of a pipe left.
"""

import argparse
import importlib
import json
import os
import sys

from workshop import report
from workshop.hardware import DEFAULT_GPU, GPUS, custom, gpu_named
from workshop.presets import DEFAULTS
from workshop.problem import LIMITS, MEANINGS, OptionError, Problem, Tile, describe_range
from workshop.units import DTYPE_BYTES

COMMANDS = {"compile": "workshop.kernels.cli_compile", "measure": "workshop.kernels.cli_measure"}
_COMMAND_HELP = """sub-commands:
  compile   what Triton's compiler says about a tile, without a GPU
  measure   run the kernels on a GPU and record what they take
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        """One line, without the usage text, and status 2; an option without its value is told its range."""
        for action in self._actions:
            if message.startswith(f"argument {'/'.join(action.option_strings)}: expected one argument"):
                message = f"argument {'/'.join(action.option_strings)}: expected {action.help}; got nothing"
        self.exit(2, f"{self.prog}: {message}\n")


def _refuse(expected, got):
    """The error argparse words as "argument -N/--N: expected ...; got ..."."""
    return argparse.ArgumentTypeError(f"expected {expected}; got {got!r}")


def _whole(option):
    """An argparse type for a whole number in the option's range; the message names option, range and
    input."""

    def convert(text):
        try:
            value = int(text)
        except ValueError:
            value = None
        low, high = LIMITS[option]
        if value is None or not low <= value <= high:
            raise _refuse(describe_range(option), text)
        return value

    return convert


def _positive(unit):
    """An argparse type for a finite number above 0, in `unit`."""

    def convert(text):
        try:
            value = float(text)
        except ValueError:
            value = 0.0
        if not 0 < value < float("inf"):
            raise _refuse(f"a finite number above 0, in {unit}", text)
        return value

    return convert


def _choice(choices):
    """An argparse type for one of several words."""

    def convert(text):
        if text not in choices:
            raise _refuse(f"one of {', '.join(choices)}", text)
        return text

    return convert


def parser() -> argparse.ArgumentParser:
    """The options of the models' command line; names and ranges are those of the pages' links."""
    made = _Parser(
        prog="python -m workshop",
        description="Traffic, time and on-chip memory of attention, modelled exactly. Traffic is per head; "
        "FLOPs, time and score bytes are per layer (B x H heads).",
        epilog=_COMMAND_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    made.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    for option in LIMITS:
        names = [f"-{option}", f"--{option}"] if option in ("N", "d") else [f"--{option}"]
        text = f"{MEANINGS[option]}: {describe_range(option)} (default {DEFAULTS[option]:,})"
        made.add_argument(*names, dest=option, type=_whole(option), default=DEFAULTS[option], help=text)
    made.add_argument(
        "--dtype",
        type=_choice(tuple(DTYPE_BYTES)),
        default=DEFAULTS["dtype"],
        help=f"{MEANINGS['dtype']}: {', '.join(DTYPE_BYTES)} (default {DEFAULTS['dtype']})",
    )
    made.add_argument(
        "--causal",
        type=_choice(("0", "1")),
        nargs="?",
        const="1",
        default="0",
        help=f"{MEANINGS['causal']}: 0 or 1 (default 0; 1 without a value)",
    )
    made.add_argument(
        "--gpu",
        type=_choice((*GPUS, "custom")),
        default=DEFAULT_GPU.slug,
        help=f"{', '.join(GPUS)}, or custom (default {DEFAULT_GPU.slug})",
    )
    made.add_argument("--bandwidth", type=_positive("TB/s"), help="of a custom GPU: memory bandwidth, TB/s")
    made.add_argument("--peak", type=_positive("TFLOP/s"), help="of a custom GPU: dense peak, TFLOP/s")
    return made


def _gpu(options):
    given = {name: getattr(options, name) for name in ("bandwidth", "peak")}
    if options.gpu != "custom":
        for name, value in given.items():
            if value is not None:
                raise OptionError(f"--{name}", "--gpu custom beside it", options.gpu)
        return gpu_named(options.gpu)
    for name, value in given.items():
        if value is None:
            raise OptionError(f"--{name}", "a value with --gpu custom", None)
    return custom(options.bandwidth * 1e12, options.peak * 1e12)


def _models(argv) -> int:
    made = parser()
    try:
        options = made.parse_args(argv)
        problem = Problem(
            **{name: getattr(options, name) for name in ("N", "d", "H", "B", "dtype")},
            causal=options.causal == "1",
        )
        tile = Tile(options.Br, options.Bc, options.sram)
        gpu = _gpu(options)
    except OptionError as error:
        made.error(str(error))
    if options.json:
        print(json.dumps(report.as_dict(problem, tile, gpu), indent=2, allow_nan=False))
    else:
        print(report.as_table(problem, tile, gpu))
    return 0


def _command(name, argv) -> int:
    """Runs a sub-command, which is imported only now: it may need torch, triton or a GPU."""
    try:
        module = importlib.import_module(COMMANDS[name])
    except ImportError as error:
        missing = error.name or str(error)
        print(f"python -m workshop {name}: needs {missing}, which cannot be imported here", file=sys.stderr)
        return 2
    return module.main(argv) or 0


def main(argv: list[str] | None = None) -> int:
    """Runs the command line on `argv` (default: the process's arguments) and returns the exit status."""
    argv = sys.argv[1:] if argv is None else argv
    try:
        status = _command(argv[0], argv[1:]) if argv and argv[0] in COMMANDS else _models(argv)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader left (`| head`). What Python would still flush at exit goes nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(main())
