"""The parent of a measuring run: starts the children, watches them, and gives each stage its share of the time."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from . import count, counters
from .machine import Origin
from .measure import CONTEXT_LOST, Session, note_crash, still_to_do, to_compile
from .plan import Batch, Case
from .sidecar import Sidecar

MODULE = "workshop.kernels.cli_measure"
ROOT = Path(__file__).resolve().parents[2]
#: Seconds after which a case that has not ended is taken for hung.
CASE_LIMIT = 150.0
MOST_RESTARTS = 6
#: Seconds kept of the budget for a counting child to start and for ncu to write its table.
COUNTER_RESERVE = 25.0


class Supervisor:
    """Starts the children and watches them."""

    def __init__(self, args, batches: Sequence[Batch]):
        self.args, self.batches, self.out = args, batches, args.out
        self.deadline = None if args.budget is None else time.time() + args.budget
        if args.retry and self.out.exists():
            Sidecar(self.out).forget_failures()

    def run(self) -> int:
        if not self.args.cpu:
            self._compile_ahead()
        for kind, group in groupby(self.batches, key=lambda batch: batch.kind == "counters"):
            for part in [tuple(group)] if not kind else [(batch,) for batch in group]:
                if self._left() <= 0:
                    return self._stopped()
                self._group("counters" if kind else "time", part)
        return self._stopped() if self._left() <= 0 else 0

    def _left(self) -> float:
        return float("inf") if self.deadline is None else self.deadline - time.time()

    def _stopped(self) -> int:
        print("stopped by the budget; run the same command again to go on", file=sys.stderr)
        return 3

    def _compile_ahead(self) -> None:
        """Fill the compiler's cache with processes side by side: compiling is most of a first run's time."""
        workers = self.args.compilers
        if workers is None:
            workers = max(1, min(12, (os.cpu_count() or 1) - 2))
        cases = to_compile(case for batch in self.batches for case in still_to_do(self.out, batch))
        if not workers or not cases:
            return
        print(f"compiling {len(cases)} kernels ahead in {workers} processes", file=sys.stderr)
        started = time.time()
        limit = min(self._left() / 3, 600)
        children = [self._start("compile", cases[i::workers]) for i in range(min(workers, len(cases)))]
        for process in children:
            try:
                process.wait(max(0.1, started + limit - time.time()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        print(f"compiled ahead in {time.time() - started:.0f} s", file=sys.stderr)

    def _group(self, child: str, batches: Sequence[Batch]) -> None:
        """Run a child until it ends in good order, restarting it after each crash."""
        for _ in range(MOST_RESTARTS):
            status = self._counted(batches[0]) if child == "counters" else self._watched(self._timed(batches))
            if status == 0 or self._left() <= 0:
                return
            how = "lost its CUDA context" if status == CONTEXT_LOST else f"ended with status {status}"
            died = note_crash(self.out, f"the process that ran it {how}")
            print(f"child {how}; {'starting another' if died else 'its last case is noted'}", file=sys.stderr)

    def _timed(self, batches: Sequence[Batch]) -> subprocess.Popen:
        return self._start("time", batches)

    def _start(self, child: str, what, prefix: Sequence[str] = ()) -> subprocess.Popen:
        return subprocess.Popen(
            [*(prefix or (sys.executable, "-m")), *self._arguments(child, what)], cwd=ROOT
        )

    def _arguments(self, child: str, what) -> list[str]:
        """The child's module and arguments; its cases travel in a file."""
        batches = what if what and isinstance(what[0], Batch) else [Batch("compile", "compile", tuple(what))]
        handle, path = tempfile.mkstemp(suffix=".json", prefix="workshop-cases-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(
                [{"name": b.name, "kind": b.kind, "cases": [c.record() for c in b.cases]} for b in batches],
                file,
            )
        more = [] if self.deadline is None else ["--deadline", f"{self.deadline:.1f}"]
        more += ["--commit", self.args.commit] if self.args.commit else []
        more += ["--cpu"] if self.args.cpu else []
        where = ["--out", str(self.out.resolve()), "--device", self.args.device]
        return [MODULE, "--child", child, "--cases", path, *where, *more]

    def _watched(self, process: subprocess.Popen) -> int:
        """Wait for a child; kill it if one case hangs, or if it outstays the deadline."""
        heartbeat = self.out.with_suffix(".running")
        while True:
            try:
                return process.wait(0.5)
            except subprocess.TimeoutExpired:
                pass
            try:
                hung = time.time() - heartbeat.stat().st_mtime > CASE_LIMIT
            except FileNotFoundError:
                hung = False
            if hung or self._left() < -CASE_LIMIT / 2:
                process.kill()
                return process.wait()

    def _counted(self, batch: Batch) -> int:
        """One counting child under ncu, and its table into the recording."""
        session = Session(self.out, _Named(self.args), deadline=self.deadline)
        cases = session.pending(batch)
        if not cases or self._left() < COUNTER_RESERVE:
            return 0
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "ncu.csv"
            try:
                arguments = self._arguments("counters", [Batch(batch.name, batch.kind, tuple(cases))])
                process = subprocess.Popen(counters.command(log, arguments, counters.find_ncu()), cwd=ROOT)
                status = self._watched(process)
                if self.args.keep and log.exists():
                    _keep(self.args.keep, batch.name, log, cases)
                session = Session(self.out, session.bench, deadline=self.deadline)
                found = count.collect(log, cases, session) if log.exists() else 0
                print(f"counters of {found} of {len(cases)} cases read", file=sys.stderr)
                return status
            except counters.CountersRefused as refusal:
                count.refuse_all(cases, session, str(refusal), lambda text: print(text, file=sys.stderr))
                return 0


class _Named:
    """Enough of a bench to write rows in the parent: the machine's name and versions, asked of a child."""

    def __init__(self, args):
        ask = (
            "import json; from workshop.kernels import machine; "
            f"print(json.dumps(vars(machine.origin({args.device!r}, {args.commit!r}))))"
        )
        done = subprocess.run(
            [sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True
        )
        self.origin = Origin(**json.loads(done.stdout.splitlines()[-1]))


def _keep(folder: Path, name: str, log: Path, cases: Sequence[Case]) -> None:
    """Copy ncu's table, and the cases its ranges count, to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"ncu-{name.replace(' ', '-')}.csv"
    shutil.copy2(log, kept)
    kept.with_suffix(".json").write_text(json.dumps([case.record() for case in cases]), encoding="utf-8")
