"""The serving plate's charts: arithmetic for each byte, and the bytes of a step against the length of the talk."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource, Span

from plates import figures
from plates.figures import Themed
from plates.settings import Settings
from workshop import kv_cache, units
from workshop.language_models import LanguageModel
from workshop.problem import LIMITS

_FIRST, _LAST = 64, LIMITS["N"][1]
_LINES = {"weights": "ink", "cache": "flash", "scores": "standard"}
_INTENSITY = {"decode": "hbm", "weights": "ink", "prompt": "flash"}


class Intensities:
    """A line of FLOP/B with the ridge on it."""

    def __init__(self, themed: Themed, words: dict) -> None:
        self.fig = fig = figures.chart(
            themed,
            x=(0.1, 1e5),
            y=(-0.55, 2.75),
            x_label=words["intensity_axis"],
            x_log=True,
            height=230,
            min_border_right=34,
        )
        fig.yaxis.visible = False
        fig.ygrid.visible = False
        self.dots, self._dot_labels = {}, {}
        self.ridge = Span(location=1, dimension="height", line_width=2, line_dash=[6, 4])
        themed.colour(self.ridge, line_color="ink")
        fig.add_layout(self.ridge)
        self._ridge_label = figures.label(themed, fig, "", "ink", y=-0.5, x_offset=8, text_font_size="14px")
        for at, (name, role) in enumerate(_INTENSITY.items()):
            y = 2 - at
            source = ColumnDataSource({"x": [1.0], "y": [y], "zero": [0.1]})
            stem = fig.segment("zero", "y", "x", "y", source=source, line_width=3)
            dot = fig.scatter("x", "y", source=source, size=14, line_width=0)
            themed.colour(stem.glyph, line_color=role)
            themed.colour(dot.glyph, fill_color=role)
            self.dots[name] = source
            self._dot_labels[name] = figures.label(
                themed, fig, "", role, x=0.1, y=y + 0.16, x_offset=4, text_font_size="14px", bold=True
            )

    def patch(self, intensity: dict[str, float], ridge: float, words: dict) -> None:
        """intensity: FLOP/B by name; ridge: FLOP/B."""
        every = [ridge, *intensity.values()]
        low, high = min(0.1, min(every) / 2), max(1e4, max(every) * 3)
        axis = self.fig
        axis.x_range.start, axis.x_range.end = low, high
        figures.ticks(axis.xaxis[0], figures.log_ticks(low, high), figures.round_text(units.number))
        for name, value in intensity.items():
            self.dots[name].data = {"x": [value], "y": self.dots[name].data["y"], "zero": [low]}
            self._dot_labels[name].update(
                x=low, text=words.pair(words[f"intensity_{name}"], units.intensity(value))
            )
        self.ridge.location = ridge
        right = ridge**2 < low * high**1.4
        self._ridge_label.update(
            x=ridge,
            text=words["ridge"].format(ridge=units.intensity(ridge)),
            text_align="left" if right else "right",
            x_offset=8 if right else -8,
        )


class StepBytes:
    """What one step reads against the length of the conversations."""

    def __init__(self, themed: Themed, words: dict) -> None:
        fig = figures.chart(
            themed,
            x=(_FIRST, _LAST),
            y=(1e6, 1e13),
            x_label=words["step_axis"],
            x_log=True,
            y_log=True,
            height=360,
        )
        figures.ticks(fig.xaxis[0], [64, 1024, 16384, 262144], units.count)
        self.lines, self._line_labels = {}, {}
        for name, role in _LINES.items():
            source = ColumnDataSource({"N": [], "bytes": [], "text": []})
            dash = [4, 4] if name == "scores" else "solid"
            line = fig.line(
                "N", "bytes", source=source, line_width=3, line_dash=dash, name=words[f"line_{name}"]
            )
            themed.colour(line.glyph, line_color=role)
            self.lines[name] = source
            self._line_labels[name] = figures.label(
                themed,
                fig,
                words[f"line_{name}"],
                role,
                x=_LAST,
                x_offset=8,
                text_baseline="middle",
                bold=True,
            )
        figures.label_zone(fig, _LAST, self._line_labels.values())
        self._now = fig.scatter([], [], size=12, line_width=0)
        themed.colour(self._now.glyph, fill_color="flash")
        figures.hover(
            fig,
            fig.renderers[:-1],
            '<div style="font:14px system-ui;padding:2px 4px"><b>$name</b><br>N = @N<br>@text</div>',
            line_policy="nearest",
        )
        self.fig = fig

    def patch(self, model: LanguageModel, s: Settings, step: kv_cache.Step) -> None:
        first = min(_FIRST, s.N)
        n = np.unique(np.geomspace(first, _LAST, 80).round().astype(np.int64))
        values = {
            "weights": np.full(len(n), float(step.weights)),
            "cache": np.array([s.B * kv_cache.cache_bytes(model, int(v), s.dtype) for v in n], dtype=float),
            "scores": np.array(
                [s.B * model.layers * kv_cache.score_bytes(model, int(v), s.dtype) for v in n], dtype=float
            ),
        }
        low = min(v.min() for v in values.values()) / 2
        high = max(v.max() for v in values.values()) * 2
        for name, y in values.items():
            self.lines[name].data = {"N": n, "bytes": y, "text": [units.bytes_(v) for v in y]}
        fig = self.fig
        fig.x_range.start = figures.first_shown(first, s.N)
        fig.y_range.start, fig.y_range.end = low, high
        figures.ticks(fig.yaxis[0], figures.log_ticks(low, high), figures.round_text(units.bytes_))
        gap = 20 * np.log10(high / low) / 290
        placed = figures.spread([np.log10(v[-1]) for v in values.values()], gap)
        for name, y in zip(values, placed, strict=True):
            self._line_labels[name].y = 10**y
        self._now.data_source.data = {"x": [s.N], "y": [step.cache]}
