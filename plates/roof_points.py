"""Recorded runs on the roofline: hollow marks where a real GPU stood, beside the models' points."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from bokeh.models import ColumnDataSource

from plates import figures, text
from plates.figures import Themed
from plates.machine_time import MARK, ROLE
from workshop import units
from workshop.recordings import PROVIDERS
from workshop.recordings.points import Point

_COLUMNS = ("x", "y", "i", "r", "t", "s")


class RoofPoints:
    """Adds a mark and a name for each provider to a roofline; ``patch`` moves them."""

    def __init__(self, themed: Themed, fig, lang: str) -> None:
        self._words = words = text.labels("machine", lang)
        self._fig = fig
        self.sources, self._labels, marks = {}, {}, []
        self._leaders = ColumnDataSource({"x0": [], "y0": [], "x1": [], "y1": []})
        leader = fig.segment("x0", "y0", "x1", "y1", source=self._leaders, line_width=1)
        themed.colour(leader.glyph, line_color="muted")
        for provider in PROVIDERS:
            name, source = words[f"provider_{provider}"], ColumnDataSource({c: [] for c in _COLUMNS})
            mark = fig.scatter(
                "x", "y", source=source, size=13, marker=MARK[provider], line_width=2.5, name=name
            )
            themed.colour(mark.glyph, fill_color="paper", line_color=ROLE[provider])
            self._labels[provider] = figures.label(
                themed, fig, words[f"short_{provider}"], ROLE[provider], text_font_size=13,
                text_baseline="middle", visible=False,
            )  # fmt: skip
            self.sources[provider] = source
            marks.append(mark)
        figures.hover(
            fig,
            marks,
            '<div style="font:14px system-ui;padding:2px 4px"><b>$name</b><br>@i, @r<br>@t<br>@s</div>',
        )

    def patch(self, found: Mapping[str, Point], below: float, apart: bool) -> None:
        """Show these points, none for an empty mapping.

        below: FLOP/s under which their names have a place. apart: whether they stand over the roof of the models.
        """
        words = self._words
        for provider, source in self.sources.items():
            point = found.get(provider)
            self._labels[provider].visible = point is not None
            if point is None:
                source.data = {name: [] for name in _COLUMNS}
                continue
            row = point.row
            source.data = {
                "x": [point.intensity],
                "y": [point.rate],
                "i": [units.intensity(point.intensity)],
                "r": [units.rate_flops(point.rate)],
                "t": [
                    words.listed(
                        [f"N = {units.count(row.N)}", f"d = {row.d}", units.seconds(row.p50)], "parts"
                    )
                ],
                "s": [
                    words.listed(
                        [
                            words["bytes_counted" if point.counted else "bytes_modelled"],
                            words["hover_recorded"].format(gpu=row.gpu, day=row.time[:10]),
                        ],
                        "parts",
                    )
                ],
            }
        self._place(found, below, apart)

    def _place(self, found: Mapping[str, Point], below: float, apart: bool) -> None:
        """Names in a column right of the marks and below what stands there, each with a thin line to its mark.

        Standard, far left, has its name beside it where the slope is above; with a roof of their own all are in line.
        """
        x_span, y_span = self._fig.x_range, self._fig.y_range
        wide, high = float(np.log10(x_span.end / x_span.start)), float(np.log10(y_span.end / y_span.start))
        pixel = high / 410
        column = [p for p in sorted(found, key=lambda p: found[p].rate) if apart or p != "standard"]
        ends = {"x0": [], "y0": [], "x1": [], "y1": []}
        if column:
            gap = (16 if apart else 18) * pixel
            heights = figures.spread([float(np.log10(found[p].rate)) for p in column], gap)
            down = max(0.0, heights[-1] - float(np.log10(below)) + 14 * pixel)
            x = max(found[p].intensity for p in column) * 10 ** (0.035 * wide)
            for provider, height in zip(column, heights, strict=True):
                point, y = found[provider], 10 ** (height - down)
                self._labels[provider].update(x=x, y=y, x_offset=3, y_offset=0)
                for name, value in zip(ends, (point.intensity, point.rate, x, y), strict=True):
                    ends[name].append(value)
        if "standard" in found:
            label, short = self._labels["standard"], self._words["short_standard"]
            if not apart:  # alone among names of models, one of which is called the same
                point, short = found["standard"], f"{short} {self._words['on_the_roof']}"
                label.update(x=point.intensity, y=point.rate, x_offset=12, y_offset=-8)
            label.text = short
        self._leaders.data = ends
