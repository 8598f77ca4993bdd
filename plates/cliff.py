"""Traffic of a head against Br: it falls while the block fits and climbs where it spills, beside `standard`."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource

from plates import block_axis, figures, hovers
from plates.figures import Themed
from workshop import sram, traffic, units
from workshop.problem import LIMITS, Problem, Tile

HEIGHT = 350
LEFT, RIGHT = 78, 16  # px beside the frame, shared with the map below it
_ROOM = 4  # times, that the axis reaches beyond the curves: names have a place there
_NAMES_END = 14  # cells from the left that the name of `standard` takes
_ALL = np.arange(LIMITS["Br"][0], LIMITS["Br"][1] + 1, dtype=np.int64)


def curve(problem: Problem, tile: Tile) -> dict[str, np.ndarray]:
    """Return bytes of a head for every Br at the tile's Bc: ``Br``, ``bytes`` with spill, ``dry`` without, ``fits``."""
    found = sram.landscape(problem, tile.sram, _ALL, [tile.Bc])
    dry = traffic.totals("tiled", problem, tile, Br=_ALL) * problem.element_bytes
    return {"Br": _ALL, "bytes": found["traffic_bytes"][:, 0], "dry": dry, "fits": found["fits"][:, 0]}


class Cliff:
    """Builds the figure once and patches it."""

    def __init__(self, themed: Themed, words: dict[str, str]) -> None:
        self._words = words
        self.fig = fig = figures.chart(
            themed, x=(0, block_axis.CELLS), y=(1e6, 1e12), x_label=words["axis_Br"], y_log=True, height=HEIGHT,
            min_border_left=LEFT, min_border_right=RIGHT,
        )  # fmt: skip
        block_axis.ticks(fig.xaxis[0])
        colour, label = themed.colour, figures.label
        self._zone = ColumnDataSource({"left": [], "right": [], "bottom": [], "top": []})
        zone = fig.quad(
            "left", "right", "top", "bottom", source=self._zone, fill_alpha=0.07, line_color=None,
            hatch_pattern="right_diagonal_line", hatch_scale=14, hatch_weight=1, hatch_alpha=0.35,
        )  # fmt: skip
        colour(zone.glyph, fill_color="over", hatch_color="over")
        self._lines = {}
        for name, role, dash, width in (
            ("standard", "standard", "solid", 3),
            ("dry", "tiled", [3, 4], 2),
            ("fits", "tiled", "solid", 3.5),
            ("spills", "over", [10, 4], 3.5),
        ):
            source = ColumnDataSource({"x": [], "y": [], "Br": []})
            line = fig.line(
                "x", "y", source=source, line_width=width, line_dash=dash, name=words[f"line_{name}"]
            )
            colour(line.glyph, line_color=role)
            self._lines[name] = (source, line)
        self._standard = label(
            themed, fig, "", "standard", bold=True, x_offset=8, text_baseline="top", y_offset=-4
        )
        self._tiled = label(themed, fig, words["line_fits"], "tiled", bold=True, x_offset=8, y_offset=2)
        self._edge = label(themed, fig, "", "over", bold=True, x_offset=8, text_baseline="top", y_offset=-4)
        self._dry = label(
            themed, fig, words["line_dry"], "tiled", text_align="right", x_offset=-4, text_baseline="top", y_offset=-5
        )  # fmt: skip
        self._cross = fig.scatter([], [], size=13, line_width=2.5)
        colour(self._cross.glyph, fill_color="paper", line_color="over")
        self._dots = {}
        for role in ("tiled", "over"):
            self._dots[role] = fig.scatter([], [], size=15, line_width=2)
            colour(self._dots[role].glyph, fill_color=role, line_color="paper")
        self._here = label(
            themed, fig, "", "ink", bold=True, text_font_size="18px", text_align="center", y_offset=13
        )
        for item in (self._standard, self._edge, self._dry, self._here):  # they may stand on the hatching
            colour(item, background_fill_color="paper")
            item.update(background_fill_alpha=0.88, padding=1)
        figures.hover(
            fig,
            [line for _, line in self._lines.values()],
            '<div style="font:14px system-ui;padding:2px 4px"><b>$name</b><br>Br = @Br{custom}<br>'
            "@y{custom} a head</div>",
            mode="mouse", line_policy="nearest", formatters={"@Br": hovers.count(), "@y": hovers.bytes_()},
        )  # fmt: skip

    def patch(self, problem: Problem, tile: Tile) -> None:
        """Draw the curve of ``problem`` at the tile's Bc and budget, and mark the tile."""
        found, words = curve(problem, tile), self._words
        standard = traffic.ledger("standard", problem, tile).bytes(problem.dtype)
        least = traffic.ledger("compulsory", problem, tile).bytes(problem.dtype)
        fits, bytes_ = found["fits"], found["bytes"]
        first = int(_ALL[~fits][0]) if not fits.all() else None  # the working set grows with Br
        low = 10.0 ** np.floor(np.log10(min(least, standard) / _ROOM))
        high = 10.0 ** np.ceil(np.log10(max(int(bytes_.max()), standard) * _ROOM))
        fig = self.fig
        fig.y_range.update(start=low, end=high)
        figures.ticks(fig.yaxis[0], figures.log_ticks(low, high, most=6), figures.round_text(units.bytes_))
        x = block_axis.position(_ALL)
        drawn = (_ALL <= 64) | (_ALL % 8 == 0)
        if first:
            drawn[max(0, first - 2) : first] = True
        spilled = ~fits & drawn
        if first and first > 1:
            spilled[first - 2] = True  # joined to the last block that fits
        self._line("standard", np.array([0.0, block_axis.CELLS]), np.full(2, standard), LIMITS["Br"])
        self._line("fits", x[fits & drawn], bytes_[fits & drawn], _ALL[fits & drawn])
        self._line("spills", x[spilled], bytes_[spilled], _ALL[spilled])
        self._line("dry", x[spilled], found["dry"][spilled], _ALL[spilled])
        self._tiled.visible = bool(fits.any())
        self._tiled.update(x=float(x[4]), y=float(bytes_[4]))
        self._edge.visible = self._dry.visible = first is not None
        end = float(block_axis.CELLS)
        if first:
            edge = float(block_axis.position(first))
            self._zone.data = {"left": [edge], "right": [end], "bottom": [low], "top": [high]}
            # Outside the zone where there is room; inside, away from the tile's own number.
            right = edge > end / 2 or (edge < _NAMES_END and block_axis.position(tile.Br) < 2 * _NAMES_END)
            self._edge.update(
                x=end if right and edge < _NAMES_END else edge,
                y=high,
                text=words["edge"].format(Br=units.count(first)),
                text_align="right" if right else "left",
                x_offset=-8 if right else 16,
            )
            self._dry.update(x=end, y=float(found["dry"][-1]))
        else:
            self._zone.data = {"left": [], "right": [], "bottom": [], "top": []}
        crossing = sram.cliff(problem, tile).crossing
        self._cross.data_source.data = {
            "x": [] if crossing is None else [float(block_axis.position(crossing))],
            "y": [] if crossing is None else [float(bytes_[crossing - 1])],
        }
        here = int(bytes_[tile.Br - 1])
        at = float(block_axis.position(tile.Br))
        ok = bool(fits[tile.Br - 1])
        for role, dot in self._dots.items():
            on = (role == "tiled") == ok
            dot.data_source.data = {"x": [at] if on else [], "y": [here] if on else []}
        side = "left" if at < 6 else "right" if at > end - 6 else "center"
        # away from the line of `standard`
        above = (
            {"text_baseline": "bottom", "y_offset": 13}
            if here > standard
            else {"text_baseline": "top", "y_offset": -11}
        )
        self._here.update(x=at, y=float(here), text=units.bytes_(here), text_align=side, **above)
        # Beside the tile's own number where both would stand under the line, at the left.
        taken = at < _NAMES_END and standard / _ROOM**2 < here <= standard
        self._standard.update(
            x=float(at + _NAMES_END if taken else 0), y=standard,
            text=words["standard_line"].format(bytes=units.bytes_(standard)),
        )  # fmt: skip

    def _line(self, name: str, x, y, blocks) -> None:
        self._lines[name][0].data = {
            "x": x,
            "y": np.asarray(y, dtype=float),
            "Br": np.asarray(blocks, dtype=float),
        }
