"""The map of all tiles: Br against Bc, traffic or time as colour, what spills hatched, known kernels pinned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bokeh.events import Tap
from bokeh.models import ColumnDataSource, LogColorMapper

from plates import block_axis, figures, hovers
from plates.cliff import LEFT, RIGHT
from plates.figures import Themed
from plates.ramp import RAMP
from workshop import sram, traffic
from workshop.hardware import GPU
from workshop.problem import Problem, Tile

HEIGHT = 520
_LEAST = 4  # cells; a smaller island of a rounding's making has no border of its own
_INNER = HEIGHT - 62
_LINE = 22 / _INNER * block_axis.CELLS  # cells a label is high
_MOST = 6  # labels: your tile, Algorithm 1, three kernels, and one to spare


def outline(inside: np.ndarray) -> tuple[list[list[float]], list[list[float]]]:
    """Return the border of the cells where ``inside`` (Br, Bc; bool) as segments ``(xs, ys)``, Br along x."""
    xs, ys = [], []
    for i, j in zip(*np.nonzero(inside[1:] != inside[:-1]), strict=True):
        xs.append([i + 1, i + 1])
        ys.append([j, j + 1])
    for i, j in zip(*np.nonzero(inside[:, 1:] != inside[:, :-1]), strict=True):
        xs.append([i, i + 1])
        ys.append([j + 1, j + 1])
    return xs, ys


def without_islands(inside: np.ndarray, least: int) -> np.ndarray:
    """Return ``inside`` (bool) with every connected part of fewer than ``least`` cells, in or out, given to its
    surroundings."""
    found, seen = inside.copy(), np.zeros(inside.shape, dtype=bool)
    for start in np.ndindex(inside.shape):
        if seen[start]:
            continue
        part, edge = {start}, [start]
        while edge:
            i, j = edge.pop()
            for near in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
                within = 0 <= near[0] < inside.shape[0] and 0 <= near[1] < inside.shape[1]
                if within and near not in part and inside[near] == inside[start]:
                    part.add(near)
                    edge.append(near)
        cells = tuple(np.array(sorted(part)).T)
        seen[cells] = True
        if len(part) < least:
            found[cells] = ~inside[start]
    return found


def region(fits: np.ndarray) -> tuple[list[float], list[float]]:
    """Return the polygon ``(x, y)`` of the cells that do not fit, or two empty lists.

    ``fits`` (Br, Bc) is monotone: a larger block never needs less.
    """
    tops = fits.sum(axis=1)  # of each Br, how many Bc fit
    size = float(fits.shape[1])
    if fits.all():
        return [], []
    x, y = [], []
    for i, top in enumerate(tops):
        x += [float(i), float(i + 1)]
        y += [float(top), float(top)]
    return [*x, float(len(tops)), 0.0], [*y, size, size]


def key(low: str, high: str, what: str) -> str:
    """Return the colour bar as HTML: the ramp between the least and the most, and what it shows, in words."""
    ramp = ",".join(RAMP[:: len(RAMP) // 16])
    return (
        f'<div class="key"><span class="what">{what}</span><b>{low}</b>'
        f'<div class="ramp" style="background:linear-gradient(90deg,{ramp})"></div><b>{high}</b></div>'
    )


class Landscape:
    """Builds the figure once and patches one image; a click on a cell calls ``choose(Br, Bc)``."""

    def __init__(self, themed: Themed, words: dict[str, str], choose: Callable[[int, int], None]) -> None:
        self._words, self._choose = words, choose
        self._shown: tuple | None = None
        self._grid: dict = {}
        cells = block_axis.CELLS
        self.fig = fig = figures.chart(
            themed, x=(0, cells), y=(0, cells), x_label=words["axis_Br"], y_label=words["axis_Bc"], height=HEIGHT,
            min_border_left=LEFT, min_border_right=RIGHT,
        )  # fmt: skip
        fig.grid.visible = False
        for axis in (fig.xaxis[0], fig.yaxis[0]):
            block_axis.ticks(axis)
        colour = themed.colour
        self._mapper = LogColorMapper(palette=RAMP, low=1, high=2)
        empty = np.ones((cells, cells), dtype=np.float32)
        names = ("image", "bytes", "time", "needs", "fits")
        self._image = ColumnDataSource({name: [empty] for name in names})
        image = fig.image(
            "image",
            x=0,
            y=0,
            dw=cells,
            dh=cells,
            source=self._image,
            color_mapper=self._mapper,
            level="image",
        )
        self._spilled = ColumnDataSource({"x": [], "y": []})
        spilled = fig.patch(
            "x", "y", source=self._spilled, fill_alpha=0, line_width=3,
            hatch_pattern="right_diagonal_line", hatch_scale=11, hatch_weight=1.6, hatch_alpha=0.75,
        )  # fmt: skip
        colour(spilled.glyph, hatch_color="over", line_color="over", fill_color="paper")
        self._even = ColumnDataSource({"xs": [], "ys": []})
        for role, width in (("paper", 5), ("standard", 2.5)):
            border = fig.multi_line("xs", "ys", source=self._even, line_width=width, line_cap="square")
            colour(border.glyph, line_color=role)
        self._cross = ColumnDataSource({"x0": [], "y0": [], "x1": [], "y1": []})
        cross = fig.segment("x0", "y0", "x1", "y1", source=self._cross, line_width=1, line_dash=[4, 4])
        colour(cross.glyph, line_color="ink")
        self._leaders = ColumnDataSource({"x0": [], "y0": [], "x1": [], "y1": []})
        for role, width in (("paper", 4), ("ink", 1.5)):
            leader = fig.segment("x0", "y0", "x1", "y1", source=self._leaders, line_width=width)
            colour(leader.glyph, line_color=role)
        self._pins = fig.scatter([], [], marker="diamond", size=15, line_width=1.5)
        colour(self._pins.glyph, fill_color="paper", line_color="ink")
        self._here = ColumnDataSource({"x": [], "y": []})
        for role, width in (("paper", 7), ("ink", 3)):
            ring = fig.scatter("x", "y", source=self._here, size=20, fill_color=None, line_width=width)
            colour(ring.glyph, line_color=role)
        plate = {"background_fill_alpha": 0.88, "padding": 3, "border_radius": 2}
        self._names = [
            figures.label(
                themed, fig, "", "ink", text_baseline="middle", bold=k == 0, text_font_size=14, **plate
            )
            for k in range(_MOST)
        ]
        self._verdict = figures.label(
            themed, fig, words["map_spills"], "over", bold=True, x=cells, y=cells, text_align="right",
            text_baseline="top", x_offset=-10, y_offset=-10, **plate,
        )  # fmt: skip
        self._border = figures.label(
            themed, fig, words["map_even"], "standard", bold=True, x_offset=7, **plate
        )
        for label in (*self._names, self._verdict, self._border):
            colour(label, background_fill_color="paper")
        figures.hover(
            fig,
            [image],
            '<div style="font:14px system-ui;padding:2px 4px"><b>Br = $x{custom}, Bc = $y{custom}</b><br>'
            "@needs{custom}, @fits{custom}<br>"
            + words["hover_map"].format(bytes="@bytes{custom}", time="@time{custom}").replace("|", "<br>")
            + "</div>",
            formatters={
                "$x": hovers.one_of(block_axis.VALUES.tolist()),
                "$y": hovers.one_of(block_axis.VALUES.tolist()),
                "@bytes": hovers.bytes_(),
                "@time": hovers.seconds(),
                "@needs": hovers.binary(),
                "@fits": hovers.words(words["map_fits_yes"], words["map_fits_no"]),
            },
        )  # fmt: skip
        fig.on_event(Tap, self._on_tap)

    def _on_tap(self, event: Tap) -> None:
        if event.x is not None and event.y is not None:
            self._choose(block_axis.value_at(event.x), block_axis.value_at(event.y))

    def patch(
        self, problem: Problem, tile: Tile, gpu: GPU, colour: str, pins: list[tuple[str, int, int]]
    ) -> None:
        """Draw the map; ``colour``: "traffic" or "time"; ``pins``: (name, Br, Bc) of tiles to mark."""
        shown = (problem, tile.sram, gpu, colour)
        if shown != self._shown:  # a block slider moves the mark, not the map
            self._patch_map(problem, tile, gpu, colour)
            self._shown = shown
        self._patch_pins(tile, pins)

    def grid(self) -> dict[str, np.ndarray]:
        """The arrays of `sram.landscape` that are on show, (Br, Bc)."""
        return self._grid

    def ends(self) -> tuple[float, float]:
        """The least and the most of what the colour shows."""
        return self._mapper.low, self._mapper.high

    def _patch_map(self, problem: Problem, tile: Tile, gpu: GPU, colour: str) -> None:
        values = block_axis.VALUES
        self._grid = found = sram.landscape(problem, tile.sram, values, values, gpu)
        chosen = found["time" if colour == "time" else "traffic_bytes"]
        low, high = float(chosen.min()), float(chosen.max())
        self._mapper.update(low=low, high=high if high > low else low * (1 + 1e-6))

        def column(array) -> list[np.ndarray]:
            return [np.ascontiguousarray(array.T, dtype=np.float32)]  # rows of an image go up: Bc

        self._image.data = {
            "image": column(chosen),
            "bytes": column(found["traffic_bytes"]),
            "time": column(found["time"]),
            "needs": column(found["working_set"]),
            "fits": column(found["fits"]),
        }
        x, y = region(found["fits"])
        self._spilled.data = {"x": x, "y": y}
        self._verdict.visible = bool(x)
        worse = found["traffic_elements"] > traffic.ledger("standard", problem, tile).total
        xs, ys = outline(without_islands(worse, _LEAST))
        self._even.data = {"xs": xs, "ys": ys}
        edges = [x[0] for x, y in zip(xs, ys, strict=True) if x[0] == x[1] and y[0] == 0]
        self._border.visible = bool(edges)
        if edges:
            self._border.update(x=edges[0], y=2.2)

    def _patch_pins(self, tile: Tile, pins: list[tuple[str, int, int]]) -> None:
        place = block_axis.position
        here = float(place(tile.Br)), float(place(tile.Bc))
        self._here.data = {"x": [here[0]], "y": [here[1]]}
        self._cross.data = {
            "x0": [0.0, here[0]], "y0": [here[1], 0.0], "x1": [here[0], here[0]], "y1": [here[1], here[1]],
        }  # fmt: skip
        self._pins.data_source.data = {
            "x": [float(place(Br)) for _, Br, _ in pins], "y": [float(place(Bc)) for _, _, Bc in pins],
        }  # fmt: skip
        items = [(self._words["map_you"], *here)]
        items += [(name, float(place(Br)), float(place(Bc))) for name, Br, Bc in pins]
        leaders = {"x0": [], "y0": [], "x1": [], "y1": []}
        cells = block_axis.CELLS
        heights = figures.spread([y for _, _, y in items], _LINE)
        shift = max(0.0, 1.5 - min(heights)) - max(0.0, max(heights) - cells + 1.5)
        for k, ((name, px, py), y) in enumerate(zip(items, heights, strict=True)):
            left = px > cells / 2
            x = px - 2.4 if left else px + 2.4
            self._names[k].update(
                x=x, y=y + shift, text=name, text_align="right" if left else "left", visible=True
            )
            for column, value in zip(leaders, (px, py, x, y + shift), strict=True):
                leaders[column].append(value)
        for label in self._names[len(items) :]:
            label.visible = False
        # "does not fit" stands in the corner at the top right, or below the names that are there
        taken = [n.y for n in self._names if n.visible and n.x > cells / 2 and n.y > cells - 2 * _LINE]
        self._verdict.y = min(taken) - _LINE / 2 if taken else cells
        self._leaders.data = leaders
