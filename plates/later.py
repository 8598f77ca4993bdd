"""Parts far down a page: built one after another once the reader sees the first ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import panel as pn
from panel.viewable import Viewable

_GROWING = "growing"
_BETWEEN = 120  # ms: time for the browser to draw a part and to answer the reader before the next one comes


class Later:
    """A column that fills itself; of class ``growing`` until it is full. Without a server it is full from the start.

    Parameters
    ----------
    parts: functions in the order of the page; each builds the views of one part.
    built: called after each part, before the reader sees it, to fill it with what is known by now.
    view: the column, if there is one already that has its first views.
    """

    def __init__(
        self,
        parts: Iterable[Callable[[], Iterable[Viewable]]],
        built: Callable[[], None] = lambda: None,
        view: pn.Column | None = None,
    ) -> None:
        self.view = pn.Column(sizing_mode="stretch_width", margin=0) if view is None else view
        self._parts, self._built = list(parts), built
        doc = pn.state.curdoc
        self._doc = doc if doc is not None and doc.session_context is not None else None
        if self._doc is None:
            self.view.extend([view for part in self._parts for view in part()])
            self._parts = []
        elif self._parts:
            self.view.css_classes = [*self.view.css_classes, _GROWING]
            pn.state.onload(self._soon)

    def _soon(self) -> None:
        if self._parts:
            self._doc.add_timeout_callback(self._next, _BETWEEN)

    def _next(self) -> None:
        part = self._parts.pop(0)
        try:
            made = list(part())
            # a message of its own in which nothing is folded, as for another plate: see `Atlas._swap`
            with pn.io.hold(policy="collect"):
                self._built()
                self.view.extend(made)
                if not self._parts:
                    self.view.css_classes = [name for name in self.view.css_classes if name != _GROWING]
        finally:
            self._soon()  # one that fails is in the log, and keeps no other from coming
