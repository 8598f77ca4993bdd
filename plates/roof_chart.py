"""The roofline, log-log: the roof of one GPU, its sustained band, the ridge, and a point a model that stands on it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from bokeh.models import ColumnDataSource

from plates import figures
from plates.figures import Themed
from workshop import roofline, units
from workshop.hardware import GPU, SUSTAINED
from workshop.roofline import Time
from workshop.units import DTYPE_BYTES

HEIGHT = 480
_INNER = HEIGHT - 62  # px between the axes, about
_LINE = 20  # px, a label's height
_BELOW, _ABOVE = 100, 10  # times, that the axis reaches at least to both sides of the ridge
_AROUND = 3  # times, that it reaches beyond a point, whose name has a place there


def axes_of(
    gpu: GPU, dtype: str, points: Iterable[tuple[float, float]] = ()
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the ranges ((FLOP/B), (FLOP/s)) of a chart: whole decades around the ridge, and around every point.

    points: (intensity, rate) of what is shown. Few problems leave the ridge's own decades, so the axes rarely move.
    """
    ridge, points = gpu.ridge(dtype), list(points)
    x = [ridge / _BELOW, ridge * _ABOVE]
    x += [at * side for at, _ in points for side in (1 / _AROUND, _AROUND)]
    x0, x1 = 10.0 ** np.floor(np.log10(min(x))), 10.0 ** np.ceil(np.log10(max(x)))
    rates = [gpu.bandwidth * x0, *(rate / _AROUND for _, rate in points)]
    peak = max((*(gpu.rate(one).flops for one in DTYPE_BYTES), *(rate for _, rate in points)))
    return (float(x0), float(x1)), (float(min(rates)), 5.0 * peak)


class RoofChart:
    """Builds the figure once and patches it. ``names`` and ``roles``: what a model is called, and its colour's role."""

    def __init__(self, themed: Themed, words: dict[str, str], names: dict[str, str], roles: dict[str, str]):
        self._words = words
        self.fig = fig = figures.chart(
            themed, x=(1, 1e4), y=(1e12, 1e16), x_label=words["axis_intensity"], x_log=True, y_log=True,
            height=HEIGHT, min_border_left=86, min_border_right=26,
        )  # fmt: skip
        self._band = ColumnDataSource({"x": [], "low": [], "high": []})
        band = fig.varea("x", "low", "high", source=self._band, fill_alpha=0.28)
        themed.colour(band.glyph, fill_color="hbm")
        self._roof = ColumnDataSource({"x": [], "y": []})
        roof = fig.line("x", "y", source=self._roof, line_width=3)
        themed.colour(roof.glyph, line_color="ink")
        self._other = ColumnDataSource({"x": [], "y": []})
        other = fig.line("x", "y", source=self._other, line_width=2, line_dash="dashed")
        themed.colour(other.glyph, line_color="muted")
        self._ridge = ColumnDataSource({"x": [], "y0": [], "y1": []})
        rule = fig.segment("x", "y0", "x", "y1", source=self._ridge, line_dash=[6, 4], line_width=1.5)
        themed.colour(rule.glyph, line_color="ink")
        self._leaders = ColumnDataSource({"x": [], "y0": [], "y1": []})
        leader = fig.segment("x", "y0", "x", "y1", source=self._leaders, line_width=1)
        themed.colour(leader.glyph, line_color="muted")
        label = figures.label
        self._peak = label(themed, fig, "", "ink", text_align="right", x_offset=-8, y_offset=7)
        self._other_peak = label(themed, fig, "", "muted", text_align="right", x_offset=-8, y_offset=7)
        self._slope = label(themed, fig, "", "ink", text_baseline="top", x_offset=16, y_offset=4)
        self._at_ridge = label(themed, fig, "", "ink", bold=True, x_offset=8, y_offset=8)
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

    def patch(
        self,
        gpu: GPU,
        dtype: str,
        times: dict[str, Time],
        waits: dict[str, str],
        marks: Iterable[tuple[float, float]] = (),
        other: str | None = None,
    ) -> None:
        """Draw the roof of ``gpu`` and a point for each model of ``times``; ``waits``: what it waits for, in words.

        ``marks``: (intensity, rate) of what else stands on the chart. ``other``: a second number format, whose roof is
        drawn dashed.
        """
        words, fig, self._dtype = self._words, self.fig, dtype
        points = [(time.intensity, time.rate) for time in times.values()]
        (x0, x1), (y0, y1) = axes_of(gpu, dtype, [*points, *marks])
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
        pixel = float(np.log10(y1 / y0)) / _INNER
        higher = other is not None and gpu.rate(other).flops > peak
        self._patch_points(times, waits, peak * 10 ** (-_LINE * pixel * higher), pixel)
        self._patch_other(gpu, other, pixel)

    def _patch_other(self, gpu: GPU, dtype: str | None, pixel: float) -> None:
        """Draw the flat roof of a second number format, dashed, from the slope on; None takes it away."""
        self._other_peak.visible = dtype is not None
        if dtype is None:
            self._other.data = {"x": [], "y": []}
            self._peak.update(text_baseline="bottom", y_offset=7)
            return
        end, rate, chosen = self.fig.x_range.end, gpu.rate(dtype), gpu.rate(self._dtype)
        # names hang under the lower roof, so that its own stands there and the higher one's above
        higher = rate.flops > chosen.flops
        for label, above in ((self._other_peak, higher), (self._peak, not higher)):
            label.update(text_baseline="bottom" if above else "top", y_offset=7 if above else -6)
        under = float(np.log10(rate.flops)) - (0 if higher else _LINE) * pixel
        self.below_names = 10 ** (under if higher else min(under, float(np.log10(self.below_names))))
        bends = [min(gpu.ridge(self._dtype), gpu.ridge(dtype)), gpu.ridge(dtype), end]
        self._other.data = {"x": bends, "y": roofline.attainable(gpu, dtype, bends)}
        peak = self._words["peak"].format(peak=units.rate_flops(rate.flops), dtype=rate.dtype)
        self._other_peak.update(x=end, y=rate.flops, text=peak)

    def _patch_points(self, times: dict[str, Time], waits: dict[str, str], peak: float, pixel: float) -> None:
        """pixel: decades of the vertical axis a px. Names stand left of a point on the slope, below one on the roof."""
        on_roof = sorted(
            (m for m, t in times.items() if t.binding == "compute"), key=lambda m: times[m].intensity
        )
        heights = {m: float(np.log10(t.rate)) for m, t in times.items()}
        top = float(np.log10(peak)) - 24 * pixel
        for k, model in enumerate(reversed(on_roof)):  # rightmost next to the roof: no leader crosses a name
            heights[model] = top - k * _LINE * pixel
        #: the rate, FLOP/s, of the lowest name under the roof
        self.below_names = 10 ** min([heights[m] for m in on_roof] + [top])
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
