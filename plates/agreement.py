"""Controls that two write: the reader with keys and pointer, Python for Back, links, presets and Reset.

Each side's message is on its way while the other writes, and then each shows what the other sent: the thumb stands
where Python put it, and Python holds what the reader chose. Python has the last word, but a browser is never told
again what Python has not changed. So where messages may have crossed, Python says once more what it holds, when both
sides rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import panel as pn

from plates.pause import Pause
from plates.session import browser_speaks

_CROSSING = (
    5.0  # s after Python wrote: what the reader wrote until then may have been written before it arrived
)
_REST = 400  # ms without a change from either side


class Agreement:
    """Between Python and the browser about some widgets.

    Parameters
    ----------
    shown: pairs of a widget and the names of its properties in the browser that both sides write.
    first: called before Python says once more what it holds, for what waits until both sides rest.
    """

    def __init__(
        self,
        *shown: tuple[pn.viewable.Viewable, tuple[str, ...]],
        first: Callable[[], None] = lambda: None,
    ) -> None:
        self._shown, self._first = shown, first
        self._told = float("-inf")
        self._rest = Pause(self._say, _REST)

    def told(self) -> None:
        """Python wrote."""
        self._told = time.monotonic()
        if self._rest.waiting:
            self._rest.ask()

    def heard(self) -> None:
        """The reader wrote."""
        browser_speaks()
        if self._rest.waiting or time.monotonic() - self._told < _CROSSING:
            self._rest.ask()

    def open(self) -> None:
        """Something waits until both sides rest."""
        self._rest.ask()

    def _say(self) -> None:
        self._told = time.monotonic()
        self._first()
        for widget, names in self._shown:
            for model, _ in widget._models.values():
                for name in names:
                    value = getattr(model.data, name)
                    model.data.trigger(name, value, value)
