"""The sparsity plate's charts: shares of the run without a mask, and scores computed against the side of a tile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bokeh.models import ColumnDataSource

from plates import figures
from plates.figures import Themed
from workshop import units
from workshop.block_masks import Counts

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)  # square tiles on the chart of waste
SHARES = ("live", "computed", "bytes", "time")
SHARE_ROLE = {"live": "muted", "computed": "flash", "bytes": "chip", "time": "ink"}


class Shares:
    """Four shares of the dense run as bars."""

    def __init__(self, themed: Themed, words: dict) -> None:
        fig = figures.chart(
            themed,
            x=(0, 1.16),
            y=(-0.6, len(SHARES) - 0.4),
            x_label=words["shares_axis"],
            height=210,
            min_border_left=4,
        )
        figures.ticks(fig.xaxis[0], [0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
        fig.yaxis.visible = False
        fig.ygrid.visible = False
        self.bars, self._bar_labels = {}, {}
        for at, name in enumerate(reversed(SHARES)):
            source = ColumnDataSource({"y": [at - 0.16], "right": [0.0]})
            bar = fig.hbar(y="y", right="right", left=0, height=0.3, source=source, line_color=None)
            themed.colour(bar.glyph, fill_color=SHARE_ROLE[name])
            self.bars[name] = source
            self._bar_labels[name] = figures.label(
                themed, fig, "", SHARE_ROLE[name], x=0, y=at + 0.05, text_font_size="14px", bold=True
            )
        self.fig = fig

    def patch(self, shares: dict[str, float], words: dict) -> None:
        """shares: of the run without a mask, by name."""
        for name in SHARES:
            self.bars[name].data = {"y": self.bars[name].data["y"], "right": [shares[name]]}
            self._bar_labels[name].text = words.pair(words[f"share_{name}"], units.percent(shares[name]))


class Waste:
    """Scores computed against the side of a square tile, and the floor that the mask sets."""

    def __init__(self, themed: Themed, words: dict) -> None:
        fig = figures.chart(
            themed,
            x=(SIZES[0], SIZES[-1]),
            y=(0, 1),
            x_label=words["waste_axis"],
            x_log=True,
            height=300,
        )
        figures.ticks(fig.xaxis[0], SIZES[::2], units.count)
        figures.label_zone(fig, SIZES[-1], 130)
        self.curve = ColumnDataSource({"side": [], "share": [], "text": []})
        self.floor = ColumnDataSource({"side": [], "share": []})
        floor = fig.line("side", "share", source=self.floor, line_width=2.5, line_dash=[6, 4])
        themed.colour(floor.glyph, line_color="muted")
        curve = fig.line("side", "share", source=self.curve, line_width=3)
        dots = fig.scatter("side", "share", source=self.curve, size=9, line_width=0)
        for item in (curve, dots):
            themed.colour(item.glyph, line_color="flash")
        themed.colour(dots.glyph, fill_color="flash")
        self._area = fig.varea(
            "side",
            "low",
            "share",
            source=ColumnDataSource({"side": [], "low": [], "share": []}),
            fill_alpha=0.13,
        )
        themed.colour(self._area.glyph, fill_color="over")
        self.fig = fig
        self._ends = {
            name: figures.label(
                themed,
                fig,
                words[f"waste_{name}"],
                role,
                x=SIZES[-1],
                x_offset=8,
                text_baseline="middle",
            )
            for name, role in (("computed", "flash"), ("live", "muted"))
        }
        figures.hover(
            fig,
            [dots],
            '<div style="font:14px system-ui;padding:2px 4px"><b>@side × @side</b><br>@text</div>',
        )

    def patch(self, count: Callable[[int], Counts], N: int, floor: float) -> None:
        """count: tiles of a square tile's side; floor: share of live scores."""
        side = np.array(SIZES)
        found = [count(size) for size in SIZES]
        share = np.array([counts.scores / N**2 for counts in found])
        low, high = [floor] * len(SIZES), max(float(share.max()), floor, 1e-9)
        self.curve.data = {
            "side": side,
            "share": share,
            "text": [
                f"{units.percent(v)} / {units.percent(c.wasted)}" for v, c in zip(share, found, strict=True)
            ],
        }
        self.floor.data = {"side": side, "share": low}
        self._area.data_source.data = {"side": side, "low": low, "share": share}
        top = high * 1.12
        self.fig.y_range.start, self.fig.y_range.end = 0, top
        step = 10.0 ** np.floor(np.log10(top))
        step = step / 5 if top / step < 2 else step / 2 if top / step < 5 else step
        figures.ticks(
            self.fig.yaxis[0], np.arange(0, top, step), figures.round_text(lambda v: units.percent(v))
        )
        placed = figures.spread([float(share[-1]), floor], top * 0.09)
        for name, y in zip(("computed", "live"), placed, strict=True):
            self._ends[name].y = y
