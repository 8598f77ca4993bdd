"""Errors of standard, tiled and broken attention in four formats on one log axis, with what the 2x rule allows."""

from __future__ import annotations

import math
from collections.abc import Mapping

from bokeh.models import ColumnDataSource

from plates import figures
from plates.figures import Themed
from plates.roles import MODEL
from workshop import units
from workshop.number_formats import FORMATS

LOW, HIGH = 1e-18, 1e2  # fixed, so that a change of settings moves the marks and not the axis
_LANES = {"standard": 0.27, "tiled": 0.0, "broken": -0.27}
_LOOK = {
    "standard": ("standard", "circle", 11),
    "tiled": (MODEL["tiled"], "square", 10),
    "broken": ("over", "x", 11),
}
_COLUMNS = ("x", "y", "t", "align", "shift")


def place(value: float, words: Mapping[str, str]) -> dict:
    """Where an error stands, and its text: left of the mark in the right half, so that nothing runs out of the frame.

    0 stands at the left end, what is no number or infinite at the right end, and their words say so.
    """
    if math.isnan(value) or math.isinf(value):
        x, said = HIGH / 3, words["no_number" if math.isnan(value) else "infinite"]
    elif value == 0:
        x, said = LOW * 3, "0"
    else:
        x, said = min(max(value, LOW * 3), HIGH / 3), units.number(value, 2)
    left = math.log10(x) > (math.log10(LOW) + math.log10(HIGH)) / 2
    return {"x": x, "t": said, "align": "right" if left else "left", "shift": -11 if left else 11}


class ErrorChart:
    """Four rows, one a format; in each, three lanes, and a stroke at the most that tiled attention may err."""

    def __init__(self, themed: Themed, words: Mapping[str, str]) -> None:
        self._words = words
        self._rows = {name: len(FORMATS) - 1 - k for k, name in enumerate(FORMATS)}
        self.fig = fig = figures.chart(
            themed, x=(LOW, HIGH), y=(-0.55, len(FORMATS) - 0.45), x_label=words["axis"], x_log=True,
            height=340, min_border_left=76,
        )  # fmt: skip
        fig.ygrid.visible = False
        powers = [10.0**k for k in (-16, -12, -8, -4, 0)]
        figures.ticks(fig.xaxis[0], powers, [units.number(p, 1).removeprefix("1×") for p in powers])
        rows = list(self._rows.items())
        figures.ticks(fig.yaxis[0], [row for _, row in rows], [words[f"format_{name}"] for name, _ in rows])
        themed.colour(fig.yaxis[0], major_label_text_color="ink")
        self._ground = ColumnDataSource({"y": [0]})
        ground = fig.hbar(y="y", height=0.94, left=LOW, right=HIGH, source=self._ground, line_color=None)
        themed.colour(ground.glyph, fill_color="panel")
        ground.level = "underlay"
        self._limit = ColumnDataSource({"x": [], "low": [], "high": []})
        stroke = fig.segment("x", "low", "x", "high", source=self._limit, line_width=3)
        themed.colour(stroke.glyph, line_color="ink")
        self.sources = {}
        for lane, (role, marker, size) in _LOOK.items():
            source = ColumnDataSource({name: [] for name in _COLUMNS})
            dot = fig.scatter("x", "y", source=source, marker=marker, size=size, line_width=2.5)
            said = fig.text(
                "x", "y", text="t", text_align="align", x_offset="shift", text_baseline="middle", source=source,
                text_font={"value": figures.FONT},
            )  # fmt: skip
            themed.colour(dot.glyph, fill_color=role, line_color=role)
            themed.colour(said.glyph, text_color=role)
            themed.size(said.glyph, text_font_size=13)
            self.sources[lane] = source
        self._outside = ColumnDataSource({"y": [], "t": []})
        outside = fig.text(
            math.sqrt(LOW * HIGH), "y", text="t", text_align="center", text_baseline="middle",
            source=self._outside, text_font={"value": figures.FONT},
        )  # fmt: skip
        themed.colour(outside.glyph, text_color="muted")
        themed.size(outside.glyph, text_font_size=13)

    def patch(self, errors: Mapping[str, tuple], chosen: str, broken: str) -> None:
        """Draw ``errors`` (format -> sound and broken Comparison); ``chosen`` is the reader's format."""
        marks = {lane: {name: [] for name in _COLUMNS} for lane in _LOOK}
        limits, outside = {"x": [], "low": [], "high": []}, {"y": [], "t": []}
        for name, row in self._rows.items():
            sound, wrong = errors[name]
            if not sound.fits:
                outside["y"].append(row)
                outside["t"].append(self._words["outside"].format(format=self._words[f"format_{name}"]))
                continue
            values = {"standard": sound.full, "tiled": sound.tiled}
            if broken != "none":
                values["broken"] = wrong.tiled
            for lane, value in values.items():
                found = place(value, self._words) | {"y": row + _LANES[lane]}
                for column in _COLUMNS:
                    marks[lane][column].append(found[column])
            if not sound.yardstick:
                limits["x"].append(min(max(sound.limit, LOW), HIGH))
                limits["low"].append(row + _LANES["tiled"] - 0.14)
                limits["high"].append(row + _LANES["tiled"] + 0.14)
        for lane, data in marks.items():
            self.sources[lane].data = data
        self._limit.data, self._outside.data = limits, outside
        self._ground.data = {"y": [self._rows[chosen]]}
