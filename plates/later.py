"""Parts far down a page: built one after another, each once the browser has drawn the one before.

A browser builds the views of a column beside everything else that it does, and a child that comes meanwhile is never
shown. So a column grows only after its last component has said that it is drawn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

import panel as pn
from panel.custom import JSComponent
from panel.viewable import Viewable

from plates.session import page_is_there
from plates.text import STATIC

_log = logging.getLogger(__name__)
_GROWING = "growing"
_BETWEEN = 30  # ms: time to answer readers before the next part is built


class Arrived(JSComponent):
    """Draws nothing: tells that the browser has drawn what stands before it, whenever it does."""

    _esm = STATIC / "arrived.js"

    def __init__(self, heard: Callable[[], None]) -> None:
        self._heard = heard
        super().__init__(width=0, height=0, margin=0)

    def _handle_msg(self, msg: object) -> None:
        page_is_there()
        self._heard()


class Later:
    """A column that fills itself; of class ``growing`` until it is drawn. Without a server it is full from the start.

    Parameters
    ----------
    parts: functions in the order of the page; each builds the views of one part.
    built: called after each part, before the reader sees it, to fill it with what is known by now.
    failed: called where a part's exception is handled; the other parts come.
    view: the column, if there is one already that has its first views.
    """

    def __init__(
        self,
        parts: Iterable[Callable[[], Iterable[Viewable]]],
        built: Callable[[], None] = lambda: None,
        failed: Callable[[], None] = lambda: _log.exception("a part could not be built"),
        view: pn.Column | None = None,
    ) -> None:
        self.view = pn.Column(sizing_mode="stretch_width", margin=0) if view is None else view
        self._parts, self._built, self._failed = list(parts), built, failed
        doc = pn.state.curdoc
        self._doc = doc if doc is not None and doc.session_context is not None else None
        self._last: Arrived | None = None  # stands at the end of the column
        self._awaited: Arrived | None = None
        self._due = False
        if self._doc is None:
            self.view.extend([view for part in self._parts for view in part()])
            self._parts = []
        else:
            self.view.css_classes = [*self.view.css_classes, _GROWING]
            self._send([])

    def sent(self) -> None:
        """The column as it is now is on its way to the browser."""
        self._awaited = self._last

    def _send(self, made: list[Viewable]) -> None:
        before = [view for view in self.view if view is not self._last]
        mark = self._last = Arrived(lambda: self._drawn(mark))
        self.view.objects = [*before, *made, mark]
        self.sent()

    def _drawn(self, mark: Arrived) -> None:
        if mark is not self._awaited:
            return  # has said so before
        self._awaited = None
        if not self._parts:
            self.view.css_classes = [name for name in self.view.css_classes if name != _GROWING]
        elif not self._due:
            self._due = True
            self._doc.add_timeout_callback(self._next, _BETWEEN)

    def _next(self) -> None:
        self._due = False
        if self._awaited is not None:
            return  # shown anew meanwhile
        part, made = self._parts.pop(0), []
        # a message of its own in which nothing is folded, as for another plate: see `Atlas._swap`
        with pn.io.hold(policy="collect"):
            try:
                views = list(part())
                self._built()
                made = views
            except Exception:
                self._failed()
            self._send(made)
