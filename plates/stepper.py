"""The step-through: the whole play is sent once and runs in the browser; Python gets the step at rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import param
from panel.custom import JSComponent

from plates.text import static

# In the order in which they build on one another; one module for the browser, so nothing is fetched.
_PARTS = ("format", "play", "map", "row", "tile", "side", "render")

WORDS: Mapping[str, str] = {
    "label": "Step-through of the online softmax. Space plays, arrows step, Home and End jump.",
    "transport": "Transport",
    "first": "First step",
    "back": "Back one step",
    "play": "Play",
    "pause": "Pause",
    "forward": "Forward one step",
    "last": "Last step",
    "scrubber": "Step",
    "speed": "Speed",
    "per_second": "{n} steps/s",
    "grain": "One step is",
    "by_line": "by line",
    "by_tile": "by tile",
    "step": "step",
    "of": "of",
    "step_of": "step {n} of {last}",
    "title_map": "Where we are",
    "title_row": "One row, followed",
    "title_code": "What runs",
    "title_tile": "The tile on the chip",
    "title_memory": "What moves",
    "title_carry": "What the Q block carries",
    "map": "The score matrix in tiles: queries down, keys across.",
    "map_now": "{done} of {visited} tiles done; at Q block {i}, K,V block {j}.",
    "map_note": "O fills as its tiles are absorbed, and is solid when the last one is.",
    "skipped": "never loaded",
    "to-come": "to come",
    "current": "on the chip",
    "done": "done",
    "blind": "a row that may see no key",
    "follow": "Row to follow",
    "auto": "the row that shrinks most",
    "row_of_block": "row {r} of the block",
    "none_yet": "none yet",
    "stale": "last tile: ",
    "alpha_blind": "no key seen so far: α is taken as ",
    "line_now": "Scores of the row on a line; running maximum {m}, then {m_new}.",
    "lane_old": "l, so far",
    "lane_shrunk": "shrunk: α · l",
    "lane_sum": "plus the new P",
    "lanes_now": "l was {l}; times α it is {scaled}; this tile adds {added}; together {sum}.",
    "o_old": "O, so far",
    "o_shrunk": "shrunk: α · O",
    "o_sum": "plus P V",
    "columns": "first {shown} of {d} columns",
    "columns_all": "Output row by column: so far, shrunk by α, with P V added.",
    "s_title": "S, scores",
    "s_note": "faint {low}, strong {high}",
    "p_title": "P, weights",
    "p_note": "faint 0, strong 1; P overwrites S",
    "not_yet": "not computed yet",
    "o_undivided": ", not yet divided by l",
    "carry": "For each row of the Q block: running maximum, rescale factor, sum and output.",
    "hbm": "HBM",
    "read": "read",
    "written": "written",
    "of_total": "of {total}",
    "chip": "On the chip (SRAM)",
    "of_most": "now, {most} at most",
    "tensor_q": "Q block",
    "tensor_o": "O block",
    "tensor_k": "K block",
    "tensor_v": "V block",
    "tensor_s": "S tile",
    "tensor_p": "P tile, over S",
    "tensor_statistics": "m and l",
    "error": "At the end, the largest difference from the softmax of whole rows",
    "error_note": "Both in float64: what is left is rounding, because the sums run in another order.",
}


class Stepper(JSComponent):
    """Plays a `workshop.trace_record.record` in the browser.

    ``step`` is the step on show when the play rests: written by the browser after a single step, a pause or a
    drag, and by Python to jump. Bad values from either side are clamped to the trace.
    """

    trace = param.Dict(doc="A record of a trace; replacing it loads a new play.")
    step = param.Integer(0, doc="Step on show at rest, 0 to the last.")
    words = param.Dict(dict(WORDS), doc="Labels, by the keys of WORDS.")

    _esm = "\n".join(static(f"stepper/{part}.js") for part in _PARTS)
    _stylesheets: ClassVar[list[str]] = [static("stepper.css")]
