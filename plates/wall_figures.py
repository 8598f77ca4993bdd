"""The wall plate's charts: intensity of each pass beside its ridge, and bytes of a score matrix beside capacities."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from bokeh.models import ColumnDataSource

from plates import figures
from plates.figures import Themed
from workshop import round_trips, units
from workshop.hardware import GPU
from workshop.problem import LIMITS, Problem

_FIRST, _LAST = 64, LIMITS["N"][1]
MARKS = (("one", 1), ("node", round_trips.NODE_GPUS))


class Intensity:
    """FLOP/B of each pass as a dot, the ridge of its units as a dashed stroke."""

    def __init__(self, themed: Themed, words: dict) -> None:
        fig = figures.chart(
            themed, x=(0.1, 1e5), y=(0.4, 6.6), x_label=words["axis_intensity"], x_log=True, height=300,
            min_border_left=130,
        )  # fmt: skip
        figures.ticks(fig.xaxis[0], [0.1, 1, 10, 100, 1e3, 1e4], figures.round_text(units.number))
        fig.ygrid.visible = False
        themed.size(fig.yaxis[0], major_label_text_font_size=figures.BIG)
        themed.colour(fig.yaxis[0], major_label_text_color="ink")
        self.gaps = ColumnDataSource({name: [] for name in ("y", "at", "ridge", "low", "high")})
        gap = fig.segment("at", "y", "ridge", "y", source=self.gaps, line_width=3, line_dash=[4, 3])
        themed.colour(gap.glyph, line_color="standard")
        ridge = fig.segment(
            "ridge", "low", "ridge", "high", source=self.gaps, line_width=2.5, line_dash=[5, 3]
        )
        themed.colour(ridge.glyph, line_color="ink")
        dots = fig.scatter("at", "y", source=self.gaps, size=15)
        themed.colour(dots.glyph, fill_color="standard", line_color="paper")
        self._labels = [
            figures.label(themed, fig, "", "ink", y_offset=10, text_align="center") for _ in range(6)
        ]
        self._ridge_labels = [
            figures.label(themed, fig, "", "ink", x_offset=10, bold=True, text_baseline="middle")
            for _ in range(6)
        ]
        self.fig = fig

    def patch(
        self, found: tuple[round_trips.Pass, ...], problem: Problem, gpu: GPU, said: Callable[[str], str]
    ) -> None:
        """Draw the passes ``found``; ``said``: a sentence of the models in the reader's language."""
        rows = list(range(len(found), 0, -1))
        at = [item.intensity for item in found]
        ridges = [item.ridge(gpu, problem.dtype) for item in found]
        self.gaps.data = {
            "y": rows, "at": at, "ridge": ridges, "low": [y - 0.36 for y in rows], "high": [y + 0.36 for y in rows],
        }  # fmt: skip
        self.fig.y_range.end = len(found) + 0.8
        self.fig.x_range.start = min(0.04, min(at) / 6)
        self.fig.x_range.end = max(2e4, 20 * max(ridges), 20 * max(at))
        figures.ticks(self.fig.yaxis[0], rows, [said(item.does) for item in found])
        for k, (label, ridge) in enumerate(zip(self._labels, self._ridge_labels, strict=True)):
            label.visible = ridge.visible = k < len(found)
            if k < len(found):
                label.update(x=at[k], y=rows[k], text=units.number(at[k]))
                beyond = at[k] > ridges[k]  # the number stands on the side of the bar that the dot is not
                ridge.update(
                    x=ridges[k], y=rows[k], text=units.number(ridges[k]), x_offset=-10 if beyond else 10,
                    text_align="right" if beyond else "left",
                )  # fmt: skip


class Sizes:
    """Bytes of a layer's score matrices and of its output against N, beside what memories hold."""

    def __init__(self, themed: Themed, words: dict) -> None:
        self._words = words
        fig = figures.chart(
            themed, x=(_FIRST, _LAST), y=(1e3, 1e15), x_label=words["axis_N"], x_log=True, y_log=True, height=420,
        )  # fmt: skip
        figures.ticks(fig.xaxis[0], [64, 1024, 16384, 262144], units.count)
        self.curve = ColumnDataSource({"N": [], "bytes": []})
        line = fig.line("N", "bytes", source=self.curve, line_width=3)
        themed.colour(line.glyph, line_color="standard")
        self.linear = ColumnDataSource({"N": [], "bytes": []})
        flat = fig.line("N", "bytes", source=self.linear, line_width=3)
        themed.colour(flat.glyph, line_color="hbm")
        self._capacity = {}
        for slug, role in (("chip", "chip"), ("one", "ink"), ("node", "ink")):
            rule = fig.segment([_FIRST], [1], [_LAST], [1], line_width=2, line_dash=[8, 4])
            themed.colour(rule.glyph, line_color=role)
            name = figures.label(themed, fig, "", role, x_offset=8, y_offset=4)
            self._capacity[slug] = (rule.data_source, name)
        self.meets = fig.scatter([], [], size=11, line_width=2)
        themed.colour(self.meets.glyph, fill_color="paper", line_color="ink")
        self.here = fig.scatter([], [], size=13)
        themed.colour(self.here.glyph, fill_color="standard", line_color="paper")
        self._label = figures.label(themed, fig, "", "standard", bold=True, y_offset=10)
        self._ends = [
            figures.label(themed, fig, words[name], role, bold=True, x_offset=8, text_baseline="middle")
            for name, role in (("line_scores", "standard"), ("line_output", "hbm"))
        ]
        figures.label_zone(fig, _LAST, self._ends)
        self.fig = fig

    def patch(self, problem: Problem, gpu: GPU, fits: dict[str, int], facts: dict) -> None:
        """fits: the longest N whose scores a memory of `MARKS` holds. facts: of the plate, for the names."""
        words = self._words
        first = min(_FIRST, problem.N)
        n = np.unique(np.geomspace(first, _LAST, 90).round())
        per = float(problem.heads * problem.element_bytes)
        square, output = n * n * per, n * problem.d * per
        self.curve.data = {"N": n, "bytes": square}
        self.linear.data = {"N": n, "bytes": output}
        chip = gpu.smem_sm * gpu.sms
        capacity = {"chip": chip, "one": gpu.memory, "node": gpu.memory * round_trips.NODE_GPUS}
        low, high = min(square[0], output[0], chip) / 4, max(square[-1], capacity["node"]) * 8
        fig = self.fig
        fig.x_range.start = figures.first_shown(first, problem.N)
        fig.y_range.start, fig.y_range.end = low, high
        figures.ticks(fig.yaxis[0], figures.log_ticks(low, high), figures.round_text(units.bytes_))
        for slug, (source, label) in self._capacity.items():
            value = capacity[slug]
            source.data = {"x0": [first], "y0": [value], "x1": [_LAST], "y1": [value]}
            label.update(x=first, y=value, text=words[f"line_{slug}"].format(**facts))
        meets = [(fits[name], capacity[name]) for name, _ in MARKS if first <= fits[name] <= _LAST]
        self.meets.data_source.data = {"x": [x for x, _ in meets], "y": [y for _, y in meets]}
        here = float(problem.score_bytes)
        self.here.data_source.data = {"x": [problem.N], "y": [here]}
        right = problem.N > 4096
        self._label.update(
            x=problem.N, y=here, text=facts["score"], text_align="right" if right else "left",
            x_offset=-10 if right else 10,
        )  # fmt: skip
        for label, y in zip(self._ends, (square[-1], output[-1]), strict=True):
            label.update(x=_LAST, y=y)
