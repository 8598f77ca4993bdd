"""What a server's event loop does for a session: calls from other threads happen in one thread, one after another."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable

from plates.machine_run import RunPanel


class EventLoop:
    """Runs in the thread of the test, while that waits, what other threads ask the sessions of panels to call."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def serve(self, panel: RunPanel) -> RunPanel:
        """Take over the calls of a panel's session."""
        session = panel.session
        session.call = lambda function: self._calls.put(lambda: None if session.closed else function())
        return panel

    def until(self, true: Callable[[], bool], seconds: float = 120.0) -> None:
        """Run calls until ``true()``."""
        deadline = time.monotonic() + seconds
        while not true():
            try:
                self._calls.get(timeout=0.02)()
            except queue.Empty:
                assert time.monotonic() < deadline, f"not true after {seconds:.0f} s"
