"""`python -m workshop measure`: make or complete a recording of this machine.

The command itself never touches the GPU. It runs children, one after another: some that compile kernels ahead
(in parallel), some that time, and some under `ncu` that are counted. A child that crashes or hangs costs its
one case, which the recording then lists as failed with the reason; the next child goes on after it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace

from workshop.recordings.schema import append_rows, read_rows

from . import count, counters
from .machine import Origin
from .measure import (
    CONTEXT_LOST,
    ContextLost,
    CpuBench,
    GpuBench,
    Session,
    compile_only,
    note_crash,
    still_to_do,
    to_compile,
)
from .plan import Batch, Case, cpu_plan, plan
from .sidecar import Sidecar

MODULE = "workshop.kernels.cli_measure"
ROOT = Path(__file__).resolve().parents[2]
#: Seconds after which a case that has not ended is taken for hung.
CASE_LIMIT = 150.0
MOST_RESTARTS = 6
#: What `--commit` says for a run of code that is not committed yet; see `--committed-as`.
UNCOMMITTED = "uncommitted"
#: Seconds kept of the budget for a counting child to start and for ncu to write its table.
COUNTER_RESERVE = 25.0


def parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="python -m workshop measure", description=__doc__.splitlines()[0])
    p.add_argument("--out", required=True, type=Path, metavar="FILE", help="CSV file; completed if it exists")
    p.add_argument("--quick", action="store_true", help="a minute's run: a few shapes of everything")
    p.add_argument("--counters", action="store_true", help="also read hardware counters through ncu")
    p.add_argument("--budget", type=float, metavar="SECONDS", help="stop in good order after this time")
    p.add_argument("--only", metavar="BATCHES", help="comma-separated batches (see --list)")
    p.add_argument("--provider", metavar="NAMES", help="comma-separated providers")
    p.add_argument("--list", action="store_true", help="print the plan and stop")
    p.add_argument("--cpu", action="store_true", help="a small real run on the CPU, labelled so")
    p.add_argument("--device", default="cuda:0", help="CUDA device (default cuda:0)")
    p.add_argument(
        "--compilers", type=int, default=None, metavar="N", help="processes that compile ahead (0: none)"
    )
    p.add_argument("--commit", help="commit of this code where .git is absent (or set WORKSHOP_COMMIT)")
    p.add_argument(
        "--committed-as",
        metavar="COMMIT",
        help=f"name the commit of rows made with --commit {UNCOMMITTED}, and stop",
    )
    p.add_argument("--retry", action="store_true", help="try skipped and failed cases again")
    p.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the tables that ncu wrote, with their cases"
    )
    p.add_argument(
        "--read-ncu", type=Path, metavar="FILE", help="read a kept table into FILE's recording and stop"
    )
    p.add_argument(
        "--tests", type=Path, metavar="LOG", help="put the summary of this pytest log into the JSON and stop"
    )
    p.add_argument("--child", choices=("time", "counters", "compile"), help=argparse.SUPPRESS)
    p.add_argument("--cases", type=Path, help=argparse.SUPPRESS)
    p.add_argument("--deadline", type=float, help=argparse.SUPPRESS)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status (0 done, 2 wrong use, 3 stopped by the budget)."""
    args = parser().parse_args(argv)
    if args.child:
        return _child(args)
    if args.tests:
        return _attach_tests(args)
    if args.committed_as:
        return _name_commit(args)
    if args.read_ncu:
        return _read_table(args)
    try:
        batches = _chosen(args)
    except ValueError as error:
        print(f"python -m workshop measure: {error}", file=sys.stderr)
        return 2
    if args.list:
        for batch in batches:
            print(f"{batch.name} ({batch.kind}): {len(batch.cases)} cases")
        return 0
    reason = None if args.cpu else no_gpu()
    if reason:
        print(f"python -m workshop measure: {reason}; --cpu makes a small run on the CPU", file=sys.stderr)
        return 2
    return Supervisor(args, batches).run()


def no_gpu() -> str | None:
    """Why nothing can be measured on a GPU here, or None. Asks in a child: the parent keeps no CUDA
    context."""
    ask = "import torch; print(torch.cuda.is_available())"
    try:
        done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return "the CUDA driver did not answer"
    if done.returncode:
        return "torch is not installed (see requirements.txt)"
    return None if done.stdout.split()[-1:] == ["True"] else "expected a CUDA GPU, found none"


def _chosen(args) -> tuple[Batch, ...]:
    batches = cpu_plan() if args.cpu else plan(args.quick, args.counters)
    if args.only:
        names, known = set(args.only.split(",")), {batch.name for batch in batches}
        if names - known:
            raise ValueError(
                f"--only: expected batches of {', '.join(sorted(known))}; got {', '.join(names - known)}"
            )
        batches = tuple(batch for batch in batches if batch.name in names)
    if args.provider:
        kept = set(args.provider.split(","))
        batches = tuple(
            Batch(b.name, b.kind, tuple(c for c in b.cases if c.provider in kept)) for b in batches
        )
    return batches


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


def _child(args) -> int:
    batches = tuple(_read_cases(args.cases))

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    if args.child == "compile":
        compile_only([case for batch in batches for case in batch.cases], args.device, say)
        return 0
    bench = CpuBench(args.commit) if args.cpu else GpuBench(args.device, args.commit)
    session = Session(args.out, bench, say, args.deadline)
    try:
        if args.child == "counters":
            session.deadline = None if args.deadline is None else args.deadline - COUNTER_RESERVE / 2
            count.child([case for batch in batches for case in batch.cases], session)
        else:
            session.run(batches)
    except ContextLost:
        return CONTEXT_LOST
    return 0


def _read_cases(path: Path) -> Iterator[Batch]:
    for entry in json.loads(path.read_text(encoding="utf-8")):
        yield Batch(entry["name"], entry["kind"], tuple(Case(**case) for case in entry["cases"]))
    path.unlink()


def _keep(folder: Path, name: str, log: Path, cases: Sequence[Case]) -> None:
    """Copy ncu's table, and the cases its ranges count, to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"ncu-{name.replace(' ', '-')}.csv"
    shutil.copy2(log, kept)
    kept.with_suffix(".json").write_text(json.dumps([case.record() for case in cases]), encoding="utf-8")


def _read_table(args) -> int:
    """Read a kept table into the recording of the run that made it, as that run would have; its rows carry
    the machine and versions of the rows already there, and the time the table was written."""
    rows = read_rows(args.out)
    cases = [
        Case(**case) for case in json.loads(args.read_ncu.with_suffix(".json").read_text(encoding="utf-8"))
    ]
    last = rows[-1]
    named = SimpleNamespace(origin=Origin(last.gpu, last.driver, last.torch, last.triton, last.commit))
    written = datetime.fromtimestamp(args.read_ncu.stat().st_mtime, UTC)
    found = count.collect(
        args.read_ncu, cases, Session(args.out, named), written.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    print(f"counters of {found} of {len(cases)} cases read", file=sys.stderr)
    return 0


def _name_commit(args) -> int:
    """Give the rows of a run made before its code was committed the commit that the code went into."""
    rows = read_rows(args.out)
    named = [replace(row, commit=args.committed_as) if row.commit == UNCOMMITTED else row for row in rows]
    part = args.out.with_suffix(".csv.part")
    part.unlink(missing_ok=True)
    append_rows(part, named)
    os.replace(part, args.out)
    changed = sum(row.commit == UNCOMMITTED for row in rows)
    print(f"{changed} of {len(rows)} rows named {args.committed_as}", file=sys.stderr)
    return 0


def _attach_tests(args) -> int:
    """Put the summary of a pytest log (its last line and its failures) into the recording's JSON."""
    lines = [line.strip("= \n") for line in args.tests.read_text(encoding="utf-8").splitlines()]
    summary = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    last = next((line for line in reversed(lines) if " passed" in line or " failed" in line), None)
    if last is None:
        print(f"--tests: expected a pytest log with a summary line, got {args.tests}", file=sys.stderr)
        return 2
    headers = [line for line in lines if line.startswith(("device:", "versions:", "commit:", "platform "))]
    Sidecar(args.out).set(tests={"summary": last, "failures": summary, "about": headers})
    return 0


if __name__ == "__main__":
    sys.exit(main())
