"""`python -m workshop measure`: make or complete a recording of this machine.

The command itself never touches the GPU. It runs children, one after another: some that compile kernels ahead
(in parallel), some that time, and some under `ncu` that are counted. A child that crashes or hangs costs its
one case, which the recording then lists as failed with the reason; the next child goes on after it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import count, upkeep
from .measure import CONTEXT_LOST, ContextLost, CpuBench, GpuBench, Session, compile_only
from .plan import Batch, Case, cpu_plan, plan
from .supervisor import COUNTER_RESERVE, Supervisor


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
        help=f"name the commit of rows made with --commit {upkeep.UNCOMMITTED}, and stop",
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
        return upkeep.attach_tests(args)
    if args.committed_as:
        return upkeep.name_commit(args)
    if args.read_ncu:
        return upkeep.read_table(args)
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


if __name__ == "__main__":
    sys.exit(main())
