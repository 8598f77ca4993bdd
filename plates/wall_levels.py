"""The memory levels of a GPU as marks on a scale and as a table: HTML for the plate `wall`."""

from __future__ import annotations

import html
from collections.abc import Callable

import numpy as np

from plates import text
from plates.figures import log_ticks, round_text
from workshop import hierarchy, units
from workshop.hardware import GPU

_FAR = 0.6  # of the scale: from here on a size stands left of its mark


class Scale:
    """Decades of bytes around ``sizes``, as shares of a width."""

    def __init__(self, sizes: list[int]) -> None:
        self.low = float(np.floor(np.log10(min(sizes))))
        self.high = float(np.ceil(np.log10(max(sizes))))
        self.decades = log_ticks(10**self.low, 10**self.high, most=100)

    def at(self, size: float) -> float:
        """The share of the width that lies left of ``size``."""
        return (float(np.log10(size)) - self.low) / (self.high - self.low)

    def rules(self) -> str:
        """A line a decade."""
        return "".join(f'<u style="left:{self.at(decade):.2%}"></u>' for decade in self.decades)

    def texts(self) -> str:
        """Every third decade in words."""
        said = round_text(units.bytes_)
        return "".join(
            f'<span style="left:{self.at(decade):.2%}">{said(decade)}</span>'
            for decade in self.decades
            if round(np.log10(decade)) % 3 == 0
        )


def _marks(level: hierarchy.Level, scale: Scale, size: str) -> str:
    """What one program reaches, hollow, and all of the chip's, filled; words where the size is not known."""
    if level.total is None:
        return f'<b class="unknown">{html.escape(size)}</b>'
    each, all_ = scale.at(level.each), scale.at(level.total)
    marks = ""
    if level.pieces > 1:
        marks = f'<i class="reach" style="left:{each:.2%};width:{all_ - each:.2%}"></i>'
        marks += f'<i class="each" style="left:{each:.2%}"></i>'
    side = ' class="left"' if all_ > _FAR else ""
    return f'{marks}<i class="all" style="left:{all_:.2%}"></i><b{side} style="left:{all_:.2%}">{html.escape(size)}</b>'


def levels(gpu: GPU, words: dict, said: Callable[[str], str] = str) -> str:
    """Sizes as marks on a scale of decades, and everything that is known as a table."""
    found = hierarchy.levels(gpu)
    scale = Scale([size for level in found if level.total for size in (level.each, level.total)])
    picture, rows = [], []
    for level in found:
        css = "on" if level.on_chip else "off"
        size = (
            (units.binary if level.on_chip else units.bytes_)(level.total)
            if level.total
            else words["size_unknown"]
        )
        rate = units.rate_bytes(level.bandwidth) if level.bandwidth else words["rate_unknown"]
        picture.append(
            f'<span class="level {css}">{html.escape(said(level.name))}</span>'
            f'<div class="line {css}">{scale.rules()}{_marks(level, scale, size)}</div>'
        )
        each = words["once"]
        if level.pieces > 1:
            each = words["per_sm"].format(each=units.binary(level.each), pieces=units.count(level.pieces))
        elif level.each is None:
            each = "–"
        rows.append(
            [
                said(level.name),
                f'<span style="white-space:nowrap">{words["on_chip" if level.on_chip else "off_chip"]}</span>',
                each,
                size,
                rate
                if level.bandwidth is None or level.slug in ("memory", "host")
                else f"{rate} {words['whole']}",
                words.get(f"level_{level.slug}", said(level.remark)),
            ]
        )
    head = f'<span></span><span class="head">{words["head_size"]}</span>'
    axis = f'<span></span><div class="texts" aria-hidden="true">{scale.texts()}</div>'
    names = ("level", "where", "each", "size", "rate", "remark")
    table = text.table([(words[f"column_{n}"], n in ("size", "rate")) for n in names], rows)
    notes = "".join(f"<li>{html.escape(said(note))}</li>" for note in gpu.notes)
    sources = html.escape(said("; ".join(gpu.sources)))
    return (
        f'<div class="levels">{head}{"".join(picture)}{axis}</div>{table}'
        f"<details><summary>{words['sheet'].format(gpu=gpu.name)}</summary><ul>{notes}</ul><p>{sources}</p></details>"
    )
