"""Plate `traffic`: HBM traffic of a head against N, six models on one axis, and why they differ."""

from __future__ import annotations

import numpy as np
import param
from bokeh.models import ColumnDataSource

from plates import controls, figures, ladder, text
from plates.blocks import Blocks
from plates.plate import Plate
from plates.roles import MODEL as ROLE
from workshop import break_even, formulas, traffic, units
from workshop.problem import LIMITS

DASH = {"tiled": [10, 4], "algorithm_1": [4, 3], "compulsory": [2, 4], "waves": [12, 4, 2, 4]}
FIRST = 64  # the axis starts here unless the reader's N is shorter
_LAST = LIMITS["N"][1]
_HEIGHT = 440


def short(lang: str) -> dict[str, str]:
    """The names of the models on curves, buttons and in tables."""
    words = text.labels("traffic", lang)
    return {model: words[model] for model in traffic.MODELS}


def _record(model: str) -> formulas.Formula:
    return formulas.FORMULAS[f"traffic-{model.replace('_', '-')}"]


class Shown(param.Parameterized):
    """Which models the chart shows besides standard and bound."""

    models = param.ListSelector(
        default=[],
        objects=["tiled", "algorithm_1", "compulsory", "waves"],
        doc="Further models on the chart.",
    )


class Traffic(Plate):
    """Traffic per head against N; standard and bound first, the others one click away."""

    slug = "traffic"
    name = "Traffic"
    uses = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu"})
    controls = uses - {"Bc"}  # its part is small: what a tile spills, in the ladder and in answers
    scope = "Forward pass, one head, exact element counts of a model; nothing here was measured."
    minutes = (5, 2)
    local_keys = ("models",)

    def own_state(self) -> Shown:
        return Shown()

    # Numbers --------------------------------------------------------------------------------------------

    def facts(self) -> dict:
        s = self.settings
        words = text.labels("traffic", s.lang)
        problem, tile, gpu = s.problem, s.tile, s.gpu_record
        ledgers = {m: traffic.ledger(m, problem, tile, gpu) for m in traffic.MODELS}
        totals = {m: ledger.total for m, ledger in ledgers.items()}
        moved = {m: total * problem.element_bytes for m, total in totals.items()}
        ratio = {m: totals["standard"] / totals[m] for m in traffic.MODELS}
        widest = max(ratio.values()) / min(ratio.values())
        least = break_even.bound_M(s.d)
        tiled_Br = break_even.tiled_Br(problem, tile)
        gain = break_even.gain_limit("bound", problem, tile)
        facts = {
            "N": units.count(s.N),
            "d": s.d,
            "heads": units.count(problem.heads),
            "dtype": s.dtype,
            "Br": units.count(s.Br),
            "causal": s.causal,
            "M": units.count(tile.M(problem)),
            "M_kib": units.binary(tile.M_bytes),
            "widest": units.ratio(widest),
            "score": units.bytes_(problem.score_bytes),
            "one_score": units.bytes_(problem.N**2 * problem.element_bytes),
            "half_d": units.number(s.d / 2),
            "break_M": words["elements_of"].format(n=units.count(least)),
            "break_M_bytes": units.binary(least * problem.element_bytes),
            "tiled_Br": words["never_passes"] if tiled_Br is None else f"Br = {units.count(tiled_Br)}",
            "limit": units.ratio(float(gain)),
            "wins": words["fewer_bytes" if ratio["bound"] >= 1 else "more_bytes"],
            "_": (problem, tile, gpu, ledgers, totals, moved, ratio),
        }
        for model in traffic.MODELS:
            facts[model] = units.bytes_(moved[model])
            facts[f"{model}_ratio"] = units.ratio(ratio[model])
        facts["description"] = words["spoken"].format(**facts)
        facts["blocks"] = Blocks(
            lambda: {
                "ladder": ladder.html(problem, tile, gpu, "bound", s.lang),
                "formulas": self._formulas(),
                "answers": self._answers(totals, moved, ratio),
                "ledgers": self._ledgers(ledgers, problem),
            }
        )
        return facts

    def readouts(self, facts: dict) -> list[text.Readout]:
        problem, _, _, _, _, moved, ratio = facts["_"]
        words = text.labels("traffic", self.settings.lang)
        heads = words["readout_score" if problem.heads > 1 else "readout_score_one"]
        return [
            text.Readout(
                "traffic-standard",
                moved["standard"],
                facts["standard"],
                words["readout_standard"],
                "standard",
            ),
            text.Readout("traffic-bound", moved["bound"], facts["bound"], words["readout_bound"], "flash"),
            text.Readout("traffic-ratio", ratio["bound"], facts["bound_ratio"], facts["wins"]),
            text.Readout(
                "score-bytes",
                problem.score_bytes,
                facts["score"],
                heads.format(heads=facts["heads"]),
                "standard",
            ),
        ]

    def _formulas(self) -> str:
        models = ("standard", "bound", *self.local.models)
        return "".join(self.formula(_record(model), ROLE[model]) for model in models)

    def _answers(self, totals: dict, moved: dict, ratio: dict) -> str:
        rows, named = [], short(self.settings.lang)
        for model in traffic.MODELS:
            cell = units.bytes_(moved[model])
            if model not in ("standard", "bound"):  # those two are readouts above; a name stands once a page
                cell = text.inline_readout(f"traffic-{model.replace('_', '-')}", moved[model], cell)
            rows.append(
                [
                    f'<b style="color:var(--{ROLE[model]});white-space:nowrap">{named[model]}</b>',
                    units.count(totals[model]),
                    cell,
                    units.ratio(ratio[model]),
                    self.said(_record(model).plain),
                ]
            )
        words = text.labels("traffic", self.settings.lang)
        names = ("model", "elements", "head", "ratio", "counts")
        return text.table([(words[f"column_{n}"], n not in ("model", "counts")) for n in names], rows)

    def _ledgers(self, ledgers: dict, problem) -> str:
        lang = self.settings.lang
        words, named = text.labels("traffic", lang), short(lang)
        return "".join(
            text.ledger(ledgers[m], problem.element_bytes, words["ledger"].format(model=named[m]), lang)
            for m in ("standard", "bound", *self.local.models)
        )

    # Pictures -------------------------------------------------------------------------------------------

    def body(self):
        themed, words = self.themed, text.labels("traffic", self.settings.lang)
        named = short(self.settings.lang)
        self._fig = fig = figures.chart(
            themed,
            x=(FIRST, _LAST),
            y=(1e4, 1e13),
            x_label=words["axis_N"],
            x_log=True,
            y_log=True,
            height=_HEIGHT,
        )
        figures.ticks(
            fig.xaxis[0],
            [64, 1024, 16384, 262144],
            units.count,
        )
        self._lines, self._labels, self._renderers = {}, {}, {}
        for model in traffic.MODELS:
            source = ColumnDataSource({"N": [], "bytes": [], "n": [], "b": []})
            line = fig.line(
                "N",
                "bytes",
                source=source,
                line_width=3,
                line_dash=DASH.get(model, "solid"),
                name=named[model],
            )
            themed.colour(line.glyph, line_color=ROLE[model])
            self._lines[model], self._renderers[model] = source, line
            self._labels[model] = figures.label(
                themed, fig, named[model], ROLE[model], bold=True, x_offset=8, text_baseline="middle"
            )
        figures.label_zone(fig, _LAST, self._labels.values())
        self._gap = ColumnDataSource({"x": [], "y0": [], "y1": []})
        rule = fig.segment("x", "y0", "x", "y1", source=self._gap, line_width=1.5)
        themed.colour(rule.glyph, line_color="ink")
        self._drop = ColumnDataSource({"x": [], "y0": [], "y1": []})
        drop = fig.segment("x", "y0", "x", "y1", source=self._drop, line_dash="dotted")
        themed.colour(drop.glyph, line_color="muted")
        self._dots = {}
        for model in traffic.MODELS:
            self._dots[model] = fig.scatter([], [], size=12, line_width=0)
            themed.colour(self._dots[model].glyph, fill_color=ROLE[model], line_color="paper")
        self._ratio = figures.label(
            themed,
            fig,
            "",
            "ink",
            bold=True,
            text_baseline="middle",
            text_font_size="18px",
        )
        figures.hover(
            fig,
            list(self._renderers.values()),
            '<div style="font:14px system-ui;padding:2px 4px"><b>$name</b><br>N = @n<br>'
            + words["hover_head"].format(bytes="@b")
            + "</div>",
            line_policy="nearest",
        )
        more = controls.toggles(
            self.local, "models", self.words("also"), {named[m]: m for m in Shown.param.models.objects}
        )
        yield more
        yield self.figure(fig, "figure", "model", description="description")
        yield self.styled("ladder", "ladder.css")
        yield self.block("formulas")
        yield self.prose("why")
        yield self.block("answers")
        yield self.prose("even")
        yield self.block("ledgers")

    def patch(self, facts: dict) -> None:
        problem, tile, gpu, _, _, moved, _ = facts["_"]
        first = min(FIRST, problem.N)
        n = np.unique(np.geomspace(first, _LAST, 140).round().astype(np.int64))
        shown = ("standard", "bound", *self.local.models)
        ends = {}
        for model in traffic.MODELS:
            visible = model in shown
            self._renderers[model].visible = self._dots[model].visible = self._labels[model].visible = visible
            if not visible:
                continue
            y = traffic.totals(model, problem, tile, gpu, N=n) * problem.element_bytes
            self._lines[model].data = {
                "N": n,
                "bytes": y.astype(float),
                "n": [units.count(v) for v in n],
                "b": [units.bytes_(int(v)) for v in y],
            }
            self._dots[model].data_source.data = {"x": [problem.N], "y": [moved[model]]}
            ends[model] = float(y[-1])
        low = 4 * first * problem.d * problem.element_bytes / 2
        high = 4 * _LAST**2 * problem.element_bytes * 4
        self._fig.x_range.start = figures.first_shown(first, problem.N)
        self._fig.y_range.start, self._fig.y_range.end = low, high
        figures.ticks(self._fig.yaxis[0], figures.log_ticks(low, high), figures.round_text(units.bytes_))
        decades = np.log10(high / low)
        placed = figures.spread([np.log10(v) for v in ends.values()], 20 * decades / (_HEIGHT - 70))
        for model, y in zip(ends, placed, strict=True):
            self._labels[model].update(x=_LAST, y=10**y)
        a, b = moved["standard"], moved["bound"]
        self._gap.data = {"x": [problem.N], "y0": [min(a, b)], "y1": [max(a, b)]}
        self._drop.data = {"x": [problem.N], "y0": [low], "y1": [min(a, b)]}
        # In the gap it measures, on the rule between the two dots. Where that is too short, or another model's dot is
        # in the way, above and left of the upper dot, where both curves fall away; near the left edge, on its right.
        pixel = decades / (_HEIGHT - 70)
        middle = (np.log10(float(a)) + np.log10(float(b))) / 2
        between = all(abs(np.log10(float(moved[m])) - middle) > 20 * pixel for m in shown)
        if between:
            place = {"y": float(10**middle), "text_align": "center", "x_offset": 0, "y_offset": 0}
        else:
            right = problem.N < first * 8
            place = {"y": float(max(a, b)), "text_align": "left" if right else "right"}
            place |= {"x_offset": 14 if right else -8, "y_offset": -26 if right else 16}
        self._ratio.update(x=problem.N, text=facts["bound_ratio"], **place)
