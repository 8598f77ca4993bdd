"""The step-through: the whole play is sent once and runs in the browser; Python gets the step at rest."""

from __future__ import annotations

from typing import ClassVar

import param

from plates.drawn import Drawn, Picture
from plates.text import static

# In the order in which they build on one another; one module for the browser, so nothing is fetched.
_PARTS = ("format", "play", "map", "row", "tile", "side", "render")


class Stepper(Drawn):
    """Plays a `workshop.trace_record.record` in the browser.

    ``step`` is the step on show when the play rests: written by the browser after a single step, a pause or a
    drag, and by Python to jump. Bad values from either side are clamped to the trace.
    """

    trace = Picture("null", doc="A record of a trace; replacing it loads a new play.")
    step = param.Integer(0, doc="Step on show at rest, 0 to the last.")
    words = param.Dict(doc="Labels, by the names that the parts use as `words.name`.")

    _esm = "\n".join(static(f"stepper/{part}.js") for part in _PARTS)
    _stylesheets: ClassVar[list[str]] = [static("range.css"), static("stepper.css")]
