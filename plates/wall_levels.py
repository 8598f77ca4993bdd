"""The memory levels of a GPU as bars and as a table: HTML for the plate `wall`."""

from __future__ import annotations

import html
from collections.abc import Callable

import numpy as np

from plates import text
from workshop import hierarchy, units
from workshop.hardware import GPU


def levels(gpu: GPU, words: dict, said: Callable[[str], str] = str) -> str:
    """Bars on logarithmic scales for what is known, words for what is not, and the same as a table."""
    found = hierarchy.levels(gpu)
    sizes = [level.total for level in found if level.total]
    rates = [level.bandwidth for level in found if level.bandwidth]

    def bar(value, among, shown: str, css: str) -> str:
        if value is None:
            return f'<span class="unknown">{html.escape(shown)}</span>'
        low, high = np.log10(min(among)) - 1, np.log10(max(among))
        width = 100 * (np.log10(value) - low) / (high - low)
        return f'<span class="bar {css}" style="--w:{width:.1f}%"></span><b>{html.escape(shown)}</b>'

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
            f'<li class="{css}"><span class="level">{html.escape(said(level.name))}</span>'
            f'<span class="measure">{bar(level.total, sizes, size, css)}</span>'
            f'<span class="measure">{bar(level.bandwidth, rates, rate, css)}</span></li>'
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
    head = f'<li class="head"><span></span><span>{words["head_size"]}</span><span>{words["head_rate"]}</span></li>'
    names = ("level", "where", "each", "size", "rate", "remark")
    table = text.table([(words[f"column_{n}"], n in ("size", "rate")) for n in names], rows)
    notes = "".join(f"<li>{html.escape(said(note))}</li>" for note in gpu.notes)
    sources = html.escape(said("; ".join(gpu.sources)))
    return (
        f'<ul class="levels">{head}{"".join(picture)}</ul>{table}'
        f"<details><summary>{words['sheet'].format(gpu=gpu.name)}</summary><ul>{notes}</ul><p>{sources}</p></details>"
    )
