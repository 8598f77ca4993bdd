"""Four small charts on one N axis: memory, traffic, FLOPs and time of a training step, standard and flash."""

from __future__ import annotations

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource

from plates import figures
from plates.figures import Themed
from workshop import training_memory, training_traffic, units
from workshop.hardware import GPU
from workshop.problem import LIMITS, Problem, Tile

PANELS = {"memory": units.bytes_, "traffic": units.bytes_, "flops": units.flops, "time": units.seconds}
_FIRST, _LAST = 64, LIMITS["N"][1]
_HEIGHT = 255
_TOP = 0.17  # of the frame above the curves: two names at one end need it
# two side by side where there is room, one below the other where not; never three and one
_GRID = (
    ":host{display:grid !important;"
    "grid-template-columns:repeat(auto-fit,minmax(min(100%,max(390px,40%)),1fr));gap:4px 18px}"
)


def curves(problem: Problem, tile: Tile, gpu: GPU, boundary: str, N) -> dict[str, dict[str, np.ndarray]]:
    """Return panel -> {"standard", "flash"} -> values of a layer at each N (int array), SI units, float64."""
    models = {"standard": "standard", "flash": boundary}
    per = float(problem.heads * problem.element_bytes)
    return {
        "memory": {k: training_memory.kept_bytes(k, problem, N) for k in models},
        "traffic": {k: sum(training_traffic.totals(m, problem, tile, N)) * per for k, m in models.items()},
        "flops": {k: sum(training_traffic.flops(m, problem, tile, N)) for k, m in models.items()},
        "time": {k: training_traffic.times(m, problem, tile, N, gpu) for k, m in models.items()},
    }


class Multiples:
    """Builds the four charts once; ``patch`` gives them new data. ``view`` wraps to as many columns as fit."""

    def __init__(self, themed: Themed, words: dict[str, str]) -> None:
        self._parts = {name: self._build(themed, words, name) for name in PANELS}
        self._words = words
        panes = [
            pn.pane.Bokeh(part["fig"], sizing_mode="stretch_width", margin=0) for part in self._parts.values()
        ]
        self.view = pn.Column(*panes, stylesheets=[_GRID], sizing_mode="stretch_width", margin=0)

    def _build(self, themed: Themed, words: dict[str, str], name: str) -> dict:
        fig = figures.chart(
            themed,
            x=(_FIRST, _LAST),
            y=(1, 10),
            x_label=words["axis_N"],
            x_log=True,
            y_log=True,
            height=_HEIGHT,
        )
        figures.heading(themed, fig, words[f"panel_{name}"])
        figures.ticks(fig.xaxis[0], [64, 4096, 262144], units.count)
        part = {"fig": fig, "lines": {}, "dots": {}, "labels": {}}
        for role in ("standard", "flash"):
            source = ColumnDataSource({"N": [], "value": []})
            line = fig.line("N", "value", source=source, line_width=3, name=role)
            themed.colour(line.glyph, line_color=role)
            dot = fig.scatter([], [], size=11)
            themed.colour(dot.glyph, fill_color=role, line_color="paper")
            part["lines"][role], part["dots"][role] = source, dot.data_source
            part["labels"][role] = figures.label(
                themed, fig, words[f"curve_{role}"], role, bold=True, x_offset=6, text_baseline="middle"
            )
        figures.label_zone(fig, _LAST, part["labels"].values())
        part["ratio"] = figures.label(
            themed, fig, "", "ink", bold=True, x_offset=12, y_offset=-10, text_baseline="top"
        )
        return part

    def patch(self, problem: Problem, tile: Tile, gpu: GPU, boundary: str) -> None:
        """Put in the reader's problem; ``boundary`` is where flash's traffic is counted."""
        first = min(_FIRST, problem.N)
        n = np.unique(np.append(np.geomspace(first, _LAST, 80).round().astype(np.int64), problem.N))
        here = int(np.searchsorted(n, problem.N))
        for name, values in curves(problem, tile, gpu, boundary, n).items():
            part = self._parts[name]
            fig = part["fig"]
            low = min(v[0] for v in values.values()) / 3
            high = max(v[-1] for v in values.values())
            high *= (high / low) ** _TOP
            fig.x_range.start = figures.first_shown(first, problem.N)
            fig.y_range.start, fig.y_range.end = low, high
            rounds = figures.time_ticks if name == "time" else figures.log_ticks
            figures.ticks(fig.yaxis[0], rounds(low, high, most=5), figures.round_text(PANELS[name]))
            for role, value in values.items():
                part["lines"][role].data = {"N": n, "value": value}
                part["dots"][role].data = {"x": [problem.N], "y": [float(value[here])]}
            gap = 22 * np.log10(high / low) / (_HEIGHT - 95)
            placed = figures.spread([np.log10(v[-1]) for v in values.values()], gap)
            for (role, _), y in zip(values.items(), placed, strict=True):
                part["labels"][role].update(x=_LAST, y=10**y)
            a, b = (float(values[role][here]) for role in ("standard", "flash"))
            more, word = (a / b, "less") if a >= b else (b / a, "more")
            # the curves rise, so that below and right of the dots there is room; the names are at their ends
            part["ratio"].update(
                x=problem.N,
                y=min(a, b),
                text=f"{units.ratio(more)} {self._words[word]}",
                y_offset=-28 if problem.N > _LAST // 8 else -10,
            )
