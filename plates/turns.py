"""Pages are built one at a time, and between two of them the readers who are there already are served.

Building a page takes the server a good part of a second, in which it answers nobody. A class that opens a link at once
would have everybody wait for all of its pages.
"""

from __future__ import annotations

import asyncio
import time

from bokeh.application.handlers.lifecycle import LifecycleHandler
from bokeh.document import Document

from plates.session import quiet_for

_LEAST, _MOST = 0.05, 1.0  # s between two builds: time to hear what readers did meanwhile, and to answer
_ACTIVE = 5.0  # s after which a reader who does nothing is not waited for


class Turns(LifecycleHandler):
    """Lets each session of its application wait for its turn."""

    def __init__(self) -> None:
        super().__init__()
        self._turn = asyncio.Lock()
        self._took = 0.0

    async def on_session_created(self, session_context) -> None:
        """Wait for the page before; Bokeh builds the page of this session as soon as this returns.

        While a reader does something, building takes no more than half of the time.
        """
        async with self._turn:
            active = quiet_for() < _ACTIVE
            await asyncio.sleep(min(max(self._took, _LEAST), _MOST) if active else _LEAST)
            asyncio.get_running_loop().call_soon(self._built, time.monotonic())

    def _built(self, start: float) -> None:
        self._took = time.monotonic() - start


def take_turns(doc: Document) -> None:
    """Let the sessions of the application that serves ``doc`` take turns from now on."""
    context = doc.session_context
    if context is None or context.server_context is None:
        return
    application = context.server_context.application_context.application
    if not any(isinstance(handler, Turns) for handler in application.handlers):
        application.add(Turns())
