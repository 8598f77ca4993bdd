"""A small pool of compiling processes: a queue of builds, each worked off by a thread that owns a process.

It knows no event loop: a build is a `Job` with a `concurrent.futures.Future`, so that any loop or thread may wait.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from .compile_options import Options
from .compile_process import CompileProcess
from .process import Ended

#: Seconds after which a running build looks again whether anybody still waits.
LOOK = 0.05


@dataclass(eq=False)
class Job:
    """A build that somebody waits for: `waiting` counts them, at 0 it is stopped. `future` gets what the pool's
    `settle` makes of the outcome."""

    options: Options
    future: Future = field(default_factory=Future)
    waiting: int = 0


class CompilePool:
    """Processes that compile.

    processes: at most. limit: seconds a build may take. idle: seconds a process is kept without work. builds: of one
    process, which is then replaced. command: how a process is started. settle(options, outcome): called on a
    pool's thread, turns an outcome into what waiters get. An outcome is a worker's reply ({"report": ...}, {"refused":
    ...}, {"failed": ...}), {"late": seconds}, {"ended": `Ended`}, {"broken": an exception} or {"stopped": True}.
    """

    def __init__(
        self,
        settle: Callable[[Options, dict], Any],
        command: Sequence[str],
        limit: float,
        idle: float,
        builds: int,
        processes: int | None = None,
    ):
        # Leave a processor to the server, and never take more than four.
        self.processes = processes or max(1, min(4, (os.cpu_count() or 1) - 1))
        self.settle, self.command = settle, command
        self.limit, self.idle, self.builds = limit, idle, builds
        self._ready = threading.Condition()
        self._queue: deque[Job] = deque()
        self._jobs: dict[Options, Job] = {}
        self._threads: list[threading.Thread] = []
        self._closed = False

    def submit(self, options: Options) -> Job:
        """The job for these options, joined or new; the caller counts as waiting until it calls `leave`."""
        with self._ready:
            job = self._jobs.get(options)
            if job is None:
                job = self._jobs[options] = Job(options)
                if self._closed:
                    self._finish(job, {"stopped": True})
                else:
                    self._queue.append(job)
                    self._grow()
                    self._ready.notify()
            job.waiting += 1
            return job

    def leave(self, job: Job) -> None:
        """One waiter less; the last one to leave stops the build."""
        with self._ready:
            job.waiting -= 1
            if job.waiting <= 0 and self._jobs.get(job.options) is job:
                del self._jobs[job.options]
                if job in self._queue:
                    self._queue.remove(job)

    def close(self) -> None:
        """Ends the processes and stops what waits."""
        with self._ready:
            self._closed = True
            for job in self._queue:
                self._finish(job, {"stopped": True})
            self._queue.clear()
            self._ready.notify_all()
        for thread in self._threads:
            thread.join(10)

    def _grow(self) -> None:
        """Starts another thread if there is more work than threads and room for one; under the lock."""
        if len(self._threads) < min(self.processes, len(self._jobs)):
            thread = threading.Thread(target=self._work, name="compile", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        with CompileProcess(self.command) as worker:
            while (job := self._next(worker)) is not None:
                try:
                    outcome = self._serve(worker, job)
                except OSError as error:  # no such program, no more processes, a full disk
                    worker.end()
                    outcome = {"broken": error}
                if worker.asked >= self.builds:
                    worker.end()
                self._finish(job, outcome)

    def _next(self, worker: CompileProcess) -> Job | None:
        with self._ready:
            while not self._queue and not self._closed:
                # An idle process is ended once; then the thread sleeps until there is work.
                if not self._ready.wait(self.idle if worker.alive else None):
                    worker.end()
            return None if self._closed else self._queue.popleft()

    def _serve(self, worker: CompileProcess, job: Job) -> dict:
        worker.ask(job.options)
        deadline = time.monotonic() + self.limit
        while True:
            reply = worker.hear(LOOK)
            if isinstance(reply, Ended):
                worker.end()
                return {"ended": reply}
            if reply is not None:
                return reply
            late = time.monotonic() > deadline
            if late or job.waiting <= 0 or self._closed:
                worker.end()
                return {"late": self.limit} if late else {"stopped": True}

    def _finish(self, job: Job, outcome: dict) -> None:
        try:
            result = self.settle(job.options, outcome)
        except Exception as error:
            # Whatever went wrong with one answer, its readers must not wait for ever.
            job.future.set_exception(error)
        else:
            job.future.set_result(result)
