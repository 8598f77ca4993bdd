"""Time of a layer as bars in HTML: arithmetic beside memory, the longer one marked, their sum as the other end."""

from __future__ import annotations

import math
from dataclasses import dataclass

from plates.figures import round_text
from workshop import units
from workshop.roofline import Time

_STEPS = (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9, 10)
_ROOM = 1.02  # the sum's mark stays inside the frame
_INSIDE = 0.55  # a bar this long carries its text itself
_TEXT = 0.45  # of the axis: what a text beside a bar takes on a phone
_NEAR = 0.2  # the same on a desktop
# as `units.seconds` writes times: from two of the long ones on, from one of the short ones on
_LONG = ((86400, "d"), (3600, "h"), (60, "min"))
_SHORT = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True)
class Lane:
    """One model's bars: its name and role, its time, and what the words beside it say."""

    name: str
    role: str
    time: Time
    summary: str  # HTML, after the name
    work: str  # beside the bar of arithmetic
    bytes: str  # beside the bar of memory traffic


def end_of(longest: float, read: float | None = None) -> float:
    """Return an axis end, s, just above ``longest`` (which is finite and positive).

    Round in the unit of ``read``: the longest time that stands in words beside a bar; of itself if there is none.
    """
    if not 0 < longest < math.inf:
        raise ValueError(f"longest: expected a finite time above 0, got {longest!r}")
    unit = _unit(read or longest)[0]
    decade = 10.0 ** math.floor(math.log10(longest / unit))
    return next(decade * step * unit for step in (*_STEPS, 12) if decade * step >= longest / unit * _ROOM)


def _unit(time: float) -> tuple[float, str]:
    """Seconds of the unit in which a time is read, and its name."""
    time = float(f"{time:.3g}")  # as it is written
    for size, name in _LONG:
        if time >= 2 * size:
            return size, name
    return next(((size, name) for size, name in _SHORT if time >= size), (1e-12, "ps"))


def ticks_of(end: float, read: float | None = None) -> list[tuple[float, str]]:
    """Return (time in s, text) of the ticks of an axis that ends at ``end``, from 0, all in the unit of ``read``."""
    size, unit = _unit(read or end)
    decade = 10.0 ** math.floor(math.log10(end / size))
    lead = end / size / decade
    step = decade * size * (0.2 if lead < 1.3 else 0.5 if lead < 3.5 else 1 if lead < 6.5 else 2)
    found = [k * step for k in range(round(end / step + 1e-9) + 1) if k * step <= end * (1 - 0.04)]
    return [(at, _tick(at, size, unit) if at else "0") for at in found]


def _tick(value: float, size: float, unit: str) -> str:
    return f"{round_text(units.number)(value / size)} {unit}"


def _percent(value: float, end: float) -> str:
    return f"{100 * value / end:.4f}%"


def _part(kind: str, value: float, end: float, words: str, line: float) -> str:
    """One bar. Its text keeps clear of the heavy line at ``line``: in the bar, beside it, or beyond the line."""
    share, gap = value / end, (line - value) / end
    inside, shift = share > _INSIDE, ""
    if not inside and gap < _TEXT and line / end <= 1 - _TEXT + 0.05:
        # of the lane's width: a bar may be narrower than the stroke that stands for it
        shift = f' style="left:calc({100 * line / end:.4f}cqw + 2px)"'
    elif not inside and gap < _NEAR:
        inside = True
    return (
        f'<div class="part {kind}{" inside" if inside else ""}" style="width:{_percent(value, end)}" '
        f'data-seconds="{value!r}"><span{shift}>{words}</span></div>'
    )


def bars(lanes: list[Lane]) -> str:
    """Return the lanes over one time axis as HTML. Widths are shares of a round axis end."""
    read = max(lane.time.lower for lane in lanes)
    end = end_of(max(lane.time.upper for lane in lanes), read)
    rules = "".join(
        f'<i style="left:{_percent(at, end)}"><span>{shown}</span></i>' for at, shown in ticks_of(end, read)
    )
    rows = []
    for lane in lanes:
        time = lane.time
        least, most = _percent(time.lower, end), _percent(time.upper, end)
        rows.append(
            f'<div class="lane" style="--c:var(--{lane.role})"><h3>{lane.name} <span>{lane.summary}</span></h3>'
            f'<div class="parts">{_part("work", time.compute_s, end, lane.work, time.lower)}'
            f"{_part('bytes', time.memory_s, end, lane.bytes, time.lower)}"
            f'<div class="reach"><i style="left:{least};width:{_percent(time.upper - time.lower, end)}"></i>'
            f'<b style="left:{most}"></b></div><div class="least" style="left:{least}"></div></div></div>'
        )
    return f'<div class="lanes"><div class="rules" aria-hidden="true">{rules}</div>{"".join(rows)}</div>'
