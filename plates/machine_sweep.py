"""The tile sweep as a landscape: what every tile reached, was refused or spilled, beside what the model expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import panel as pn
from bokeh.models import ColumnDataSource, LogColorMapper

from plates import figures, ramp
from plates.figures import Themed
from plates.language import Labels
from workshop import sram, units
from workshop.hardware import GPU
from workshop.recordings.curves import case_of
from workshop.recordings.sweep import Sweep

_HEIGHT = 400
_GRID = ":host{display:grid !important;grid-template-columns:repeat(auto-fit,minmax(min(100%,400px),1fr));gap:4px 22px}"
_COLUMNS = ("x", "y", "rate", "shown", "mark", "ink", "tile", "said")


@dataclass(frozen=True)
class Expected:
    """The model's landscape on the sweep's tiles: (Br, Bc) -> FLOP/s by the recording's count; does the tile fit."""

    rate: dict[tuple[int, int], float]
    fits: dict[tuple[int, int], bool]


def expected(found: Sweep, budget: int, gpu: GPU) -> Expected:
    """The model for the shape of a sweep: working set in a budget of KiB, data-sheet rates of ``gpu``."""
    row = found.shape
    grid = sram.landscape(row.problem(), budget, found.Br, found.Bc, gpu)
    rate, fits = {}, {}
    for i, Br in enumerate(found.Br):
        for j, Bc in enumerate(found.Bc):
            rate[Br, Bc] = case_of(row).flops() / float(grid["time"][i, j])
            fits[Br, Bc] = bool(grid["fits"][i, j])
    return Expected(rate, fits)


class _Map:
    """One grid of tiles, Br along x and Bc along y, a number in every cell."""

    def __init__(self, themed: Themed, words: Labels, title: str, mapper: LogColorMapper) -> None:
        self.fig = fig = figures.chart(
            themed, x=(0, 5), y=(0, 5), x_label=words["axis_Br"], y_label=words["axis_Bc"], height=_HEIGHT,
            min_border_left=52, min_border_right=6,
        )  # fmt: skip
        fig.grid.visible = False
        figures.heading(themed, fig, title)
        self._mapper = mapper
        self.cells = ColumnDataSource({name: [] for name in _COLUMNS})
        rect = fig.rect(
            "x", "y", width=0.97, height=0.97, source=self.cells, line_width=0,
            fill_color={"field": "rate", "transform": mapper},
        )  # fmt: skip
        self.over = ColumnDataSource({name: [] for name in ("x", "y", "shown", "tile", "said")})
        hatched = fig.rect(
            "x", "y", width=0.97, height=0.97, source=self.over, line_width=2, fill_alpha=0,
            hatch_pattern="right_diagonal_line", hatch_scale=11, hatch_weight=1.4, hatch_alpha=0.7,
        )  # fmt: skip
        themed.colour(hatched.glyph, line_color="over", hatch_color="over", fill_color="paper")
        number = fig.text(
            "x", "y", text="shown", text_color="ink", source=self.cells, text_align="center",
            text_baseline="middle", text_font={"value": figures.FONT}, text_font_style="bold",
        )  # fmt: skip
        mark = fig.text(
            "x", "y", text="mark", text_color="ink", source=self.cells, text_align="center", text_baseline="middle",
            text_font={"value": figures.FONT}, y_offset=17,
        )  # fmt: skip
        themed.size(number.glyph, text_font_size=15)
        themed.size(mark.glyph, text_font_size=11.5)
        self.rings = {}
        for name, dash, size in (("fastest", "solid", 0.93), ("yours", [6, 4], 0.82)):
            source = ColumnDataSource({"x": [], "y": []})
            for role, width, line_dash in (("paper", 7, "solid"), ("ink", 3, dash)):  # seen on every cell
                ring = fig.rect(
                    "x", "y", width=size, height=size, source=source, fill_alpha=0, line_width=width,
                    line_dash=line_dash,
                )  # fmt: skip
                themed.colour(ring.glyph, line_color=role, fill_color="paper")
            self.rings[name] = source
        plain = fig.text(
            "x", "y", text="shown", source=self.over, text_align="center", text_baseline="middle",
            text_font={"value": figures.FONT}, text_font_style="bold", padding=2, border_radius=2,
        )  # fmt: skip
        themed.size(plain.glyph, text_font_size=11.5)
        themed.colour(plain.glyph, text_color="over", background_fill_color="paper")
        figures.hover(
            fig,
            [rect, hatched],
            '<div style="font:14px system-ui;padding:2px 4px"><b>@tile</b><br>@said</div>',
        )

    def patch(
        self, found: Sweep | None, cells: list[dict], over: list[dict], rings: Mapping[str, tuple | None]
    ) -> None:
        if found is None:
            for source in (self.cells, self.over, *self.rings.values()):
                source.data = {name: [] for name in source.data}
            return
        fig = self.fig
        fig.x_range.update(start=0, end=len(found.Br))
        fig.y_range.update(start=0, end=len(found.Bc))
        for axis, sides in ((fig.xaxis[0], found.Br), (fig.yaxis[0], found.Bc)):
            figures.ticks(axis, [k + 0.5 for k in range(len(sides))], [str(side) for side in sides])
        at = {tile: (found.Br.index(tile[0]) + 0.5, found.Bc.index(tile[1]) + 0.5) for tile in _tiles(found)}
        for source, items in ((self.cells, cells), (self.over, over)):
            source.data = {
                name: [at[item["at"]]["xy".index(name)] if name in "xy" else item[name] for item in items]
                for name in source.data
            }
        for name, tile in rings.items():
            here = at.get(tile)
            self.rings[name].data = {"x": [here[0]] if here else [], "y": [here[1]] if here else []}

    def ink(self, rate: float) -> str:
        """A text colour that stands off the cell's colour; cells keep their colours in both themes."""
        return ramp.ink_on(ramp.at(rate, self._mapper.low, self._mapper.high))


def _tiles(found: Sweep) -> list[tuple[int, int]]:
    return [(Br, Bc) for Br in found.Br for Bc in found.Bc]


class Sweeps:
    """Two maps of one scale: measured and modelled. ``view`` wraps where the page is narrow."""

    def __init__(self, themed: Themed, words: Labels) -> None:
        self._words = words
        self._drawn: tuple | None = None
        self._mapper = LogColorMapper(palette=ramp.RAMP, low=1e13, high=1e15)
        self.measured = _Map(themed, words, words["map_measured"], self._mapper)
        self.model = _Map(themed, words, words["map_model"], self._mapper)
        panes = [
            pn.pane.Bokeh(m.fig, sizing_mode="stretch_width", margin=0) for m in (self.measured, self.model)
        ]
        self.view = pn.Column(*panes, stylesheets=[_GRID], sizing_mode="stretch_width", margin=0)

    def patch(self, found: Sweep | None, model: Expected | None, yours: tuple[int, int]) -> None:
        """Draw a sweep and the model's landscape; ``yours`` is the reader's tile, marked where it was swept."""
        if found is None or model is None:
            for grid in (self.measured, self.model):
                grid.patch(None, [], [], {})
            return
        if self._drawn is not None and self._drawn[0] is found and self._drawn[1:] == (model, yours):
            return
        self._drawn = (found, model, yours)
        words = self._words
        rates = [c.rate for c in found.cells.values() if c.rate] + list(model.rate.values())
        self._mapper.update(low=min(rates), high=max(rates))
        cells, over = [], []
        for tile, cell in found.cells.items():
            name = f"{cell.Br} × {cell.Bc}"
            if cell.rate is None:
                if cell.refused is not None:
                    over.append(
                        {
                            "at": tile,
                            "shown": words["refused"],
                            "tile": name,
                            "said": words.said(cell.refused.sentence),
                        }
                    )
                continue
            said = words["cell_said"].format(
                rate=units.rate_flops(cell.rate),
                time=units.seconds(cell.best.p50),
                warps=cell.best.warps,
                shared=units.exact_bytes(cell.shared) if cell.shared is not None else words["unknown"],
                registers=units.count(cell.registers) if cell.registers is not None else words["unknown"],
                spills=units.exact_bytes(cell.spills) if cell.spills is not None else words["unknown"],
            )
            cells.append(
                {
                    "at": tile, "rate": cell.rate, "shown": f"{cell.rate / 1e12:.0f}",
                    "mark": f"▲ {cell.spills:.0f} B" if cell.spills else "", "ink": self.measured.ink(cell.rate),
                    "tile": name, "said": said,
                }
            )  # fmt: skip
        quickest = found.fastest
        rings = {"fastest": (quickest.Br, quickest.Bc) if quickest else None, "yours": yours}
        self.measured.patch(found, cells, over, rings)
        modelled = [
            {
                "at": tile, "rate": rate, "shown": f"{rate / 1e12:.0f}", "mark": "", "ink": self.model.ink(rate),
                "tile": f"{tile[0]} × {tile[1]}",
                "said": words["model_said"].format(
                    rate=units.rate_flops(rate), fits=words["fits_yes" if model.fits[tile] else "fits_no"]
                ),
            }
            for tile, rate in model.rate.items()
        ]  # fmt: skip
        spilled = [
            {name: cell[name] for name in ("at", "shown", "tile", "said")}
            for cell in modelled
            if not model.fits[cell["at"]]
        ]
        top = [tile for tile, rate in model.rate.items() if rate == max(model.rate.values())]
        best = top[0] if len(top) == 1 else None  # a bound often holds for several tiles
        self.model.patch(found, modelled, spilled, {"fastest": best, "yours": yours})
