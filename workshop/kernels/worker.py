"""The process that runs the reader's kernels: one job at a time, JSON lines in and out.

It is started by `runner.Runner`, apart from the server: if a kernel crashes it, the server reads end-of-file
and says so. In: `{"job": 7, "cases": [...], "check": true}`, or `{"cancel": 7}`. Out: one object a line with
`job` and `event` (`hello`, `progress`, `figure`, `note`, `done`, `cancelled`). End-of-file on its input ends
the process.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import queue
import sys
import threading
import time
from pathlib import Path

from .plan import Case, does_not_fit

#: Seconds of device time spent on each kernel of a live run.
BUDGET = 0.25
#: Least seconds between two progress messages of one stage: a page need not redraw faster.
PROGRESS_EVERY = 0.1


class Cancelled(Exception):
    """The reader does not want the result any more."""


class Channel:
    """Reads requests on a thread of their own, so that a cancellation is heard while a kernel runs."""

    def __init__(self, source, sink):
        self.sink, self.jobs, self.cancelled = sink, queue.Queue(), set()
        threading.Thread(target=self._listen, args=(source,), daemon=True).start()

    def _listen(self, source) -> None:
        for line in source:
            message = json.loads(line)
            if "cancel" in message:
                self.cancelled.add(message["cancel"])
            else:
                self.jobs.put(message)
        # The server is gone. A kernel that is still running must not outlive it.
        os._exit(0)

    def send(self, job: int | None, event: str, **more) -> None:
        self.sink.write(json.dumps({"job": job, "event": event, **more}) + "\n")
        self.sink.flush()

    def check(self, job: int) -> None:
        if job in self.cancelled:
            raise Cancelled


class Bench:
    """Runs one case on a device and measures it: `run(case, check, between)` gives the figures."""

    def __init__(self, device: str):
        from . import machine
        from .measure import CpuBench, GpuBench

        self.cpu = device == "cpu"
        self.bench = CpuBench() if self.cpu else GpuBench(device)
        self.origin = vars(self.bench.origin)
        self.device = {"name": machine.cpu_name()} if self.cpu else self.bench.properties

    def refuse(self, case: Case) -> str | None:
        return does_not_fit(case, self.bench.free_bytes())

    def run(self, case: Case, check: bool, between) -> dict:
        """The case as it ran, figures by metric, each [p20, p50, p80], and `peak_bytes` held beside the
        inputs."""
        from . import accuracy
        from .measure import prepare
        from .timing import cpu_spread, gpu_spread

        ready = prepare(self.bench, case, self._peak)
        between("timing", 0, 1)

        def tick(done, total):
            between("timing", done, total)

        spread = (
            cpu_spread(ready.call, BUDGET, tick)
            if self.cpu
            else gpu_spread(ready.call, self.bench.flush, BUDGET, between=tick)
        )
        figures = {"time": [spread.p20, spread.p50, spread.p80]}
        figures |= {metric: [float(value)] * 3 for metric, value in ready.kernel.items()}
        found = {
            "case": ready.case.record(),
            "path": ready.path,
            "peak_bytes": ready.first,
            "count": spread.count,
        }
        del ready  # its tensors make room for those that the error is taken of
        if check:
            between("comparing with float64", 0, 1)
            error = accuracy.largest_error(case, self.bench.device, seed=1)
            figures["error-max"] = [error] * 3
        return found | {"figures": figures}

    def _peak(self, call) -> int | None:
        """Run the call once and tell the most bytes it held beside what was there before, its result
        included."""
        if self.cpu:
            return resident_peak(call)
        cuda = self.bench.torch.cuda
        cuda.reset_peak_memory_stats(self.bench.device)
        before = cuda.memory_allocated(self.bench.device)
        call()
        return cuda.max_memory_allocated(self.bench.device) - before


def resident_peak(call) -> int | None:
    """Most resident bytes of this process during `call`, above those before it; None where the system does
    not tell."""
    call()  # thread pools and libraries stay resident after the first call: count the second
    try:
        # Freed memory that the C library keeps would be used again unseen: give it back first.
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = _status("VmRSS")
        call()
        return max(0, _status("VmHWM") - before)
    except (OSError, AttributeError):
        return None


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"expected {name} in /proc/self/status, got none")


def serve(channel: Channel, bench) -> None:
    """Answer jobs until the input ends."""
    channel.send(None, "hello", origin=bench.origin, device=bench.device)
    while True:
        message = channel.jobs.get()
        job = message["job"]
        try:
            for number, values in enumerate(message["cases"]):
                _case(channel, bench, job, number, len(message["cases"]), Case(**values), message["check"])
            channel.send(job, "done")
        except Cancelled:
            channel.send(job, "cancelled")


def _case(channel, bench, job, number, total, case, check) -> None:
    from .measure import ContextLost, explain_failure

    shown = {"stage": "", "at": 0.0}

    def between(stage: str, done: int, of: int) -> None:
        channel.check(job)
        now = time.monotonic()
        if stage == shown["stage"] and now - shown["at"] < PROGRESS_EVERY:
            return
        shown.update(stage=stage, at=now)
        channel.send(
            job, "progress", provider=case.provider, stage=stage, case=number, cases=total, done=done, of=of
        )

    between("compiling and running once", 0, 1)
    reason = bench.refuse(case)
    if reason:
        channel.send(job, "note", case=case.record(), kind="skipped", sentence=reason)
        return
    try:
        channel.send(job, "figure", **bench.run(case, check, between))
    except Cancelled:
        raise
    except Exception as error:
        named, capability = bench.device.get("name", "this device"), bench.device.get("capability", "")
        kind, sentence, details = explain_failure(case, error, named, capability)
        channel.send(job, "note", case=case.record(), kind=kind, sentence=sentence, **details)
        if isinstance(error, ContextLost):
            sys.exit(70)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda:0")
    args = parser.parse_args()
    # Whatever a library prints must not get between the lines of the protocol.
    sink = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(Channel(sys.stdin, sink), Bench(args.device))


if __name__ == "__main__":
    main()
