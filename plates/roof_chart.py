"""The roofline, log-log: the roof of one GPU, its sustained band, the ridge, and a point a model that stands on it."""

from __future__ import annotations

import numpy as np
from bokeh.models import ColumnDataSource

from plates import figures
from plates.figures import Themed
from workshop import roofline, units
from workshop.hardware import GPU, SUSTAINED
from workshop.problem import LIMITS
from workshop.roofline import Time
from workshop.units import DTYPE_BYTES

HEIGHT = 480
_INNER = HEIGHT - 62  # px between the axes, about
_LINE = 20  # px, a label's height
# Below the least that any model does for a byte (N = 1 in fp32 under `standard`), so that its name has room, and
# past the most (N tokens in the smallest format under `compulsory`): no setting of the page leaves the axis.
FIRST, LAST = 0.01, 2.0 * LIMITS["N"][1]


def axes_of(gpu: GPU) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges ((FLOP/B), (FLOP/s)) of a GPU's chart: the same for every problem and number format."""
    ridges = [gpu.ridge(dtype) for dtype in DTYPE_BYTES]
    x = (min(FIRST, min(ridges) / 10), max(LAST, max(ridges) * 10))
    peak = max(gpu.rate(dtype).flops for dtype in DTYPE_BYTES)
    floor = min(min(gpu.rate(dtype).flops for dtype in DTYPE_BYTES) / 100, gpu.bandwidth * FIRST)
    return x, (floor, peak * 5)


class RoofChart:
    """Builds the figure once and patches it. ``names`` and ``roles``: what a model is called, and its colour's role."""

    def __init__(self, themed: Themed, words: dict[str, str], names: dict[str, str], roles: dict[str, str]):
        self._words = words
        self.fig = fig = figures.chart(
            themed, x=(FIRST, LAST), y=(1e11, 1e16), x_label=words["axis_intensity"], x_log=True, y_log=True,
            height=HEIGHT, min_border_left=86,
        )  # fmt: skip
        self._band = ColumnDataSource({"x": [], "low": [], "high": []})
        band = fig.varea("x", "low", "high", source=self._band, fill_alpha=0.28)
        themed.colour(band.glyph, fill_color="hbm")
        self._roof = ColumnDataSource({"x": [], "y": []})
        roof = fig.line("x", "y", source=self._roof, line_width=3)
        themed.colour(roof.glyph, line_color="ink")
        self._ridge = ColumnDataSource({"x": [], "y0": [], "y1": []})
        rule = fig.segment("x", "y0", "x", "y1", source=self._ridge, line_dash="dotted", line_width=1.5)
        themed.colour(rule.glyph, line_color="muted")
        self._leaders = ColumnDataSource({"x": [], "y0": [], "y1": []})
        leader = fig.segment("x", "y0", "x", "y1", source=self._leaders, line_width=1)
        themed.colour(leader.glyph, line_color="muted")
        label = figures.label
        self._peak = label(themed, fig, "", "ink", text_align="right", x_offset=-8, y_offset=7)
        self._slope = label(themed, fig, "", "ink", text_baseline="top", x_offset=16, y_offset=4)
        self._at_ridge = label(themed, fig, "", "muted", bold=True, x_offset=8, y_offset=8)
        self._zones = []
        for name, side, offset in (("zone_memory", "right", -9), ("zone_compute", "left", 9)):
            lines = words[name].replace("|", "\n")
            zone = label(themed, fig, lines, "muted", text_align=side, x_offset=offset, text_font_size=14)
            zone.update(text_baseline="top", y_offset=-2)
            self._zones.append(zone)
        self._points, self._labels = {}, {}
        for model, name in names.items():
            source = ColumnDataSource({"x": [], "y": [], "i": [], "r": [], "t": [], "w": []})
            dot = fig.scatter("x", "y", source=source, size=14, line_width=1.5, name=name)
            themed.colour(dot.glyph, fill_color=roles[model], line_color="paper")
            self._points[model] = (source, dot)
            self._labels[model] = label(themed, fig, name, roles[model], bold=True, text_baseline="middle")
            self._labels[model].level = "overlay"  # not clipped by the frame
        figures.hover(
            fig,
            [dot for _, dot in self._points.values()],
            '<div style="font:14px system-ui;padding:2px 4px"><b>$name</b><br>'
            f"{words['hover'].format(intensity='@i', rate='@r')}<br>@t, @w</div>",
        )

    def patch(self, gpu: GPU, dtype: str, times: dict[str, Time], waits: dict[str, str]) -> None:
        """Draw the roof of ``gpu`` and a point for each model of ``times``; ``waits``: what it waits for, in words."""
        words, fig = self._words, self.fig
        (x0, x1), (y0, y1) = axes_of(gpu)
        fig.x_range.update(start=x0, end=x1)
        fig.y_range.update(start=y0, end=y1)
        figures.ticks(fig.xaxis[0], figures.log_ticks(x0, x1, most=5), figures.round_text(units.number))
        figures.ticks(fig.yaxis[0], figures.log_ticks(y0, y1, most=6), figures.round_text(units.rate_flops))
        low, high = SUSTAINED
        ridge, peak = gpu.ridge(dtype), gpu.rate(dtype).flops
        bends = sorted({x0, ridge, ridge / high, ridge / low, x1})
        self._roof.data = {"x": [x0, ridge, x1], "y": roofline.attainable(gpu, dtype, [x0, ridge, x1])}
        self._band.data = {
            "x": bends,
            "low": roofline.attainable(gpu, dtype, bends, low),
            "high": roofline.attainable(gpu, dtype, bends, high),
        }
        self._ridge.data = {"x": [ridge], "y0": [y0], "y1": [y1]}
        self._peak.update(
            x=x1, y=peak, text=words["peak"].format(peak=units.rate_flops(peak), dtype=gpu.rate(dtype).dtype)
        )
        corner = max(x0, y0 / gpu.bandwidth)  # where the slope enters the frame
        x = corner * (ridge / corner) ** 0.3
        y = float(roofline.attainable(gpu, dtype, x))
        shown = {
            "bandwidth": units.rate_bytes(gpu.bandwidth),
            "low": round(low * 100),
            "high": round(high * 100),
        }
        beside = "\n".join(words[name].format(**shown) for name in ("slope", "share"))
        self._slope.update(x=x, y=y, text=beside)
        self._at_ridge.update(x=ridge, y=y0, text=words["ridge"].format(ridge=units.intensity(ridge)))
        for zone in self._zones:
            zone.update(x=ridge, y=y1)
        self._patch_points(times, waits, peak, float(np.log10(y1 / y0)) / _INNER)

    def _patch_points(self, times: dict[str, Time], waits: dict[str, str], peak: float, pixel: float) -> None:
        """pixel: decades of the vertical axis a px. Names stand left of a point on the slope, below one on the roof."""
        on_roof = sorted(
            (m for m, t in times.items() if t.binding == "compute"), key=lambda m: times[m].intensity
        )
        heights = {m: float(np.log10(t.rate)) for m, t in times.items()}
        top = float(np.log10(peak)) - 24 * pixel
        for k, model in enumerate(reversed(on_roof)):  # rightmost next to the roof: no leader crosses a name
            heights[model] = top - k * _LINE * pixel
        slope = [m for m in sorted(times, key=lambda m: times[m].intensity) if m not in on_roof]
        least = -np.inf
        for model in slope:  # only ever upwards: below and to the right the slope itself runs
            heights[model] = least = max(heights[model], least)
            least += _LINE * pixel
        for model, (source, dot) in self._points.items():
            dot.visible = self._labels[model].visible = model in times
            if model not in times:
                continue
            time, left = times[model], model in slope
            source.data = {
                "x": [time.intensity],
                "y": [time.rate],
                "i": [units.intensity(time.intensity)],
                "r": [units.rate_flops(time.rate)],
                "t": [units.seconds(time.lower)],
                "w": [waits[model]],
            }
            self._labels[model].update(
                x=time.intensity, y=10 ** heights[model],
                text_align="right" if left else "left", x_offset=-13 if left else 7, y_offset=3 if left else 0,
            )  # fmt: skip
        self._leaders.data = {
            "x": [times[m].intensity for m in on_roof],
            "y0": [times[m].rate for m in on_roof],
            "y1": [10 ** heights[m] for m in on_roof],
        }
