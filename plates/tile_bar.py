"""A tile's working set as a stacked bar in HTML, against its budget; what exceeds it is hatched and named."""

from __future__ import annotations

from dataclasses import dataclass

from plates import figures
from workshop import units

_ROOM = 1.25  # the budget is drawn at 1 / 1.25 of the width, until the bar needs more
_FILL = 0.98
_STEPS = (1.4, 10 / 7)  # two steps double it


@dataclass(frozen=True)
class Segment:
    """One part: its slug (a colour in the stylesheet), its name, bytes, and what it holds."""

    slug: str
    name: str
    bytes: int
    what: str


@dataclass(frozen=True)
class Bar:
    """One stacked bar: a title, its parts, the budget in bytes and what the budget is called.

    over: the words under the part that exceeds it, with ``{bytes}``.
    """

    title: str
    segments: tuple[Segment, ...]
    budget: int
    budget_name: str
    over: str

    @property
    def total(self) -> int:
        return sum(segment.bytes for segment in self.segments)

    @property
    def end(self) -> float:
        """Bytes at the right end: a fixed multiple of the budget, in few steps more if the bar needs it."""
        end, step = self.budget * _ROOM, 0
        while end * _FILL < self.total:
            end, step = end * _STEPS[step % 2], step + 1
        return end


def amount(value: int) -> str:
    """Bytes on the chip, here and beside the bar: KiB, with the half that parts of a tile often have."""
    return figures.round_text(lambda exact: units.binary(exact, 4))(value)


def _short(value: int) -> str:
    return amount(value).replace(" ", "&nbsp;")


def _past(room: int, size: int) -> tuple[str, str]:
    """Hatching of the part of a segment that exceeds the budget, and where its text stands: off the budget's line.

    room: bytes from the segment's beginning to the budget. size: the segment's bytes.
    """
    if room >= size:
        return "", ""
    if room <= 0:
        return '<u style="left:0"></u>', ' class="past"'
    at = 100 * room / size
    hatching = f'<u style="left:{at:.4f}%"></u>'
    if room > size / 2:
        return hatching, f' style="right:{100 - at:.4f}%"'
    return hatching, f' class="past" style="left:{at:.4f}%"'


def _one(bar: Bar) -> str:
    end, at, parts = bar.end, 0, []
    for segment in bar.segments:
        past, inset = _past(bar.budget - at, segment.bytes)
        parts.append(
            f'<div class="seg {segment.slug}" data-bytes="{segment.bytes}" '
            f'style="left:{100 * at / end:.4f}%;width:{100 * segment.bytes / end:.4f}%">{past}'
            f"<div{inset}><b>{segment.name}</b><span>{_short(segment.bytes)}</span></div></div>"
        )
        at += segment.bytes
    left = 100 * bar.budget / end
    over = ""
    if at > bar.budget:
        words = bar.over.format(bytes=_short(at - bar.budget))
        side = "left:0" if left < 50 else "right:0"
        over = (
            f'<div class="over" style="left:{left:.4f}%;width:{100 * (at - bar.budget) / end:.4f}%">'
            f'<em style="{side}">{words}</em></div>'
        )
    name = f"{bar.budget_name}&nbsp;{_short(bar.budget)}"
    side = " early" if left < 50 else ""
    return (
        f'<div class="tilebar"><h3>{bar.title}</h3><div class="track">'
        f'<div class="room" style="width:{left:.4f}%"></div>'
        f"{''.join(parts)}{over}"
        f'<div class="budget{side}" style="left:{left:.4f}%"><span>{name}</span></div></div></div>'
    )


def bars(found: list[Bar]) -> str:
    """Return the bars, and below them a list of all parts and what they hold, as HTML."""
    items = "".join(
        f'<li><i class="{s.slug}"></i><b>{s.name}</b> {_short(s.bytes)} <small>{s.what}</small></li>'
        for bar in found
        for s in bar.segments
    )
    return f'{"".join(_one(bar) for bar in found)}<ul class="segments">{items}</ul>'
