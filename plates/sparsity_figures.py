"""The sparsity plate's figures: shares of the run without a mask, and scores computed against the side of a tile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bokeh.models import ColumnDataSource

from plates import figures
from plates.figures import Themed
from workshop import units
from workshop.block_masks import Counts

SIZES = (8, 16, 32, 64, 128, 256, 512, 1024)  # square tiles on the chart of waste
SHARE_ROLE = {"live": "muted", "computed": "flash", "bytes": "hbm", "time": "ink"}


def shares(found: dict[str, float], words: dict) -> list[dict]:
    """What is left of the run without a mask, by name, as the bars beside the mask: label, value, share, role."""
    return [
        {
            "label": words[f"share_{name}"],
            "value": units.percent(found[name]),
            "share": found[name],
            "role": role,
        }
        for name, role in SHARE_ROLE.items()
    ]


class Waste:
    """Scores computed against the side of a square tile, and the floor that the mask sets."""

    def __init__(self, themed: Themed, words: dict) -> None:
        fig = figures.chart(
            themed,
            x=(figures.first_shown(SIZES[0], SIZES[0]), SIZES[-1]),
            y=(0, 1),
            x_label=words["waste_axis"],
            x_log=True,
            height=300,
        )
        figures.ticks(fig.xaxis[0], SIZES[::2], units.count)
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
        figures.label_zone(fig, SIZES[-1], self._ends.values())
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
