"""Time of a layer as bars in HTML: arithmetic beside memory, the longer one marked, their sum as the other end."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workshop import units
from workshop.roofline import Time

_STEPS = (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 10)
_ROOM = 1.02  # the sum's mark stays inside the frame
_INSIDE = 0.55  # a bar this long carries its text itself


@dataclass(frozen=True)
class Lane:
    """One model's bars: its name and role, its time, and what the words beside it say."""

    name: str
    role: str
    time: Time
    summary: str  # HTML, after the name
    work: str  # beside the bar of arithmetic
    bytes: str  # beside the bar of memory traffic


def end_of(longest: float) -> float:
    """Return a round axis end, s, just above ``longest`` (which is finite and positive)."""
    if not 0 < longest < math.inf:
        raise ValueError(f"longest: expected a finite time above 0, got {longest!r}")
    decade = 10.0 ** math.floor(math.log10(longest))
    return next(decade * step for step in (*_STEPS, 12) if decade * step >= longest * _ROOM)


def _tick_step(end: float) -> float:
    decade = 10.0 ** math.floor(math.log10(end))
    lead = end / decade
    return decade * (0.2 if lead < 1.3 else 0.5 if lead < 3.5 else 1 if lead < 6.5 else 2)


def _tick(value: float) -> str:
    number, _, unit = units.seconds(value).partition(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def _percent(value: float, end: float) -> str:
    return f"{100 * value / end:.4f}%"


def _part(kind: str, value: float, end: float, words: str) -> str:
    inside = " inside" if value / end > _INSIDE else ""
    return (
        f'<div class="part {kind}{inside}" style="width:{_percent(value, end)}" data-seconds="{value!r}">'
        f"<span>{words}</span></div>"
    )


def bars(lanes: list[Lane]) -> str:
    """Return the lanes over one time axis as HTML. Widths are shares of a round axis end."""
    end = end_of(max(lane.time.upper for lane in lanes))
    step = _tick_step(end)
    rules = "".join(
        f'<i style="left:{_percent(k * step, end)}"><span>{_tick(k * step) if k else "0"}</span></i>'
        for k in range(round(end / step + 1e-9) + 1)
        if k * step <= end * (1 - 0.04)
    )
    rows = []
    for lane in lanes:
        time = lane.time
        least, most = _percent(time.lower, end), _percent(time.upper, end)
        rows.append(
            f'<div class="lane" style="--c:var(--{lane.role})"><h3>{lane.name} <span>{lane.summary}</span></h3>'
            f'<div class="parts">{_part("work", time.compute_s, end, lane.work)}'
            f"{_part('bytes', time.memory_s, end, lane.bytes)}"
            f'<div class="reach"><i style="left:{least};width:{_percent(time.upper - time.lower, end)}"></i>'
            f'<b style="left:{most}"></b></div><div class="least" style="left:{least}"></div></div></div>'
        )
    return f'<div class="lanes"><div class="rules" aria-hidden="true">{rules}</div>{"".join(rows)}</div>'
