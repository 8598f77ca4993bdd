"""A trace as plain lists, small enough to send to a browser once and play there.

Numbers are rounded to what a screen can show; −inf becomes None.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workshop.narration import ENGLISH, listing, narrate
from workshop.steps import TENSORS, Trace, Visit

DIGITS = 5
# Wider heads are played with their first columns; the record says how many of how many.
COLUMNS_SHOWN = 16


def plain(array: np.ndarray) -> list:
    """Nested lists of floats rounded to DIGITS significant digits, with None for what is not finite."""
    if array.ndim > 1:
        return [plain(row) for row in array]
    return [float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None for value in array.tolist()]


def _visit(visit: Visit, focus: int, columns: int) -> dict:
    update = visit.update
    before, after = update.before, update.after
    return {
        "i": visit.i,
        "j": visit.j,
        "row": visit.row,
        "key": visit.key,
        "focus": focus,
        "s": plain(update.s),
        "p": plain(update.p),
        "alpha": update.alpha.tolist(),  # a readout: every digit, and finite by construction
        "m": [plain(before.m), plain(after.m)],
        "l": [plain(before.l), plain(update.alpha * before.l), plain(update.added_l), plain(after.l)],
        "o": [
            plain(part[:, :columns])
            for part in (before.o, update.alpha[:, None] * before.o, update.added_o, after.o)
        ],
    }


def record(trace: Trace, phrases: Mapping[str, str] = ENGLISH) -> dict:
    """The whole play as JSON-able values.

    Problem and totals by name; `kinds` and `order` (Tr, Tc); `steps` as columns of equal length (bytes, not
    elements); `visits` with s, p (r, c), alpha (r,), m [before, after], l and o [before, alpha * before,
    added, after]; `errors` (N,) against the oracle; `blind`: rows that see no key.
    """
    focus, columns, size = trace.focus_rows, min(trace.d, COLUMNS_SHOWN), trace.element_bytes
    finite = [visit.update.s[np.isfinite(visit.update.s)] for visit in trace.visits]
    scores = np.concatenate(finite) if finite else np.zeros(0)
    steps = trace.steps
    return {
        "N": trace.N,
        "d": trace.d,
        "Br": trace.Br,
        "Bc": trace.Bc,
        "causal": trace.causal,
        "order": trace.order,
        "pattern": trace.inputs.pattern,
        "dtype": trace.dtype,
        "columns": columns,
        "kinds": trace.kinds.tolist(),
        "visit_order": trace.visit_order.tolist(),
        "score_range": plain(np.array([scores.min(), scores.max()])) if scores.size else [0.0, 0.0],
        "read_total": trace.bytes_read,
        "written_total": trace.bytes_written,
        "chip_total": max(sum(step.resident.values()) for step in steps) * size,
        "error_max": trace.error_max,
        "errors": plain(trace.row_errors),
        "blind": np.flatnonzero(np.isneginf(trace.logsumexp)).tolist(),
        "listing": listing(trace.order, phrases),
        "steps": {
            "line": [step.line for step in steps],
            "i": [step.i for step in steps],
            "j": [step.j for step in steps],
            "visit": [step.visit for step in steps],
            "done": [step.done for step in steps],
            "stop": [int(step.stop) for step in steps],
            "read": [step.read for step in steps],
            "written": [step.written for step in steps],
            "chip": [[step.resident.get(tensor, 0) * size for tensor in TENSORS] for step in steps],
            "say": [narrate(trace, index, phrases) for index in range(len(steps))],
        },
        "visits": [_visit(visit, focus[visit.i], columns) for visit in trace.visits],
    }
