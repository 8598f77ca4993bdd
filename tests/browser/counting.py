"""What a server holds, counted in its own process: ``panel serve app.py --plugins tests.browser.counting`` adds a
route ``/held`` that answers with JSON. For benchmarks and tests; no part of the app.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from pathlib import Path

from bokeh.document import Document
from bokeh.server.session import ServerSession
from tornado.web import RequestHandler

from plates.plate import Plate
from plates.settings import Settings
from plates.shell import Atlas

COUNTED = {
    "documents": Document,
    "pages": Atlas,
    "settings": Settings,
    "plates": Plate,
    "sessions": ServerSession,
}
_PAGE = os.sysconf("SC_PAGE_SIZE")


def children() -> list[int]:
    """Return the process numbers of this process's children (Linux)."""
    found = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return [int(number) for path in found for number in path.read_text().split()]


def cpu_seconds() -> float:
    """Return the CPU seconds that this process and its children have used."""
    total = time.process_time()
    for number in children():
        try:
            fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def held() -> dict[str, float]:
    """Return what is alive after a collection: objects by kind, threads, children, bytes resident, CPU seconds."""
    gc.collect()
    alive = gc.get_objects()
    counts = {name: sum(isinstance(item, kind) for item in alive) for name, kind in COUNTED.items()}
    return {
        **counts,
        "objects": len(alive),
        "threads": threading.active_count(),
        "children": len(children()),
        "rss": int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE,
        "cpu": cpu_seconds(),
    }


class Held(RequestHandler):
    """Answers with `held`; ``?cpu`` with the CPU seconds alone, which costs nothing to find."""

    def get(self) -> None:
        if self.get_query_argument("cpu", None) is not None:
            self.write({"cpu": cpu_seconds()})
        else:
            self.write(held())


ROUTES = [("/held", Held, {})]
