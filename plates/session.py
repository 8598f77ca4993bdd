"""One reader's session, for work that outlasts a callback: who they are, how to reach their page, when it closes."""

from __future__ import annotations

import time
from collections.abc import Callable

import panel as pn


class Session:
    """The session in which it is made; outside a server, one that calls at once and never closes by itself.

    ``key`` tells readers apart.
    """

    def __init__(self) -> None:
        doc = pn.state.curdoc
        self._doc = doc if doc is not None and doc.session_context is not None else None
        self._leaving: list[Callable[[], None]] = []
        self.key = self._doc.session_context.id if self._doc else f"no-session-{id(self)}"
        self.closed = False
        if self._doc is not None:
            self._doc.on_session_destroyed(self._on_destroyed)

    @property
    def served(self) -> bool:
        """Whether a browser is, or was, at the other end."""
        return self._doc is not None

    def call(self, function: Callable[[], None]) -> None:
        """Call ``function`` in the session, from any thread: soon and with the document's lock, or at once without a
        server. After the page is closed nothing is called."""
        if self.closed:
            return
        if self._doc is None:
            function()
        else:
            self._doc.add_next_tick_callback(lambda: None if self.closed else function())

    def on_close(self, function: Callable[[], None]) -> None:
        """Call ``function`` once when the page is closed."""
        self._leaving.append(function)

    def close(self) -> None:
        """What the server does when the page is closed."""
        if not self.closed:
            self.closed = True
            for function in self._leaving:
                function()

    def _on_destroyed(self, session_context) -> None:
        self.close()


_heard = float("-inf")


def quiet_for() -> float:
    """Return for how many seconds no reader of this server has done anything that Python answers."""
    return time.monotonic() - _heard


def browser_speaks() -> None:
    """Note that the reader of the current session does something: called wherever that arrives from the browser."""
    global _heard
    _heard = time.monotonic()
    page_is_there()


def page_is_there() -> None:
    """Note that the browser of the current session has its page.

    Panel drops every change made in ``pn.io.hold`` until all components are drawn, because "the document is still to
    be sent". It has been sent long before: who moves a slider in that time would see neither box nor numbers follow.
    """
    doc = pn.state.curdoc
    if doc is not None and doc.session_context is not None and doc.session_context.session is not None:
        pn.state._connected[doc] = pn.state._loaded[doc] = True
        _send_at_once(doc.session_context.session)


def _send_at_once(session) -> None:
    """Let the system send what the server writes without waiting for more.

    A message is written in three parts or more. By default the second waits until the browser's system has confirmed
    the first, and systems put that off for 40 ms: every answer to a slider would take that much longer.
    """
    for connection in session._subscribed_connections:
        socket = getattr(connection, "_socket", None)
        if socket is not None and socket.ws_connection is not None:
            socket.set_nodelay(True)
