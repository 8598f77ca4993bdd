"""Work that waits until a reader rests: each new request puts it off again."""

from __future__ import annotations

from collections.abc import Callable

import panel as pn


class Pause:
    """Calls ``call`` in the reader's session ``after`` ms without another request."""

    def __init__(self, call: Callable[[], None], after: int) -> None:
        self._call, self._after = call, after
        self._waiting = None

    @property
    def waiting(self) -> bool:
        """Whether a call is due."""
        return self._waiting is not None

    def ask(self) -> bool:
        """Request the call. False, and nothing will be called, where no server serves the current document."""
        doc = pn.state.curdoc
        if doc is None or doc.session_context is None:
            return False
        if self._waiting is not None:
            doc.remove_timeout_callback(self._waiting)
        self._waiting = doc.add_timeout_callback(self._now, self._after)
        return True

    def _now(self) -> None:
        self._waiting = None
        self._call()
