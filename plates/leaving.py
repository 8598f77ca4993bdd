"""What the libraries keep of a page after its reader has left, let go: a server that runs for weeks must not grow.

Three things of `panel` outlive a session. Its template follows the server's busy sign, and param keeps that watcher
when the link is cut. The area of the notifications, a root of the document, stays in the table of the views. And the
task that tidies the busy sign is started by whichever reader is the first to make the server busy, and runs ever after
in that reader's context, which holds the document.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging

import panel as pn
from panel.io.notifications import NotificationAreaBase
from panel.util import edit_readonly
from tornado.websocket import WebSocketClosedError


class _Left(logging.Filter):
    """Lets no trace through of a message to a reader who had just left: Panel sends it in a task nobody waits for."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not (record.exc_info and isinstance(record.exc_info[1], WebSocketClosedError))


logging.getLogger("asyncio").addFilter(_Left())


def unfollow_busy(page) -> None:
    """Stop ``page`` from following the server's busy sign, which this page does not show."""
    with edit_readonly(page):
        page.busy = False
    for watcher in list(pn.state.param.watchers.get("busy", {}).get("value", ())):
        follower = getattr(watcher.fn, "__self__", None)
        if getattr(follower, "self", None) is page:
            pn.state.param.unwatch(watcher)


def tidy_for_nobody() -> None:
    """Start the task that tidies the server's busy sign in nobody's context, before a reader's can start it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return  # no server: nothing is busy
    contextvars.Context().run(pn.state._schedule_busy_cleanup)


def forget_views_on_leaving() -> None:
    """When the session in which this is called ends, take what is left of it out of Panel's table of views."""
    doc = pn.state.curdoc
    if doc is None or doc.session_context is None:
        return

    def forget(_) -> None:
        for ref, (view, root, owner, _comm) in list(pn.state._views.items()):
            # the page itself is cleaned up by Panel, which looks for it there
            if owner is doc and isinstance(view, NotificationAreaBase):
                view._cleanup(root)
                pn.state._views.pop(ref, None)

    doc.on_session_destroyed(forget)
