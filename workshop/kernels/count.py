"""The counters' half of a recording: what the child under `ncu` runs, and what the parent makes of the
table."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from . import counters
from .measure import SIGN, Session, done_key
from .plan import Case, does_not_fit
from .providers import make_call, tensors
from .timing import Spread


def child(cases: Sequence[Case], session: Session) -> None:
    """Run the cases inside profiling windows; runs under ncu, writes no figures (the parent reads ncu's
    table)."""
    import torch

    for index, case in enumerate(cases):
        if session.out_of_time():
            session.say(f"time is up: {len(cases) - index} of {len(cases)} counted cases left")
            return
        session.beat("counters", case)
        try:
            reason = does_not_fit(case, session.bench.free_bytes())
            if reason:
                session.sidecar.note("skipped", "counters", case, reason)
                continue
            started = time.time()
            _profiled(torch, index, case, session)
            outcome = f"{time.time() - started:.1f} s"
        except Exception as error:
            outcome = session.explain("counters", case, error)
        finally:
            session.heartbeat.unlink(missing_ok=True)
        session.say(f"[{index + 1}/{len(cases)}] counters: {case.label()}: {outcome}")


def _profiled(torch, index: int, case: Case, session: Session) -> None:
    call = make_call(case, *tensors(case, session.bench.device))
    call()
    session.bench.settle()
    torch.cuda.profiler.start()
    for launch in range(counters.LAUNCHES):
        torch.cuda.nvtx.range_push(counters.range_name(index, launch))
        call()
        session.bench.settle()
        torch.cuda.nvtx.range_pop()
    torch.cuda.profiler.stop()


def collect(log: Path, cases: Sequence[Case], session: Session, when: str | None = None) -> int:
    """Write the figures of ncu's table, and its kernels into the JSON; returns how many cases had figures.

    Raises:
        counters.CountersRefused: ncu read nothing; the message says why.
    """
    by_case: dict[int, dict[int, list[counters.Counted]]] = defaultdict(lambda: defaultdict(list))
    for counted in counters.parse(log.read_text(encoding="utf-8")):
        by_case[counted.case][counted.launch].append(counted)
    for index, launches in sorted(by_case.items()):
        sums = [counters.figures(kernels) for _, kernels in sorted(launches.items())]
        if done_key(cases[index], SIGN["counters"]) in session.done:
            continue
        session.write(cases[index], {metric: Spread.of(s[metric] for s in sums) for metric in sums[0]}, when)
        session.sidecar.answered("counters", cases[index])
        session.sidecar.add_kernels(
            [
                {
                    "case": cases[index].record(),
                    "launch": k.launch,
                    "kernel": k.kernel[:160],
                    "counters": k.counters,
                }
                for kernels in launches.values()
                for k in kernels
            ]
        )
    return len(by_case)


def refuse_all(cases: Sequence[Case], session: Session, sentence: str, say: Callable[[str], None]) -> None:
    """Note for every case that its counters could not be read."""
    say(sentence)
    for case in cases:
        if not session.sidecar.noted("counters", case):
            session.sidecar.note("failed", "counters", case, sentence)
