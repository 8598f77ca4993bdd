"""The service's end of a compiling process: start it, ask, listen, end it with all that it started."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from workshop.hardware import GPU
from workshop.units import exact_bytes

from .compile_options import Options
from .compile_verdict import shared_formula, short_name, with_article
from .process import Ended, WorkerProcess

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "workshop.kernels.compile_worker")


class CompileProcess:
    """A process that is started when it is needed, and the folder of its files."""

    def __init__(self, command: Sequence[str]):
        self.command, self.process, self.scratch = command, None, None
        self.asked = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    @property
    def alive(self) -> bool:
        return self.process is not None

    def ask(self, options: Options) -> None:
        if self.process is None:
            self.scratch = tempfile.mkdtemp(prefix="workshop-compiler-")
            self.process = WorkerProcess([*self.command, self.scratch], ROOT)
            self.asked = 0
        self.asked += 1
        self.process.send({"options": options.record()})

    def hear(self, seconds: float) -> dict | Ended | None:
        return self.process.receive(seconds)

    def end(self) -> None:
        """Ends the process with the assembler that it may be waiting for, and removes its files."""
        if self.process is not None:
            _kill_group(self.process.pid)
            self.process.end(at_once=True)
            self.process = None
        if self.scratch is not None:
            shutil.rmtree(self.scratch, ignore_errors=True)
            self.scratch = None


def _kill_group(pid: int) -> None:
    try:
        # Only a process that leads a group of its own: never the group of the server.
        if hasattr(os, "killpg") and os.getpgid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def crash_sentence(options: Options, ended: Ended) -> str:
    """A worker died."""
    said = f' (its last words: "{ended.last_words[:160]}")' if ended.last_words else ""
    return (
        f"The compiler's process {ended.how} on the {options.Br} x {options.Bc} tile, so there is no verdict{said}. "
        "The next tile gets a fresh process."
    )


def late_sentence(options: Options, limit: float, gpu: GPU) -> str:
    """A build was stopped; what the formula for shared memory says instead."""
    shared = shared_formula(options)
    verdict = "would not launch" if shared > gpu.smem_block else "may launch"
    return (
        f"The compiler did not finish the {options.Br} x {options.Bc} tile in {limit:g} s and was stopped. By the "
        f"formula for shared memory it needs {exact_bytes(shared)}, {with_article(short_name(gpu))} block has "
        f"{exact_bytes(gpu.smem_block)}: it {verdict}."
    )
