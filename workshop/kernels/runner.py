"""Live runs: one queue for each device, shared by every reader of the server, the work done in a process
apart.

    runner = shared_runner()            # None where there is no GPU; shared_runner("cpu") always works
    ticket = runner.submit(Request(N=4096, d=128, Br=64, Bc=64), on_update, owner=session_id)
    runner.cancel(ticket)

`on_update(Update)` is called from the queue's own thread, from "waiting" to one final state, whatever
happens: a crash, a hang or a lost GPU becomes a sentence, and the next run gets a fresh process. After a
while without work the process ends and gives the GPU's memory back.
"""

from __future__ import annotations

import itertools
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from .process import Ended, WorkerProcess
from .requests import Request, Update, on_cpu
from .results import Collected

ROOT = Path(__file__).resolve().parents[2]
log = logging.getLogger(__name__)

#: Seconds: without a run before the process ends; without a word from it before it is taken for hung; between
#: a cancellation and force.
IDLE, SILENT, PATIENCE = 120.0, 180.0, 2.0
MOST_WAITING = 32


@dataclass(eq=False)
class _Job:
    number: int
    request: Request
    tell: Callable[[Update], None]
    owner: object
    remarks: tuple[str, ...]
    cancelled: threading.Event = field(default_factory=threading.Event)
    over: bool = False

    def update(self, state: str, sentence: str, **more) -> None:
        update = Update(self.number, state, sentence, **more)
        if self.over:
            return
        self.over = update.final
        try:
            self.tell(update)
        except Exception:
            # A page that has gone away must not stop the queue for the others.
            log.exception("the receiver of run %s raised", self.number)


class Runner:
    """The queue of one device. Thread-safe; costs no thread and no process until the first run."""

    def __init__(
        self,
        device: str = "cuda:0",
        command: Sequence[str] | None = None,
        idle: float = IDLE,
        silent: float = SILENT,
        patience: float = PATIENCE,
        most_waiting: int = MOST_WAITING,
    ):
        self.device = device
        self.command = list(command or (sys.executable, "-m", "workshop.kernels.worker", "--device", device))
        self.idle, self.silent, self.patience, self.most_waiting = idle, silent, patience, most_waiting
        self._lock = threading.Condition()
        self._waiting: list[_Job] = []
        self._current: _Job | None = None
        self._thread: threading.Thread | None = None
        self._worker: WorkerProcess | None = None
        self._numbers = itertools.count(1)
        self._closed = False

    def submit(self, request: Request, on_update: Callable[[Update], None], owner: object = None) -> int:
        """Queue a run; returns its ticket. An owner has one run waiting at most: a newer one takes its place
        in the queue and the older is told that it was cancelled."""
        remarks: tuple[str, ...] = ()
        if self.device == "cpu":
            request, remarks = on_cpu(request)
        with self._lock:
            job = _Job(next(self._numbers), request, on_update, owner, remarks)
            replaced = next((j for j in self._waiting if owner is not None and j.owner == owner), None)
            full = replaced is None and len(self._waiting) >= self.most_waiting
            if replaced is not None:
                self._waiting[self._waiting.index(replaced)] = job
            elif not full and not self._closed:
                self._waiting.append(job)
            if not full and not self._closed:
                self._ensure_thread()
                self._lock.notify_all()
        if self._closed:
            job.update("rejected", "The server is stopping; nothing was run.")
        elif full:
            job.update(
                "rejected", f"{self.most_waiting} runs are waiting for this device already; try again later."
            )
        if replaced is not None:
            replaced.update("cancelled", "Cancelled: you asked for another run before this one started.")
        self._tell_positions()
        return job.number

    def cancel(self, ticket: int) -> bool:
        """Cancel a run, waiting or running; False if it is over or unknown. Its last update says
        "cancelled"."""
        with self._lock:
            job = next((j for j in self._waiting if j.number == ticket), None)
            if job is not None:
                self._waiting.remove(job)
            running = self._current if self._current and self._current.number == ticket else None
        if running is not None:
            running.cancelled.set()
            return True
        if job is None:
            return False
        job.update("cancelled", "Cancelled before it started.")
        self._tell_positions()
        return True

    def forget(self, owner: object) -> None:
        """Cancel whatever an owner has waiting or running: their page is closed."""
        with self._lock:
            jobs = [*self._waiting, *([self._current] if self._current else [])]
        for job in jobs:
            if job.owner == owner:
                self.cancel(job.number)

    def close(self) -> None:
        """Cancel everything and end the process; nothing can be submitted afterwards."""
        with self._lock:
            self._closed = True
            jobs, self._waiting = self._waiting, []
            if self._current:
                self._current.cancelled.set()
            self._lock.notify_all()
            thread = self._thread
        for job in jobs:
            job.update("cancelled", "Cancelled: the server is stopping.")
        if thread is not None:
            thread.join(self.patience + 5)

    @property
    def busy(self) -> bool:
        """Whether a run is running or waiting."""
        with self._lock:
            return self._current is not None or bool(self._waiting)

    @property
    def process_id(self) -> int | None:
        """The worker's process number while there is one."""
        worker = self._worker
        return worker.pid if worker is not None else None

    def _ensure_thread(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._loop, name=f"runs on {self.device}", daemon=True)
            self._thread.start()

    def _tell_positions(self) -> None:
        with self._lock:
            ahead = int(self._current is not None)
            jobs = list(enumerate(self._waiting, start=ahead))
        for position, job in jobs:
            if position:
                runs = "one run is" if position == 1 else f"{position} runs are"
                job.update("waiting", f"Waiting: {runs} ahead of yours on this device.", position=position)

    def _loop(self) -> None:
        while True:
            with self._lock:
                if not self._waiting and not self._closed:
                    self._lock.wait(self.idle)
                if not self._waiting:
                    # Idle for long enough, or closed: give the device back. A later submit starts a new
                    # thread.
                    self._thread = None
                    worker, self._worker = self._worker, None
                    break
                job = self._current = self._waiting.pop(0)
            try:
                self._run(job)
            except Exception as error:
                log.exception("run %s", job.number)
                self._end_worker()
                job.update("failed", f"The run could not be made: {type(error).__name__}: {error}")
            finally:
                with self._lock:
                    self._current = None
                # the thread may now wait long, and must not keep the page that the run told alive
                job = None
            self._tell_positions()
        if worker is not None:
            worker.end()

    def _run(self, job: _Job) -> None:
        cases = job.request.cases()
        if self._worker is None or not self._worker.alive:
            job.update("starting", "Starting a process for the device.")
            self._worker = WorkerProcess(self.command, ROOT)
        worker, collected = self._worker, Collected(job.request, job.remarks)
        worker.send(
            {"job": job.number, "cases": [case.record() for case in cases], "check": job.request.check}
        )
        heard, asked = time.monotonic(), None
        while True:
            if job.cancelled.is_set() and asked is None:
                worker.send({"cancel": job.number})
                asked = time.monotonic()
            if asked is not None and time.monotonic() - asked > self.patience:
                # The compiler and a running kernel cannot be interrupted from inside.
                self._end_worker()
                return job.update("cancelled", "Cancelled; the process was ended.")
            message = worker.receive(0.1)
            if message is None:
                if time.monotonic() - heard > self.silent:
                    self._end_worker()
                    where = f" while {collected.doing}" if collected.doing else ""
                    return job.update(
                        "failed", f"No answer for {self.silent:.0f} s{where}; the process was ended."
                    )
                continue
            heard = time.monotonic()
            if isinstance(message, Ended):
                self._end_worker()
                return self._crashed(job, message, collected)
            if self._heard(job, message, worker, collected):
                return None

    def _heard(self, job: _Job, message: dict, worker: WorkerProcess, collected: Collected) -> bool:
        """Take one message in; True when the run is over."""
        event = message["event"]
        if event == "hello":
            worker.hello = message
            return False
        if message["job"] != job.number:
            return False  # left over from a run that was cancelled
        if event == "done":
            result, remarks = collected.finish(worker.hello)
            job.update("done", collected.summary(result), fraction=1.0, result=result, remarks=remarks)
        elif event == "cancelled":
            job.update("cancelled", "Cancelled.")
        else:
            sentence, fraction = collected.take(message)
            job.update("running", sentence, fraction=fraction)
        return event in ("done", "cancelled")

    def _crashed(self, job: _Job, ended: Ended, collected: Collected) -> None:
        if job.cancelled.is_set():
            return job.update("cancelled", "Cancelled; the process was ended.")
        where = f" while {collected.doing}" if collected.doing else " before it started"
        last = f" It last said: {ended.last_words}" if ended.last_words else ""
        return job.update(
            "failed",
            f"The process that runs the kernels {ended.how}{where}. The page is not affected and the next "
            "run gets a "
            f"new process.{last}",
        )

    def _end_worker(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.end(at_once=True)


@cache
def find_gpu() -> str | None:
    """The name of the first CUDA GPU, or None. Asked once, of a child process, so that the server keeps
    neither torch nor a CUDA context in memory."""
    if not any(Path(node).exists() for node in ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd")):
        return None
    ask = "import torch; print(torch.cuda.get_device_name(0) if torch.cuda.is_available() else '')"
    try:
        done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=120)
    except (OSError, subprocess.TimeoutExpired):
        return None
    lines = done.stdout.splitlines()
    return (lines[-1].strip() or None) if lines and not done.returncode else None


@cache
def _runner(device: str) -> Runner:
    import atexit

    runner = Runner(device)
    atexit.register(runner.close)
    return runner


def shared_runner(device: str | None = None) -> Runner | None:
    """The one runner of a device in this server: of the first GPU (None where there is none), or of
    `device`."""
    if device is None:
        device = os.environ.get("WORKSHOP_DEVICE") or ("cuda:0" if find_gpu() else None)
    return None if device is None else _runner(device)
