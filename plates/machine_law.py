"""The law in two pictures: all cases on one diagonal, and how often K and V came out of DRAM."""

from __future__ import annotations

from typing import ClassVar

from bokeh.models import ColumnDataSource, Span

from plates import figures, machine_bytes
from plates.figures import Themed
from plates.language import Labels
from plates.roles import MODEL, PROVIDER
from workshop import units
from workshop.recordings.boundaries import COMPULSORY_UP_TO, WAVES_FROM
from workshop.recordings.evidence import Counted, Evidence, agrees

_HEIGHT = 480


class LawChart:
    """Counted bytes against modelled bytes, every case at L1 and at DRAM, log-log, with the diagonal."""

    GROUPS = ("L1", "compulsory", "waves", "unclaimed")
    _MARK: ClassVar[dict[str, str]] = {
        "L1": "square",
        "compulsory": "circle",
        "waves": "diamond",
        "unclaimed": "circle",
    }
    _ROLE: ClassVar[dict[str, str]] = {
        "L1": MODEL["tiled"],
        "compulsory": MODEL["compulsory"],
        "waves": MODEL["waves"],
        "unclaimed": "muted",
    }

    def __init__(self, themed: Themed, words: Labels) -> None:
        self._words = words
        self._drawn: Evidence | None = None
        self.fig = fig = figures.chart(
            themed, x=(1e6, 1e12), y=(1e6, 1e12), x_label=words["axis_modelled"], y_label=words["axis_counted"],
            x_log=True, y_log=True, height=_HEIGHT, min_border_left=74,
        )  # fmt: skip
        self._diagonal = ColumnDataSource({"x": [], "y": []})
        line = fig.line("x", "y", source=self._diagonal, line_width=1.5)
        themed.colour(line.glyph, line_color="muted")
        self.sources, dots = {}, []
        for group in self.GROUPS:
            columns = ("x", "y", "shape", "model", "counted", "off")
            source = ColumnDataSource({name: [] for name in columns})
            dot = fig.scatter("x", "y", source=source, size=11, marker=self._MARK[group], line_width=2)
            hollow = group == "unclaimed"
            themed.colour(
                dot.glyph, fill_color="paper" if hollow else self._ROLE[group], line_color=self._ROLE[group]
            )
            self.sources[group] = source
            dots.append(dot)
        self._ring = ColumnDataSource({"x": [], "y": []})
        ring = fig.scatter("x", "y", source=self._ring, size=21, fill_color=None, line_width=2)
        themed.colour(ring.glyph, line_color="ink")
        entries = [("", self._ROLE[group]) for group in self.GROUPS]
        self._names = dict(zip(self.GROUPS, figures.legend(themed, fig, entries), strict=True))
        figures.hover(
            fig,
            dots,
            '<div style="font:14px system-ui;padding:2px 4px"><b>@shape</b><br>@model<br>@counted<br>@off</div>',
        )

    def patch(self, found: Evidence | None, chosen: Counted | None) -> None:
        """Draw every case, once for a recording; ring those of ``chosen``."""
        ring = [chosen.level(name) for name in ("L1", "DRAM")] if chosen else []
        around = {"x": [level.modelled for level in ring], "y": [level.counted for level in ring]}
        if self._ring.data != around:
            self._ring.data = around
        if found is self._drawn:
            return
        self._drawn = found
        words, points = self._words, {group: [] for group in self.GROUPS}
        for case in found.cases if found else ():
            for name in ("L1", "DRAM"):
                level = case.level(name)
                ok = level.claimed and agrees(level)
                group = "L1" if name == "L1" and ok else level.model if ok else "unclaimed"
                points[group].append((level.modelled, level.counted, case, level))
        for group, found_points in points.items():
            self.sources[group].data = {
                "x": [p[0] for p in found_points],
                "y": [p[1] for p in found_points],
                "shape": [machine_bytes.shape(case, words) for *_, case, _ in found_points],
                "model": [
                    words.pair(words.said(level.model), units.bytes_(level.modelled))
                    for *_, level in found_points
                ],
                "counted": [
                    words.pair(words["bar_counted"], units.bytes_(level.counted))
                    for *_, level in found_points
                ],
                "off": [machine_bytes.off(level.residual, words) for *_, level in found_points],
            }
        values = [v for group in points.values() for p in group for v in p[:2]]
        low, high = (min(values) / 3, max(values) * 3) if values else (1e6, 1e12)
        for axis, span in ((self.fig.xaxis[0], self.fig.x_range), (self.fig.yaxis[0], self.fig.y_range)):
            span.update(start=low, end=high)
            figures.ticks(axis, figures.log_ticks(low, high, most=6), figures.round_text(units.bytes_))
        self._diagonal.data = {"x": [low, high], "y": [low, high]}
        for group, name in self._names.items():
            name.visible = bool(points[group])
            mark = {"L1": "■", "compulsory": "●", "waves": "◆", "unclaimed": "○"}[group]
            name.text = f"{mark} {words[f'law_{group}'].format(count=len(points[group]))}"


def _apart(case: Counted) -> bool:
    """Past the cache's edge with more blocks on a multiprocessor than keep in step."""
    level = case.level("DRAM")
    return case.out_of_step and level.model == "waves" and not level.claimed


class PassesChart:
    """How often K and V of a head came from DRAM, against their size: once while they fit the L2, then once a wave."""

    GROUPS = ("one", "many", "apart")

    def __init__(self, themed: Themed, words: Labels) -> None:
        self._words = words
        self._drawn: Evidence | None = None
        self.fig = fig = figures.chart(
            themed, x=(3e6, 3e8), y=(0.8, 24), x_label=words["axis_head"], y_label=words["axis_passes"],
            x_log=True, y_log=True, height=_HEIGHT, min_border_left=58,
        )  # fmt: skip
        self._edges = []
        for _ in range(2):
            edge = Span(location=1e7, dimension="height", line_dash="dotted", line_width=1.5)
            themed.colour(edge, line_color="muted")
            fig.add_layout(edge)
            self._edges.append(edge)
        self._models = ColumnDataSource({"x": [], "y": [], "shape": [], "said": []})
        mark = fig.scatter("x", "y", source=self._models, marker="dash", size=26, line_width=3)
        themed.colour(mark.glyph, line_color="ink")
        self.sources, dots = {}, []
        marks = {"one": "circle", "many": "circle", "apart": "triangle"}
        seen = PROVIDER["teaching"]
        for group in marks:
            source = ColumnDataSource({"x": [], "y": [], "shape": [], "said": []})
            dot = fig.scatter("x", "y", source=source, size=11, line_width=2, marker=marks[group])
            themed.colour(dot.glyph, fill_color=seen if group == "one" else "paper", line_color=seen)
            self.sources[group] = source
            dots.append(dot)
        label = figures.label
        self._once = label(
            themed,
            fig,
            words["zone_once"],
            MODEL["compulsory"],
            bold=True,
            text_align="right",
            text_font_size=14,
        )
        self._edge = label(themed, fig, words["zone_edge"], "muted", text_align="center", text_font_size=13)
        self._waves = label(themed, fig, words["zone_waves"], MODEL["waves"], bold=True, text_font_size=14)
        entries = (("●", "one", seen), ("○", "many", seen), ("△", "apart", seen), ("—", "model", "ink"))
        figures.legend(
            themed, fig, [(f"{mark} {words[f'key_{name}']}", role) for mark, name, role in entries]
        )
        figures.hover(
            fig, dots, '<div style="font:14px system-ui;padding:2px 4px"><b>@shape</b><br>@said</div>'
        )

    def patch(self, found: Evidence | None) -> None:
        """Draw the cases without a mask, once for a recording."""
        if found is self._drawn:
            return
        self._drawn = found
        words = self._words
        cases = [case for case in (found.cases if found else ()) if not case.row.causal]
        groups = {
            "one": [c for c in cases if c.problem.heads == 1 and not _apart(c)],
            "many": [c for c in cases if c.problem.heads > 1 and not _apart(c)],
            "apart": [c for c in cases if _apart(c)],
        }
        for group, members in groups.items():
            self.sources[group].data = {
                "x": [float(c.head_bytes) for c in members],
                "y": [c.passes for c in members],
                "shape": [machine_bytes.shape(c, words) for c in members],
                "said": [
                    words["passes_said"].format(
                        counted=units.number(c.passes),
                        alone=c.waves_alone,
                        shared=units.number(c.waves_shared),
                        resident=c.resident,
                    )
                    for c in members
                ],
            }
        models = {(float(c.head_bytes), self._model(c)) for c in cases}
        self._models.data = {
            "x": [x for x, _ in models],
            "y": [y for _, y in models],
            "shape": [""] * len(models),
            "said": [""] * len(models),
        }
        sizes = [float(c.head_bytes) for c in cases] or [3e6, 3e8]
        low, high = min(sizes) / 1.7, max(sizes) * 1.7
        self.fig.x_range.update(start=low, end=high)
        most = max([c.passes for c in cases] + [16.0])
        self.fig.y_range.update(start=0.8, end=most * 3.4)
        figures.ticks(self.fig.yaxis[0], [2.0**k for k in range(12) if 2**k <= most * 1.1], units.number)
        figures.ticks(
            self.fig.xaxis[0],
            [v for v in (1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9) if low <= v <= high],
            figures.round_text(units.bytes_),
        )
        l2 = found.recording.device.get("l2_bytes", 6e7) if found else 6e7
        first, last = COMPULSORY_UP_TO * l2, WAVES_FROM * l2
        self._edges[0].location, self._edges[1].location = first, last
        top = most * 3.4
        self._once.update(x=first, y=top, x_offset=-8, y_offset=-24)
        self._edge.update(x=(first * last) ** 0.5, y=top, y_offset=-46)
        self._waves.update(x=last, y=top, x_offset=8, y_offset=-24)

    @staticmethod
    def _model(case: Counted) -> float:
        return 1.0 if case.level("DRAM").model == "compulsory" else case.waves_shared
