"""What a server holds, counted in its own process: ``panel serve app.py --plugins tests.browser.counting`` adds a
route ``/held`` that answers with JSON. For benchmarks and tests; no part of the app.
"""

from __future__ import annotations

import gc
import os
import sys
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
        "cpu": time.process_time(),
    }


class Held(RequestHandler):
    """Answers with `held`; ``?cpu`` with the CPU seconds alone, which costs nothing to find."""

    def get(self) -> None:
        if self.get_query_argument("cpu", None) is not None:
            self.write({"cpu": time.process_time()})
        else:
            self.write(held())


class Kept(RequestHandler):
    """Who refers to the pages that should be gone: types, a few steps back. For hunting."""

    def get(self) -> None:
        gc.collect()
        kinds = self.get_query_argument("kind", "pages")
        lines, frames = [], {id(sys._getframe())}
        for item in [o for o in gc.get_objects() if isinstance(o, COUNTED[kinds])][:3]:
            lines.append(repr(type(item)))
            for one in gc.get_referrers(item):
                if id(one) in frames:
                    continue
                lines.append(f"    {type(one).__name__} {str(one)[:150]}")
                if isinstance(one, dict | list | tuple | set):
                    lines += [
                        f"        {type(two).__name__} {str(two)[:150]}" for two in gc.get_referrers(one)[:6]
                    ]
        self.write("<pre>" + "\n".join(lines).replace("<", "&lt;"))


ROUTES = [("/held", Held, {}), ("/kept", Kept, {})]
