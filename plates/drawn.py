"""Components that draw in the browser what Python worked out: their pictures travel as text."""

from __future__ import annotations

import json

import param
from panel.custom import JSComponent


def sent(drawing: object) -> str:
    """Return nested lists and dicts of numbers and texts as a `Picture` holds them.

    Raises
    ------
    ValueError: a number that JSON cannot hold, such as nan.
    """
    return json.dumps(drawing, allow_nan=False, ensure_ascii=False, separators=(",", ":"))


class Picture(param.String):
    """What a `Drawn` draws: the text that `sent` makes, and the script parses.

    As lists and dicts, Panel would compare the thousands of numbers one by one at every change, and Bokeh look for
    models behind each of them, on the server's only thread.
    """


class Drawn(JSComponent):
    """Base of the components. What a browser says of a `Picture` is not taken."""

    @property
    def _linked_properties(self) -> tuple[str, ...]:
        drawn = {name for name in self.param if isinstance(self.param[name], Picture)}
        return tuple(name for name in super()._linked_properties if name not in drawn)
