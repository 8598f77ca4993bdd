"""Plate `wall`: standard attention's trips between memory and chip, one by one, and what they are measured against."""

from __future__ import annotations

import numpy as np
import param
from bokeh.models import ColumnDataSource

from plates import controls, figures, text
from plates.plate import Plate
from plates.trips import Trips, picture
from plates.wall_levels import levels
from workshop import hierarchy, round_trips, units
from workshop.hardware import GPU
from workshop.problem import LIMITS, Problem

TUB_LITRES = 150  # a bathtub, for the kitchen
_FIRST, _LAST = 64, LIMITS["N"][1]
_MARKS = (("one", 1), ("node", round_trips.NODE_GPUS))


class Passes(param.Parameterized):
    """Which passes run as kernels of their own, besides the three of the textbook."""

    passes = param.ListSelector(
        default=[], objects=list(round_trips.OPTIONAL), doc="Extra passes over N x N."
    )


class Wall(Plate):
    """The first page: eight trips, four of them with a matrix that nobody asked for."""

    slug = "wall"
    name = "Wall"
    uses = frozenset({"N", "d", "H", "B", "dtype", "gpu", "bandwidth", "tflops", "step"})
    controls = frozenset({"N", "d", "H", "B", "dtype", "gpu"})
    scope = "Forward pass, one head unless a layer is named; exact counts of a model."
    minutes = (5, 2)
    local_keys = ("passes",)

    def own_state(self) -> Passes:
        return Passes()

    # Numbers --------------------------------------------------------------------------------------------

    def _found(self) -> tuple[round_trips.Pass, ...]:
        on = {f"{name}_pass": name in self.local.passes for name in round_trips.OPTIONAL}
        return round_trips.passes(self.settings.problem, **on)

    def facts(self) -> dict:
        s = self.settings
        problem, gpu, words = s.problem, s.gpu_record, text.labels(self.slug, s.lang)
        found = self._found()
        every, so_far = round_trips.trips(found), round_trips.running(found)
        squares = [t for t in every if t.square]
        one_score = problem.N**2 * problem.element_bytes
        strip = problem.N * problem.d * problem.element_bytes
        found_levels = {level.slug: level for level in hierarchy.levels(gpu)}
        shared = found_levels["shared"]
        fits = {name: round_trips.longest(gpu.memory * count, problem) for name, count in _MARKS}
        slowest = max(found, key=lambda item: item.memory_s(gpu))
        waits = [item for item in found if item.intensity < item.ridge(gpu, problem.dtype)]
        softmax = next(item for item in found if item.slug == "softmax")
        facts = {
            "N": units.count(problem.N),
            "d": problem.d,
            "heads": units.count(problem.heads),
            "gpu": gpu.name,
            "dtype": problem.dtype,
            "trips": len(every),
            "squares": len(squares),
            "total": units.bytes_(so_far[-1]),
            "square_total": units.bytes_(sum(t.bytes for t in squares)),
            "share": units.percent(round_trips.score_share(found)),
            "layer_total": units.bytes_(so_far[-1] * problem.heads),
            "score": units.bytes_(problem.score_bytes),
            "one_score": units.bytes_(one_score),
            "one_score_binary": units.binary(one_score),
            "one_score_exact": units.exact_bytes(one_score),
            "output": units.bytes_(strip),
            "answer_ratio": units.ratio(so_far[-1] / strip),
            "square_ratio": units.ratio(problem.N / problem.d),
            "bandwidth": units.rate_bytes(gpu.bandwidth),
            "peak": units.rate_flops(gpu.rate(problem.dtype).flops),
            "vector_peak": units.rate_flops(gpu.rate("fp32").flops),
            "ridge": units.intensity(gpu.ridge(problem.dtype)),
            "ridge_whole": units.count(round(gpu.ridge(problem.dtype))),
            "product_intensity": units.intensity(found[0].intensity),
            "softmax_intensity": units.intensity(softmax.intensity),
            "softmax_ridge": units.intensity(softmax.ridge(gpu, problem.dtype)),
            "softmax_verdict": words["softmax_below" if softmax in waits else "softmax_above"],
            "slowest": self.said(slowest.does),
            "waiting": len(waits),
            "passes": len(found),
            "rate_note": self.said(gpu.rate(problem.dtype).note or ""),
            "memory": units.bytes_(gpu.memory),
            "memory_binary": units.binary(gpu.memory),
            "node": units.bytes_(gpu.memory * round_trips.NODE_GPUS),
            "node_gpus": round_trips.NODE_GPUS,
            "N_one": units.count(fits["one"]),
            "N_node": units.count(fits["node"]),
            "sms": units.count(shared.pieces),
            "sm_kib": units.binary(shared.each),
            "chip_mib": units.binary(shared.total),
            "registers_mib": units.binary(found_levels["registers"].total),
            "registers_verb": words[
                "hold_more" if found_levels["registers"].total > shared.total else "hold_no_more"
            ],
            "node_gain": units.ratio(fits["node"] / max(1, fits["one"])),
            "over_sm": units.ratio(one_score / shared.each),
            "over_chip": units.ratio(one_score / shared.total),
            "chip_verb": words["chip_fits" if one_score <= shared.total else "chip_over"],
            # the kitchen: one multiprocessor's shared memory is a litre
            "litres_strip": units.number(strip / shared.each),
            "litres_score": units.number(one_score / shared.each),
            "litres_chip": units.number(shared.pieces),
            "litres_moved": units.number(so_far[-1] / shared.each),
            "tubs": units.number(one_score / shared.each / TUB_LITRES, 2),
            "tub": TUB_LITRES,
            "_": (problem, gpu, found, so_far, fits, words),
        }
        facts["description"] = picture(found, problem, gpu, words, self.said)["spoken"]
        facts["intensity_text"] = "; ".join(
            words["spoken_intensity"].format(
                step=self.said(p.does),
                intensity=units.intensity(p.intensity),
                ridge=units.intensity(p.ridge(gpu, problem.dtype)),
            )
            for p in found
        )
        facts["sizes_text"] = words["spoken_sizes"].format(**facts)
        facts["blocks"] = {
            "intensity": self._intensities(found, problem, gpu, words),
            "hierarchy": levels(gpu, words, self.said),
        }
        return facts

    def readouts(self, facts: dict) -> list[text.Readout]:
        problem, _, found, so_far, _, words = facts["_"]
        share = round_trips.score_share(found)
        return [
            text.Readout("trips-bytes", so_far[-1], facts["total"], words["readout_total"], "standard"),
            text.Readout("score-share", share, facts["share"], words["readout_share"], "standard"),
            text.Readout(
                "output-bytes", found[-1].trips[-1].bytes, facts["output"], words["readout_output"], "hbm"
            ),
            text.Readout(
                "score-bytes",
                problem.score_bytes,
                facts["score"],
                words["readout_score"].format(heads=facts["heads"]),
            ),
        ]

    def _intensities(self, found, problem: Problem, gpu: GPU, words: dict) -> str:
        columns = [("pass", False), ("work", True), ("bytes", True), ("intensity", True), ("ridge", True)]
        columns += [("compute", True), ("memory", True), ("verdict", False)]
        rows = []
        for item in found:
            compute, memory = item.compute_s(gpu, problem.dtype), item.memory_s(gpu)
            if memory > compute:
                verdict = words["waits_memory"].format(ratio=units.ratio(memory / compute))
            else:
                verdict = words["waits_compute"].format(ratio=units.ratio(compute / memory))
            rows.append(
                [
                    f'<b style="white-space:nowrap">{self.said(item.does)}</b>',
                    units.flops(item.flops),
                    units.bytes_(item.bytes),
                    units.intensity(item.intensity),
                    units.intensity(item.ridge(gpu, problem.dtype)),
                    units.seconds(compute),
                    units.seconds(memory),
                    verdict,
                ]
            )
        return text.table([(words[f"column_{name}"], number) for name, number in columns], rows)

    # Pictures -------------------------------------------------------------------------------------------

    def body(self):
        words = text.labels(self.slug, self.settings.lang)
        self._trips = Trips(words=words, sizing_mode="stretch_width", margin=0)
        self._patching = False
        self._trips.param.watch(self._on_trip, "step")
        yield self.figure(self._trips, "figure", "model", description="description")
        yield controls.toggles(
            self.local,
            "passes",
            self.words("also"),
            {words[f"pass_{name}"]: name for name in round_trips.OPTIONAL},
        )
        yield self.prose("why")
        yield self.prose("waiting")
        yield self.figure(
            self._build_intensity(words), "intensityfigure", "model", description="intensity_text"
        )
        yield self.block("intensity")
        yield self.prose("places")
        places = self.block("hierarchy")
        places.stylesheets = [*places.stylesheets, text.static("wall_levels.css")]
        yield places
        yield self.prose("kitchen")
        yield self.prose("room")
        yield self.figure(self._build_sizes(words), "roomfigure", "model", description="sizes_text")

    def _on_trip(self, event) -> None:
        if not self._patching:
            last = len(round_trips.trips(self._found()))
            self.settings.step = None if event.new >= last else max(0, event.new)

    def _build_intensity(self, words: dict):
        themed = self.themed
        fig = figures.chart(
            themed, x=(0.1, 1e5), y=(0.4, 6.6), x_label=words["axis_intensity"], x_log=True, height=300,
            min_border_left=130,
        )  # fmt: skip
        figures.ticks(fig.xaxis[0], [0.1, 1, 10, 100, 1e3, 1e4], figures.round_text(units.number))
        fig.ygrid.visible = False
        themed.size(fig.yaxis[0], major_label_text_font_size=figures.BIG)
        themed.colour(fig.yaxis[0], major_label_text_color="ink")
        self._gaps = ColumnDataSource({"y": [], "at": [], "ridge": []})
        self._points = {"matrix": ColumnDataSource(), "vector": ColumnDataSource()}
        gap = fig.segment("at", "y", "ridge", "y", source=self._gaps, line_width=3, line_dash=[4, 3])
        themed.colour(gap.glyph, line_color="standard")
        ridge = fig.scatter(
            "ridge", "y", source=self._gaps, marker="dash", angle=np.pi / 2, size=30, line_width=4
        )
        themed.colour(ridge.glyph, line_color="chip")
        dots = fig.scatter("at", "y", source=self._gaps, size=15)
        themed.colour(dots.glyph, fill_color="standard", line_color="paper")
        self._intensity_labels = [
            figures.label(themed, fig, "", "ink", y_offset=10, text_align="center") for _ in range(6)
        ]
        self._ridge_labels = [
            figures.label(themed, fig, "", "chip", x_offset=10, bold=True, text_baseline="middle")
            for _ in range(6)
        ]
        self._intensity = fig
        return fig

    def _build_sizes(self, words: dict):
        themed = self.themed
        fig = figures.chart(
            themed, x=(_FIRST, _LAST), y=(1e3, 1e15), x_label=words["axis_N"], x_log=True, y_log=True, height=420,
        )  # fmt: skip
        figures.ticks(fig.xaxis[0], [64, 1024, 16384, 262144], units.count)
        figures.label_zone(fig, _LAST, 96)
        self._curve = ColumnDataSource({"N": [], "bytes": []})
        line = fig.line("N", "bytes", source=self._curve, line_width=3)
        themed.colour(line.glyph, line_color="standard")
        self._linear = ColumnDataSource({"N": [], "bytes": []})
        flat = fig.line("N", "bytes", source=self._linear, line_width=3)
        themed.colour(flat.glyph, line_color="hbm")
        self._capacity = {}
        for slug, role in (("chip", "chip"), ("one", "ink"), ("node", "ink")):
            rule = fig.segment([_FIRST], [1], [_LAST], [1], line_width=2, line_dash=[8, 4])
            themed.colour(rule.glyph, line_color=role)
            name = figures.label(themed, fig, "", role, x_offset=8, y_offset=4)
            self._capacity[slug] = (rule.data_source, name)
        self._meets = fig.scatter([], [], size=11, line_width=2)
        themed.colour(self._meets.glyph, fill_color="paper", line_color="ink")
        self._here = fig.scatter([], [], size=13)
        themed.colour(self._here.glyph, fill_color="standard", line_color="paper")
        self._here_label = figures.label(themed, fig, "", "standard", bold=True, y_offset=10)
        self._ends = [
            figures.label(themed, fig, words[name], role, bold=True, x_offset=8, text_baseline="middle")
            for name, role in (("line_scores", "standard"), ("line_output", "hbm"))
        ]
        self._sizes = fig
        return fig

    def patch(self, facts: dict) -> None:
        problem, gpu, found, _, fits, words = facts["_"]
        data = picture(found, problem, gpu, words, self.said)
        last = len(data["trips"])
        step = last if self.settings.step is None else min(self.settings.step, last)
        self._patching = True
        if self._trips.data != data:
            self._trips.param.update(data=data, step=step)
        elif self._trips.step != step:
            self._trips.step = step
        self._patching = False
        self._patch_intensity(found, problem, gpu, words)
        self._patch_sizes(problem, gpu, fits, facts, words)

    def _patch_intensity(self, found, problem: Problem, gpu: GPU, words: dict) -> None:
        rows = list(range(len(found), 0, -1))
        at = [item.intensity for item in found]
        ridges = [item.ridge(gpu, problem.dtype) for item in found]
        self._gaps.data = {"y": rows, "at": at, "ridge": ridges}
        self._intensity.y_range.end = len(found) + 0.8
        self._intensity.x_range.start = min(0.04, min(at) / 6)
        self._intensity.x_range.end = max(2e4, 20 * max(ridges), 20 * max(at))
        figures.ticks(self._intensity.yaxis[0], rows, [self.said(item.does) for item in found])
        for k, (label, ridge) in enumerate(zip(self._intensity_labels, self._ridge_labels, strict=True)):
            label.visible = ridge.visible = k < len(found)
            if k < len(found):
                label.update(x=at[k], y=rows[k], text=units.number(at[k]))
                ridge.update(x=max(ridges[k], at[k]), y=rows[k], text=units.number(ridges[k]))

    def _patch_sizes(self, problem: Problem, gpu: GPU, fits: dict, facts: dict, words: dict) -> None:
        first = min(_FIRST, problem.N)
        n = np.unique(np.geomspace(first, _LAST, 90).round())
        per = float(problem.heads * problem.element_bytes)
        square, output = n * n * per, n * problem.d * per
        self._curve.data = {"N": n, "bytes": square}
        self._linear.data = {"N": n, "bytes": output}
        chip = gpu.smem_sm * gpu.sms
        capacity = {"chip": chip, "one": gpu.memory, "node": gpu.memory * round_trips.NODE_GPUS}
        low, high = min(square[0], output[0], chip) / 4, max(square[-1], capacity["node"]) * 8
        fig = self._sizes
        fig.x_range.start = first
        fig.y_range.start, fig.y_range.end = low, high
        figures.ticks(fig.yaxis[0], figures.log_ticks(low, high), figures.round_text(units.bytes_))
        for slug, (source, label) in self._capacity.items():
            value = capacity[slug]
            source.data = {"x0": [first], "y0": [value], "x1": [_LAST], "y1": [value]}
            label.update(x=first, y=value, text=words[f"line_{slug}"].format(**facts))
        meets = [(fits[name], capacity[name]) for name, _ in _MARKS if first <= fits[name] <= _LAST]
        self._meets.data_source.data = {"x": [x for x, _ in meets], "y": [y for _, y in meets]}
        here = float(problem.score_bytes)
        self._here.data_source.data = {"x": [problem.N], "y": [here]}
        right = problem.N > 4096
        self._here_label.update(
            x=problem.N, y=here, text=facts["score"], text_align="right" if right else "left",
            x_offset=-10 if right else 10,
        )  # fmt: skip
        for label, y in zip(self._ends, (square[-1], output[-1]), strict=True):
            label.update(x=_LAST, y=y)
