"""From a compile report to a verdict for one GPU: would it launch, how many blocks fit, and what to change.

Residency follows NVIDIA's occupancy rules (`workshop.residency.blocks_by`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from workshop.hardware import GPU, GPUS
from workshop.kernel_memory import kernel_shared_bytes, padded_head, tensor_columns
from workshop.residency import TENSOR_COLUMNS, WARP, blocks_by
from workshop.units import DTYPE_BYTES, exact_bytes

from .compile_options import SIDES, Options
from .compile_report import Report

MOST_THREADS = 1024
#: How far the formula for shared memory may be off before a build is taken for hopeless.
DOUBT = 1.25
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight")


def gpu_for(target: str) -> GPU:
    """The GPU that stands for a compiler target: the first of the table that is built for it."""
    return next(gpu for gpu in GPUS.values() if gpu.target == target)


def short_name(gpu: GPU) -> str:
    """A GPU's name without form factor and memory size, for a sentence: "H100"."""
    return gpu.name.split(" SXM")[0]


def with_article(name: str) -> str:
    """ "an H100", "a B200": by how the first letter is said."""
    initials = "AEFHILMNORSX" if name[1:2].isdigit() or name[:2].isupper() else "AEIO"
    return f"{'an' if name[0] in initials else 'a'} {name}"


@dataclass(frozen=True)
class Occupancy:
    """Blocks that fit on one multiprocessor by each resource, and by all of them; 0 where not even one does.

    limiter: the scarcest of "shared memory", "registers", "threads", "tensor memory"; several are listed,
    "a, b and c".
    """

    by_shared: int
    by_registers: int
    by_threads: int
    by_tensor_memory: int | None
    blocks: int
    limiter: str


def occupancy(report: Report, gpu: GPU) -> Occupancy:
    """How many blocks of this kernel one multiprocessor of `gpu` holds."""
    warps = report.options.warps
    found = blocks_by(gpu, warps, report.registers, report.shared_bytes, report.tensor_columns)
    limits = {name: int(blocks) for name, blocks in found.items()}
    if warps * WARP > MOST_THREADS:
        limits["threads"] = 0
    if not report.tensor_columns:
        del limits["tensor memory"]
    blocks = min(limits.values())
    return Occupancy(
        limits["shared memory"],
        limits["registers"],
        limits["threads"],
        limits.get("tensor memory"),
        blocks,
        _listed([name for name, held in limits.items() if held == blocks]),
    )


def launches(report: Report, gpu: GPU) -> bool:
    """Whether the GPU takes a block of this kernel: shared memory, tensor memory and threads within its
    limits."""
    return (
        report.shared_bytes <= gpu.smem_block
        and report.tensor_columns <= TENSOR_COLUMNS
        and report.options.warps * WARP <= MOST_THREADS
    )


@dataclass(frozen=True)
class Suggestion:
    """One change that makes a kernel launch, checked by compiling it. option, value: the change. text: as in
    "Bc=128" or "one stage". report: of the changed kernel."""

    option: str
    value: int
    text: str
    report: Report


def search(report: Report, gpu: GPU) -> Generator[Options, Report | None, tuple[Suggestion, ...]]:
    """Changes of one option that make a kernel launch, as a coroutine that asks for reports.

    It yields options and is sent their report (None: there is none); it returns at most one suggestion
    each for Bc and stages, and one for Br only if neither helps. Largest value first, so that a suggestion is the
    smallest change that works. What is hopeless by the formula for shared memory is not asked for.
    """
    options = report.options
    found: list[Suggestion] = []
    smaller = [side for side in reversed(SIDES) if side < options.Bc]
    fewer = list(range(options.stages - 1, 0, -1))
    lower = [side for side in reversed(SIDES) if side < options.Br]
    for option, values in (("Bc", smaller), ("stages", fewer), ("Br", lower)):
        if option == "Br" and found:
            break
        for value in values:
            changed = options.with_(**{option: value})
            if _hopeless(report, changed, gpu):
                continue
            answer = yield changed
            if answer is not None and launches(answer, gpu):
                found.append(Suggestion(option, value, _change(option, value), answer))
                break
    return tuple(found)


def shared_formula(o: Options) -> int:
    """Shared memory that the kernel of these options should need, B, d padded to a power of two."""
    d = padded_head(o.d)
    return int(kernel_shared_bytes(o.Br, o.Bc, d, DTYPE_BYTES[o.dtype], o.stages, o.target))


def expected(report: Report, changed: Options) -> Report:
    """What a changed build should ask for on the chip; its other figures are those of `report`.

    Shared memory goes by the formula, scaled by what the compiler asked for in `report`, so that an
    underestimate there is one here.
    """
    o, d = changed, padded_head(changed.d)
    shared = -(-report.shared_bytes * shared_formula(changed) // shared_formula(report.options))
    columns = int(tensor_columns(o.Br, o.Bc, d, DTYPE_BYTES[o.dtype], o.target))
    return replace(report, options=changed, shared_bytes=shared, tensor_columns=columns)


def _hopeless(report: Report, changed: Options, gpu: GPU) -> bool:
    """Whether a changed build is expected to need far more shared memory than there is."""
    return expected(report, changed).shared_bytes > DOUBT * gpu.smem_block


def suggestions(report: Report, gpu: GPU, ask: Callable[[Options], Report | None]) -> tuple[Suggestion, ...]:
    """`search`, with reports from a plain function."""
    asking = search(report, gpu)
    try:
        wanted = next(asking)
        while True:
            wanted = asking.send(ask(wanted))
    except StopIteration as end:
        return end.value


def _change(option: str, value: int) -> str:
    if option == "stages":
        return f"{NUMBERS[value]} stage" + ("" if value == 1 else "s")
    return f"{option}={value}"


def sentence(report: Report, gpu: GPU, found: tuple[Suggestion, ...] | None = None) -> str:
    """The verdict in words: does it launch, how many blocks fit, what spills.

    found: from `suggestions`, for a kernel that does not launch; None leaves advice out, an empty tuple says that
    no single change helps.
    """
    whose = with_article(short_name(gpu))
    if not launches(report, gpu):
        return f"{_refused(report, gpu, whose)}{_advice(found)}"
    held = occupancy(report, gpu)
    several = "block" if held.blocks == 1 else "blocks"
    text = (
        f"needs {exact_bytes(report.shared_bytes)}, {whose} block has {exact_bytes(gpu.smem_block)}: it launches, "
        f"{held.blocks} {several} on a multiprocessor "
        f"(set by {held.limiter})"
    )
    return text + spill_sentence(report)


def would_not_launch(needs: str, owner: str, has: str) -> str:
    """A refusal in words, before its advice. needs, has: amounts with their unit; owner: of the limit."""
    return f"needs {needs}, {owner} has {has}: it would not launch"


def _refused(report: Report, gpu: GPU, whose: str) -> str:
    if report.shared_bytes > gpu.smem_block:
        needs, has = exact_bytes(report.shared_bytes), exact_bytes(gpu.smem_block)
        return would_not_launch(needs, f"{whose} block", has)
    if report.tensor_columns > TENSOR_COLUMNS:
        columns = f"{report.tensor_columns:,} columns of tensor memory"
        return would_not_launch(columns, f"{whose} multiprocessor", f"{TENSOR_COLUMNS}")
    threads = f"{report.options.warps * WARP:,} threads"
    return would_not_launch(threads, "a block", f"at most {MOST_THREADS:,}")


def _advice(found: tuple[Suggestion, ...] | None) -> str:
    if found is None:
        return ""
    if not found:
        return "; no change of Br, Bc or stages alone would help"
    advice = "; try " + " or ".join(one.text for one in found)
    spilling = [
        f"{exact_bytes(one.report.stack_bytes)} a thread with {one.text}"
        for one in found
        if one.report.stack_bytes
    ]
    return advice + (f" (registers then spill {_listed(spilling)})" if spilling else "")


def _listed(words: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def spill_sentence(report: Report) -> str:
    """What registers spill, to follow another clause: "; registers spill 144 B a thread ...", or ""."""
    if not report.stack_bytes:
        return ""
    return (
        f"; registers spill {exact_bytes(report.stack_bytes)} a thread, through "
        f"{report.spill_instructions:,} loads and stores of local memory in the code"
    )
