"""Error of every variant against float64, with the rule that judges it: at most twice standard attention's own."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from bokeh.models import ColumnDataSource, Span

from plates import figures
from plates.figures import Themed
from plates.machine_time import MARK, ROLE
from workshop.recordings import PROVIDERS, Recording, Row
from workshop.recordings.nearest import nearest

RULE = 2  # times the error of standard attention in the same number format
_HEIGHT = 300


@dataclass(frozen=True)
class Errors:
    """`error-max` rows of one shape by provider, and the rule's line; None where standard was not measured."""

    rows: dict[str, Row]
    limit: float | None

    @property
    def broken(self) -> list[str]:
        """Providers above the rule's line."""
        return [p for p, row in self.rows.items() if self.limit is not None and row.p50 > self.limit]


def errors(recording: Recording, wanted: Mapping, *, dtype: str, direction: str) -> Errors | None:
    """The errors of the shape nearest to ``wanted``, or None where none was measured in that number format."""
    found = recording.where(metric="error-max", dtype=dtype, direction=direction)
    # standard attention sets the rule, so its shapes come first
    like = nearest(found.where(provider="standard").rows or found.rows, wanted)
    if like is None:
        return None
    same = {name: getattr(like, name) for name in ("N", "d", "heads", "batch", "causal")}
    rows = {}
    for row in found.where(**same).rows:
        if row.provider not in rows or row.p50 > rows[row.provider].p50:  # of several tiles, the worst
            rows[row.provider] = row
    ordered = {p: rows[p] for p in PROVIDERS if p in rows}
    standard = ordered.get("standard")
    return Errors(ordered, RULE * standard.p50 if standard else None)


def number(value: float) -> str:
    """An error as readers see it: 1.95 × 10⁻³."""
    if value == 0:
        return "0"
    mantissa, _, power = f"{value:.2e}".partition("e")
    digits = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa} × 10{digits}"


def _round(value: float) -> str:
    return re.sub(r"\.0+ ", " ", number(value))


class ErrorChart:
    """A line a provider: median and spread of its largest error; the rule as a vertical line."""

    def __init__(self, themed: Themed, words: Mapping[str, str]) -> None:
        self._words = words
        self._drawn: Errors | None = None
        count = len(PROVIDERS)
        self.fig = fig = figures.chart(
            themed, x=(1e-6, 1e-1), y=(-0.6, count - 0.1), x_label=words["axis_error"], x_log=True,
            height=_HEIGHT, min_border_left=118,
        )  # fmt: skip
        fig.ygrid.visible = False
        self._names = [words[f"short_{p}"] for p in reversed(PROVIDERS)]
        figures.ticks(fig.yaxis[0], range(count), self._names)
        themed.colour(fig.yaxis[0], major_label_text_color="ink")
        self.sources, dots = {}, []
        for provider in PROVIDERS:
            source = ColumnDataSource({name: [] for name in ("x", "y", "low", "high", "e", "s")})
            whisker = fig.segment("low", "y", "high", "y", source=source, line_width=6, line_alpha=0.35)
            dot = fig.scatter(
                "x", "y", source=source, size=12, marker=MARK[provider], line_width=1.5,
                name=words[f"provider_{provider}"],
            )  # fmt: skip
            themed.colour(whisker.glyph, line_color=ROLE[provider])
            themed.colour(dot.glyph, fill_color=ROLE[provider], line_color=ROLE[provider])
            value = fig.text(
                "high",
                "y",
                text="e",
                source=source,
                x_offset=10,
                text_baseline="middle",
                text_font={"value": figures.FONT},
            )
            themed.size(value.glyph, text_font_size=13)
            themed.colour(value.glyph, text_color="muted")
            self.sources[provider] = source
            dots.append(dot)
        self._rule = Span(location=1, dimension="height", line_width=2.5)
        themed.colour(self._rule, line_color="over")
        fig.add_layout(self._rule)
        self._said = figures.label(
            themed, fig, words["rule_line"], "over", bold=True, x_offset=-8, text_font_size=13, text_align="right",
            text_baseline="top",
        )  # fmt: skip
        figures.hover(
            fig, dots, '<div style="font:14px system-ui;padding:2px 4px"><b>$name</b><br>@e<br>@s</div>'
        )

    def patch(self, found: Errors | None) -> None:
        """Draw the errors, or nothing."""
        if found is not None and found == self._drawn:
            return
        self._drawn = found
        rows = found.rows if found else {}
        top = len(PROVIDERS) - 1
        values = [v for row in rows.values() for v in (row.p20, row.p80) if v > 0]
        limit = found.limit if found else None
        if limit:
            values.append(limit)
        low, high = (min(values) / 2, max(values) * 3.2) if values else (1e-6, 1e-1)
        self.fig.x_range.update(start=low, end=high)
        decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        round_ = [m * 10.0**k for k in decades for m in (1, 2, 5) if low <= m * 10.0**k <= high]
        figures.ticks(self.fig.xaxis[0], round_[:: 1 + len(round_) // 7], _round)
        for k, (provider, source) in enumerate(self.sources.items()):
            row = rows.get(provider)
            if row is None or row.p50 <= 0:
                source.data = {name: [] for name in source.data}
                continue
            source.data = {
                "x": [row.p50], "y": [top - k], "low": [max(row.p20, low)], "high": [row.p80], "e": [number(row.p50)],
                "s": [self._words["error_said"].format(low=number(row.p20), high=number(row.p80))],
            }  # fmt: skip
        self._rule.visible = self._said.visible = bool(limit)
        if limit:
            self._rule.location = limit
            self._said.update(x=limit, y=top + 0.85)
