"""Time against N, measured beside modelled: arithmetic rates under the machine's own ceiling, and seconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from bokeh.models import ColumnDataSource

from plates import figures, text
from plates.figures import Themed
from plates.language import Labels
from plates.roles import PROVIDER as ROLE
from workshop import units
from workshop.hardware import GPU
from workshop.kernels.identify import remarks
from workshop.problem import Problem, Tile
from workshop.recordings import PROVIDERS
from workshop.recordings.curves import Ceilings, Curve, case_of, modelled, rate, roof

MARK = {
    "standard": "square",
    "teaching": "triangle",
    "fast": "circle",
    "sdpa-cudnn": "diamond",
    "sdpa-flash": "inverted_triangle",
    "sdpa-efficient": "x",
}
DASH = {"sdpa-cudnn": [8, 4], "sdpa-flash": [3, 3], "sdpa-efficient": [2, 5]}
FIRST, LAST = 512, 131072
_LAST_SECONDS = 16384  # longer ones are recorded with fewer heads
_TICKS = {LAST: [512, 4096, 32768], _LAST_SECONDS: [512, 2048, 8192]}  # few: a phone has room for three
_HEIGHT = 460
_LINE = 19  # px, a label's height


@dataclass(frozen=True)
class Times:
    """What the two charts show: recorded curves and the model for one d, mask and direction; Ns of the model."""

    curves: dict[str, Curve]
    ceilings: Ceilings
    Ns: np.ndarray
    model_seconds: np.ndarray
    model_rate: np.ndarray
    roof_standard: np.ndarray | None
    peak: float
    problem: Problem
    gpu: GPU

    @property
    def rows(self) -> list:
        """Every recorded row on the charts, the machine's own rates included."""
        own = [row for row in (self.ceilings.matmul, self.ceilings.copy) if row]
        return own + [row for curve in self.curves.values() for row in curve.rows]


def times(
    found: dict[str, Curve], own: Ceilings, problem: Problem, tile: Tile, gpu: GPU, direction: str
) -> Times:
    """Put the models beside recorded curves. ``problem``: their d, mask, number format and heads, one sequence."""
    Ns = np.array([FIRST << k for k in range(9)], dtype=np.int64)
    seconds, rates = modelled(problem, tile, gpu, direction, Ns)
    return Times(
        found, own, Ns, seconds, rates, roof(own, "standard", problem, direction, Ns),
        gpu.rate(problem.dtype).flops, problem, gpu,
    )  # fmt: skip


def table(shown: Times, N: int, words: Labels) -> tuple[str, int | None]:
    """Every provider at the recorded length nearest to ``N`` as HTML, and that length (None without rows)."""
    lengths = sorted({int(n) for curve in shown.curves.values() for n in curve.N})
    if not lengths:
        return f"<p>{words['no_times']}</p>", None
    at = min(lengths, key=lambda n: (abs(np.log2(n / N)), n))
    matmul = shown.ceilings.matmul
    columns = [("provider", False), ("time", True), ("spread", True), ("rate", True), ("of_matmul", True)]
    columns += [("of_peak", True), ("remark", False)]
    rows = []
    for provider, curve in shown.curves.items():
        row = curve.at(at)
        if row is None:
            continue
        speed = rate(row)
        tile = f" {row.Br}×{row.Bc}" if row.Br and provider == "teaching" else ""
        said = " ".join(map(words.said, remarks(case_of(row), row, row.gpu)))
        name = words[f"provider_{provider}"]
        rows.append(
            [
                f'<b style="color:var(--{ROLE[provider]});white-space:nowrap">{name}{tile}</b>',
                units.seconds(row.p50),
                words["between"].format(low=units.seconds(row.p20), high=units.seconds(row.p80)),
                text.inline_readout(f"tflops-{provider}", speed, units.rate_flops(speed)),
                units.percent(speed / matmul.p50) if matmul else "",
                units.percent(speed / shown.peak),
                said,
            ]
        )
    absent = [
        words[f"provider_{p}"] for p in PROVIDERS if p not in shown.curves or shown.curves[p].at(at) is None
    ]
    note = f"<p>{words['absent'].format(names=words.listed(absent))}</p>" if absent else ""
    return text.table([(words[f"column_{name}"], number) for name, number in columns], rows) + note, at


class _Lines:
    """A line, whiskers and a name for each provider, and the model's line: the part both charts share."""

    def __init__(self, themed: Themed, words: Labels, y_log: bool, y: tuple, y_label: str, last: int) -> None:
        self._words, self._log, self._last = words, y_log, last
        self._drawn: tuple | None = None
        self.fig = fig = figures.chart(
            themed, x=(FIRST / 1.25, last), y=y, x_label=words["axis_N"], y_label=y_label, x_log=True, y_log=y_log,
            height=_HEIGHT, min_border_left=70,
        )  # fmt: skip
        figures.ticks(fig.xaxis[0], _TICKS[last], units.count)
        self._model = ColumnDataSource({"x": [], "y": [], "n": [], "t": [], "r": [], "s": []})
        line = fig.line(
            "x", "y", source=self._model, line_width=2, line_dash=[10, 5], name=words["bound_model"]
        )
        themed.colour(line.glyph, line_color="flash")
        self._labels = {"model": self._label(themed, words["bound_model"], "flash")}
        self.sources, renderers = {}, [line]
        for provider in PROVIDERS:
            source = ColumnDataSource({name: [] for name in ("x", "y", "low", "high", "n", "t", "r", "s")})
            name, role = words[f"provider_{provider}"], ROLE[provider]
            whisker = fig.segment("x", "low", "x", "high", source=source, line_width=5, line_alpha=0.35)
            curve = fig.line(
                "x", "y", source=source, line_width=3 if provider in ("fast", "standard") else 2,
                line_dash=DASH.get(provider, "solid"), name=name,
            )  # fmt: skip
            dot = fig.scatter(
                "x", "y", source=source, size=9, marker=MARK[provider], name=name, line_width=1.5
            )
            for glyph in (whisker.glyph, curve.glyph):
                themed.colour(glyph, line_color=role)
            themed.colour(
                dot.glyph, fill_color=role, line_color=role if provider == "sdpa-efficient" else "paper"
            )
            self.sources[provider] = source
            self._labels[provider] = self._label(themed, words[f"short_{provider}"], role)
            renderers.append(dot)
        figures.label_zone(fig, last * 1.08, self._labels.values())
        figures.hover(
            fig,
            renderers,
            '<div style="font:14px system-ui;padding:2px 4px"><b>$name</b><br>N = @n<br>@t<br>@r<br>@s</div>',
        )

    def _label(self, themed: Themed, name: str, role: str):
        return figures.label(
            themed, self.fig, name, role, bold=True, x_offset=10, text_baseline="middle", text_font_size=14
        )

    def _changed(self, shown: Times) -> bool:
        """Whether another picture is due; N alone moves nothing."""
        now = (shown.curves, shown.model_seconds.tobytes())
        same = self._drawn is not None and self._drawn[0] is now[0] and self._drawn[1] == now[1]
        self._drawn = now
        return not same

    def patch(
        self, curves_: Mapping[str, tuple], model: tuple, low: float, high: float, more: Mapping | None = None
    ) -> None:
        """``curves_``: provider -> (curve, y, y of p20, y of p80); ``model``: (Ns, y, seconds, rates); ``more``: name
        of a further line -> its end."""
        words = self._words
        Ns, y, seconds, rates = (values[model[0] <= self._last] for values in model)
        self._model.data = {
            "x": Ns, "y": y, "n": [units.count(n) for n in Ns], "t": [units.seconds(t) for t in seconds],
            "r": [units.rate_flops(r) for r in rates], "s": [words["a_model"]] * len(Ns),
        }  # fmt: skip
        ends = {"model": (float(Ns[-1]), float(y[-1]))} if len(Ns) else {}
        for provider, source in self.sources.items():
            if provider not in curves_:
                source.data = {name: [] for name in source.data}
                continue
            curve, middle, one, other = curves_[provider]
            source.data = {
                "x": curve.N.astype(float),
                "y": middle,
                "low": one,
                "high": other,
                "n": [units.count(row.N) for row in curve.rows],
                "t": [
                    words["hover_time"].format(
                        time=units.seconds(r.p50),
                        low=units.seconds(r.p20),
                        high=units.seconds(r.p80),
                        heads=r.heads,
                    )
                    for r in curve.rows
                ],
                "r": [units.rate_flops(r) for r in curve.rate],
                "s": [words["hover_recorded"].format(gpu=r.gpu, day=r.time[:10]) for r in curve.rows],
            }
            ends[provider] = (float(curve.N[-1]), float(middle[-1]))
        self.fig.y_range.update(start=low, end=high)
        self._place({**ends, **(more or {})}, low, high)

    def _place(self, ends: Mapping[str, tuple[float, float]], low: float, high: float) -> None:
        """A name stands right of its curve's end; names are spread apart."""
        position = np.log10 if self._log else float
        pixel = (position(high) - position(low)) / (_HEIGHT - 70)
        for label in self._labels.values():
            label.visible = False
        # all together, though some curves end sooner: on a phone their names reach below those of the longer ones
        names = list(ends)
        placed = figures.spread([float(position(ends[name][1])) for name in names], _LINE * pixel)
        for name, where in zip(names, placed, strict=True):
            y = 10**where if self._log else where
            self._labels[name].update(x=ends[name][0] * 1.02, y=float(y), visible=True)


class RateChart(_Lines):
    """TFLOP/s against N under the ceilings that this machine reached itself."""

    def __init__(self, themed: Themed, words: Labels) -> None:
        super().__init__(themed, words, False, (0, 1e15), words["axis_rate"], LAST)
        fig = self.fig
        self._roof = ColumnDataSource({"x": [], "y": []})
        roof_line = fig.line("x", "y", source=self._roof, line_width=1.5, line_dash=[2, 3])
        themed.colour(roof_line.glyph, line_color="standard")
        self._spans = {}
        for name, role in (("matmul", "ink"), ("peak", "muted")):
            source = ColumnDataSource({"x": [], "y": []})
            line = fig.line(
                "x", "y", source=source, line_width=1.5, line_dash="solid" if name == "matmul" else [2, 3]
            )
            themed.colour(line.glyph, line_color=role)
            text_ = figures.label(themed, fig, "", role, x_offset=6, y_offset=4, text_font_size=13)
            self._spans[name] = (source, text_)
        self._labels["roof"] = figures.label(
            themed,
            fig,
            words["roof_standard"],
            "standard",
            x_offset=10,
            text_baseline="middle",
            text_font_size=13,
        )
        figures.label_zone(fig, LAST * 1.08, self._labels.values())

    def show(self, shown: Times) -> None:
        """Draw rates."""
        if not self._changed(shown):
            return
        top = max(shown.peak, max((c.fast.max() for c in shown.curves.values()), default=0)) * 1.12
        found = {p: (c, c.rate, c.slow, c.fast) for p, c in shown.curves.items()}
        standing = shown.roof_standard
        more = {} if standing is None else {"roof": (float(shown.Ns[-1]), float(standing[-1]))}
        self.patch(found, (shown.Ns, shown.model_rate, shown.model_seconds, shown.model_rate), 0, top, more)
        step = 100e12 if top > 400e12 else 20e12
        figures.ticks(self.fig.yaxis[0], np.arange(0, top, 2 * step), lambda v: units.count(v / 1e12))
        matmul = shown.ceilings.matmul
        for name, value in (("matmul", matmul.p50 if matmul else None), ("peak", shown.peak)):
            source, label = self._spans[name]
            label.visible = value is not None
            there = [] if value is None else [value, value]
            source.data = {"x": [FIRST / 1.25, LAST * 1.05][: len(there)], "y": there}
            if value is not None:
                label.update(
                    x=FIRST / 1.25, y=value,
                    text=self._words[f"line_{name}"].format(rate=units.rate_flops(value)),
                )  # fmt: skip
        self._roof.data = {
            "x": shown.Ns if standing is not None else [],
            "y": [] if standing is None else standing,
        }


class SecondsChart(_Lines):
    """Seconds of a layer against N, log-log. Only rows of the usual number of heads: seconds depend on it."""

    def __init__(self, themed: Themed, words: Labels) -> None:
        super().__init__(themed, words, True, (1e-5, 1), words["axis_time"], _LAST_SECONDS)

    def show(self, shown: Times) -> None:
        """Draw seconds."""
        if not self._changed(shown):
            return
        found = {}
        for provider, curve in shown.curves.items():
            rows = tuple(r for r in curve.rows if r.heads == shown.problem.heads and r.N <= _LAST_SECONDS)
            if rows:
                c = Curve(provider, rows)
                found[provider] = (
                    c,
                    *(np.array([getattr(r, p) for r in rows]) for p in ("p50", "p20", "p80")),
                )
        values = [v for _, y, *_ in found.values() for v in y]
        values += list(shown.model_seconds[shown.Ns <= _LAST_SECONDS])
        low, high = min(values) / 2, max(values) * 2
        self.patch(found, (shown.Ns, shown.model_seconds, shown.model_seconds, shown.model_rate), low, high)
        figures.ticks(
            self.fig.yaxis[0], figures.log_ticks(low, high, most=7), figures.round_text(units.seconds)
        )
