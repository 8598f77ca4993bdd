"""The engine of `python -m workshop measure`: runs cases one by one, writes each figure at once, resumes.

A case ends in rows, or in a note that says why there is none: *refused* (the GPU would not launch the tile),
*skipped* (predicted not to fit, never started) or *failed*. What is already in the file is not measured
again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from workshop.recordings.schema import CASE_COLUMNS, MACHINE_METRICS, UNITS, Row, append_rows, read_rows
from workshop.units import rate_flops, seconds

from . import accuracy, launches, machine
from .advice import refusal
from .plan import Batch, Case, does_not_fit
from .providers import as_run, make_call, tensors
from .sidecar import Sidecar
from .timing import Flush, Spread, cpu_spread, gpu_spread

#: The metric whose row says that a case of this kind has been measured.
SIGN = {"time": "time", "error": "error-max", "counters": "dram-read"}
#: Exit status of a child whose CUDA context is lost: the parent starts another one.
CONTEXT_LOST = 70
TRITON_PROVIDERS = ("teaching", "fast")


class ContextLost(RuntimeError):
    """The CUDA context answers nothing but errors; only a new process can go on."""


class GpuBench:
    """What the engine asks of a CUDA device."""

    def __init__(self, device: str = "cuda:0", commit: str | None = None):
        import torch

        torch.cuda.set_device(device)
        self.device, self.torch = device, torch
        self.origin = machine.origin(device, commit)
        self.properties = machine.properties(device)
        self.flush = Flush(device)

    def spread(self, call) -> Spread:
        return gpu_spread(call, self.flush)

    def watch(self):
        return launches.watch()

    def free_bytes(self) -> int:
        self.torch.cuda.empty_cache()
        return self.torch.cuda.mem_get_info(self.device)[0]

    def settle(self) -> None:
        """Wait for the device, and raise `ContextLost` if it no longer answers."""
        try:
            self.torch.cuda.synchronize(self.device)
        except RuntimeError as error:
            raise ContextLost(str(error)) from error

    def machine_rates(self) -> dict[str, Spread]:
        return {
            "copy-bandwidth": machine.copy_bandwidth(self.device, self.flush),
            "matmul-rate": machine.matmul_rate(self.device, self.flush),
        }


class CpuBench:
    """The same of the CPU: real runs at small sizes, labelled CPU; there is no kernel to watch and no
    counter."""

    device = "cpu"
    properties: dict = {}  # noqa: RUF012  (never changed)

    def __init__(self, commit: str | None = None):
        self.origin = machine.origin("cpu", commit)

    def spread(self, call) -> Spread:
        return cpu_spread(call, 0.2)

    def watch(self):
        return nullcontext([])

    def free_bytes(self) -> int:
        return available_memory()

    def settle(self) -> None:
        pass

    def machine_rates(self) -> dict[str, Spread]:
        return {}


def available_memory() -> int:
    """Bytes of main memory that can be taken without swapping."""
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("expected MemAvailable in /proc/meminfo, got none")


@dataclass(frozen=True)
class Prepared:
    """A case that has run once and can be timed. case: as it ran. path: of the fast kernel, or "". kernel: shared
    memory, registers and spills of its largest kernel, by metric; empty where none was watched. first: what the
    first run returned."""

    call: Callable[[], object]
    case: Case
    path: str
    kernel: dict[str, float]
    first: object


def prepare(bench, case: Case, run: Callable = lambda call: call()) -> Prepared:
    """Makes the call of a case and runs it once under watch, so that nothing is compiled while it is timed.

    run: how it is run the first time, for a caller that measures something else of that run.
    """
    call = make_call(case, *tensors(case, bench.device))
    with bench.watch() as seen:
        first = run(call)
    bench.settle()
    ran, path = as_run(case)
    kernel = {}
    if seen:
        main = max(seen, key=lambda launch: launch.shared_bytes)
        kernel = {"shared": main.shared_bytes, "registers": main.registers, "spills": main.spill_bytes}
    return Prepared(call, ran, path, kernel, first)


class Session:
    """One recording being made: the file, its JSON, the device, the time left."""

    def __init__(self, out: Path, bench, say: Callable[[str], None] = print, deadline: float | None = None):
        self.out, self.bench, self.say, self.deadline = Path(out), bench, say, deadline
        self.sidecar = Sidecar(self.out)
        rows = read_rows(self.out) if self.out.exists() and self.out.stat().st_size else ()
        self.done = {done_key(row, row.metric) for row in rows}
        other = sorted({row.gpu for row in rows} - {bench.origin.gpu})
        if other:
            raise ValueError(f"{self.out} holds figures of {', '.join(other)}; expected {bench.origin.gpu}")
        self.heartbeat = self.out.with_suffix(".running")

    def has(self, kind: str, case: Case) -> bool:
        """Whether a case needs no further run."""
        return done_key(case, SIGN[kind]) in self.done or self.sidecar.noted(kind, case)

    def pending(self, batch: Batch) -> list[Case]:
        return [case for case in batch.cases if not self.has(batch.kind, case)]

    def out_of_time(self) -> bool:
        return self.deadline is not None and time.time() >= self.deadline

    def write(
        self, case: Case | None, figures: dict[str, Spread], when: str | None = None, **machine_cells
    ) -> None:
        """Append one row for each metric, taken now or at `when` (UTC)."""
        cells = dict.fromkeys(CASE_COLUMNS)
        cells |= {"provider": "", "direction": "", "dtype": "bf16"} | machine_cells
        cells |= case.record() if case else {}
        cells |= vars(self.bench.origin) | {"time": when or machine.utc_now()}
        rows = [
            Row(**cells, metric=metric, unit=UNITS[metric], p20=spread.p20, p50=spread.p50, p80=spread.p80)
            for metric, spread in figures.items()
        ]
        append_rows(self.out, rows)
        self.done |= {done_key(row, row.metric) for row in rows}

    def run(self, batches: Iterable[Batch]) -> bool:
        """Measure what is missing of the batches; False if time ran out first."""
        batches = list(batches)
        todo = [(batch, case) for batch in batches for case in self.pending(batch)]
        if any(batch.kind == "machine" for batch in batches):
            self._machine()
        started = time.time()
        for number, (batch, case) in enumerate(todo):
            if self.out_of_time():
                self.say(f"time is up: {len(todo) - number} of {len(todo)} cases left")
                return False
            # A case of two batches is in the list twice; the first figure is the one that counts.
            outcome = "has its figure" if self.has(batch.kind, case) else self._one(batch.kind, case)
            left = (time.time() - started) / (number + 1) * (len(todo) - number - 1)
            self.say(
                f"[{number + 1}/{len(todo)}] {batch.name}: {case.label()}: {outcome}; about {left:.0f} s left"
            )
        return True

    def _machine(self) -> None:
        self.sidecar.set(device=self.bench.properties)
        if {key[-1] for key in self.done}.issuperset(MACHINE_METRICS):
            return
        for metric, spread in self.bench.machine_rates().items():
            side = machine.MATMUL_SIDE if metric == "matmul-rate" else None
            self.write(None, {metric: spread}, N=side, d=side)
            self.say(f"{metric}: {spread.p50:.4g} {UNITS[metric]}")

    def beat(self, kind: str, case: Case) -> None:
        """Say on disk what is running now, so that a parent can tell what a dead child died of."""
        self.heartbeat.write_text(json.dumps({"kind": kind, "case": case.record()}), encoding="utf-8")

    def _one(self, kind: str, case: Case) -> str:
        self.beat(kind, case)
        try:
            reason = does_not_fit(case, self.bench.free_bytes())
            if reason:
                self.sidecar.note("skipped", kind, case, reason)
                return f"skipped: {reason}"
            return self._time(case) if kind == "time" else self._error(case)
        except Exception as error:
            return self.explain(kind, case, error)
        finally:
            self.heartbeat.unlink(missing_ok=True)

    def _time(self, case: Case) -> str:
        ready = prepare(self.bench, case)
        case, spread = ready.case, self.bench.spread(ready.call)
        figures = {"time": spread}
        if case.direction == "forward":
            figures |= {metric: exactly(value) for metric, value in ready.kernel.items()}
        self.write(case, figures)
        if ready.path:
            self.sidecar.set(
                paths=[*self.sidecar.data.get("paths", []), {"case": case.record(), "path": ready.path}]
            )
        return f"{seconds(spread.p50)}, {rate_flops(case.flops() / spread.p50)}"

    def _error(self, case: Case) -> str:
        spread = Spread.of(accuracy.largest_error(case, self.bench.device, seed) for seed in accuracy.SEEDS)
        self.bench.settle()
        self.write(case, {"error-max": spread})
        return f"largest error {spread.p50:.3g}"

    def explain(self, what: str, case: Case, error: Exception) -> str:
        """Turn an exception into a note; a lost context goes on as `ContextLost`."""
        kind, sentence, details = explain_failure(
            case, error, self.bench.origin.gpu, self.bench.properties.get("capability", "")
        )
        self.sidecar.note(kind, what, case, sentence, **details)
        if isinstance(error, ContextLost):
            raise error
        if details.get("resource") == "shared memory" and what == "time":
            self.write(case, {"shared": exactly(details["required"])})
        self.bench.settle()
        return f"{kind}: {sentence}"


def explain_failure(case: Case, error: Exception, gpu: str, capability: str = "") -> tuple[str, str, dict]:
    """An exception as (kind of note, sentence, details): a tile that would not launch is "refused", with
    `resource`, `required` and `limit` in the details; anything else is "failed".

    gpu, capability: name and compute capability of the device ("" for a CPU)."""
    if type(error).__name__ == "OutOfResources":
        # Triton's own exception, told by its name so that this module needs no triton.
        details = {"resource": error.name, "required": error.required, "limit": error.limit}
        return "refused", refusal(case, **details, gpu=gpu, capability=capability), details
    if type(error).__name__ == "OutOfMemoryError":
        return "failed", "the GPU ran out of memory; other programs may hold some of it", {}
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or ["no message"]
    # A ValueError of ours is already a sentence with expected and got.
    name = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return "failed", f"{name}{lines[0][:300]}", {}


def exactly(value: float) -> Spread:
    """A reading without a spread: a property of the compiled kernel, not a measurement."""
    return Spread(float(value), float(value), float(value), 1)


def done_key(case: Case | Row, metric: str) -> tuple:
    """What identifies a figure. Only the teaching kernel is told its tile; others choose, and may choose
    anew."""
    tile = ("Br", "Bc", "warps", "stages")
    names = [name for name in CASE_COLUMNS if case.provider == "teaching" or name not in tile]
    return (*(getattr(case, name) for name in names), metric)


def still_to_do(out: Path, batch: Batch) -> list[Case]:
    """The cases of a batch that a recording has neither a figure nor a note for; needs no device."""
    rows = read_rows(out) if out.exists() and out.stat().st_size else ()
    done, sidecar = {done_key(row, row.metric) for row in rows}, Sidecar(out)
    sign = SIGN.get(batch.kind)
    return [c for c in batch.cases if done_key(c, sign) not in done and not sidecar.noted(batch.kind, c)]


def note_crash(out: Path, sentence: str) -> bool:
    """Turn the heartbeat of a dead child into a note, so that its case is not tried again.

    Returns False if no case was running.
    """
    heartbeat = Path(out).with_suffix(".running")
    if not heartbeat.exists():
        return False
    running = json.loads(heartbeat.read_text(encoding="utf-8"))
    Sidecar(out).note("failed", running["kind"], Case(**running["case"]), sentence)
    heartbeat.unlink()
    return True


def compile_only(cases: Iterable[Case], device: str, say: Callable[[str], None] = print) -> None:
    """Run each Triton case once, so that the compiler's cache on disk holds its kernels. Errors are left for
    the measuring run to report."""
    for case in cases:
        try:
            make_call(case, *tensors(case, device))()
        except Exception as error:
            say(f"{case.label()}: {type(error).__name__}")


def to_compile(cases: Iterable[Case]) -> list[Case]:
    """One case for each kernel that Triton will compile: the teaching kernel's depends on N only by its
    divisibility, so a short N stands for all."""
    wanted = {}
    for case in cases:
        if case.provider in TRITON_PROVIDERS:
            short = case.provider == "teaching" and case.N % 16 == 0
            wanted[replace(case, N=512) if short else case] = None
    return list(wanted)
