"""A worker process on a leash: JSON lines to and from it, its last words kept, its end told as a sentence."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

KEPT = 400
#: Seconds a process is given to end by itself.
GRACE = 3.0


@dataclass(frozen=True)
class Ended:
    """The process is gone: `how` as a verb phrase, and the last line it wrote to its error output."""

    how: str
    last_words: str


class WorkerProcess:
    """Starts `command` in `cwd`; `send` and `receive` exchange messages."""

    def __init__(self, command: Sequence[str], cwd: Path):
        self._errors = tempfile.TemporaryFile()
        environment = os.environ | {"PYTHONUNBUFFERED": "1"}
        try:
            self._process = subprocess.Popen(
                command,
                cwd=cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                text=True,
                encoding="utf-8",
            )
        except OSError:
            self._errors.close()
            raise
        self.hello: dict = {}
        self._messages: queue.Queue = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, message: dict) -> None:
        """Send one message; a process that is gone is told by `receive`, not here."""
        try:
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def receive(self, timeout: float) -> dict | Ended | None:
        """The next message, `Ended` once there are no more, or None if none came in `timeout` seconds."""
        try:
            return self._messages.get(timeout=timeout)
        except queue.Empty:
            return None

    def end(self, at_once: bool = False) -> None:
        """End the process, by closing its input or at once by force, and wait until it is gone."""
        if at_once:
            self._process.kill()
        try:
            self._process.stdin.close()
        except OSError:
            pass
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(GRACE)
        self._process.stdout.close()
        self._errors.close()

    def _read(self) -> None:
        for line in self._process.stdout:
            try:
                message = json.loads(line)
            except json.JSONDecodeError:
                continue
            self._messages.put(message)
        self._messages.put(Ended(_how(self._process.wait()), self._last_words()))

    def _last_words(self) -> str:
        try:
            size = self._errors.seek(0, os.SEEK_END)
            self._errors.seek(max(0, size - 4096))
            lines = self._errors.read().decode("utf-8", "replace").split("\n")
        except ValueError:
            return ""
        return next((line.strip()[:KEPT] for line in reversed(lines) if line.strip()), "")


def _how(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
