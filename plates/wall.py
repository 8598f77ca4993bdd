"""Plate `wall`: standard attention's trips between memory and chip, one by one, and what they are measured against."""

from __future__ import annotations

import param

from plates import controls, stream, text
from plates.agreement import Agreement
from plates.blocks import Blocks
from plates.drawn import sent
from plates.plate import Plate
from plates.trips import Trips, picture, share, squares
from plates.wall_figures import MARKS, Intensity, Sizes
from plates.wall_levels import levels
from workshop import hierarchy, round_trips, units
from workshop.hardware import GPU
from workshop.problem import Problem
from workshop.stream import Stream

TUB_LITRES = 150  # a bathtub, for the kitchen


class Passes(param.Parameterized):
    """Which passes run as kernels of their own, besides the three of the textbook."""

    passes = param.ListSelector(
        default=[], objects=list(round_trips.OPTIONAL), doc="Extra passes over N x N."
    )


class Wall(Plate):
    """The first page: eight trips, four of them with a matrix that nobody asked for."""

    slug = "wall"
    name = "Wall"
    controls = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu"})
    uses = controls | {"step"}
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
        square_trips = [t for t in every if t.square]
        one_score = problem.N**2 * problem.element_bytes
        strip = problem.N * problem.d * problem.element_bytes
        found_levels = {level.slug: level for level in hierarchy.levels(gpu)}
        shared = found_levels["shared"]
        fits = {name: round_trips.longest(gpu.memory * count, problem) for name, count in MARKS}
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
            "squares": len(square_trips),
            "dropout": "dropout" in self.local.passes,
            "total": units.bytes_(so_far[-1]),
            "square_total": units.bytes_(sum(t.bytes for t in square_trips)),
            "share": share(found, words),
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
            "Br": units.count(s.Br),
            "causal": s.causal,
            "_": (problem, gpu, found, so_far, fits, words),
        }
        flow = stream.picture(Stream(problem, s.tile), so_far, gpu, words, self.said)
        facts["picture"] = {**picture(found, problem, gpu, words, self.said), "stream": flow}
        facts["description"] = words["stream_both"].format(
            first=facts["picture"]["spoken"], second=flow["spoken"]
        )
        facts["stream_passes"] = flow["passes"]
        facts["spills"] = flow["over"]
        facts["intensity_text"] = "; ".join(
            words["spoken_intensity"].format(
                step=self.said(p.does),
                intensity=units.intensity(p.intensity),
                ridge=units.intensity(p.ridge(gpu, problem.dtype)),
            )
            for p in found
        )
        facts["sizes_text"] = words["spoken_sizes"].format(**facts)
        facts["blocks"] = Blocks(
            lambda: {
                "intensity": self._intensities(found, problem, gpu, words),
                "hierarchy": levels(gpu, words, self.said),
            }
        )
        return facts

    def readouts(self, facts: dict) -> list[text.Readout]:
        problem, _, found, so_far, _, words = facts["_"]
        return [
            text.Readout("trips-bytes", so_far[-1], facts["total"], words["readout_total"], "standard"),
            text.Readout(
                "score-share",
                round_trips.score_share(found),
                facts["share"],
                words["readout_share"].format(squares=squares(found, words)),
                "standard",
            ),
            text.Readout(
                "output-bytes", found[-1].trips[-1].bytes, facts["output"], words["readout_output"], "hbm"
            ),
            text.Readout(
                "score-bytes",
                problem.score_bytes,
                facts["score"],
                words["readout_score"].format(heads=facts["heads"]),
                "standard",
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
        self._agreement = Agreement((self._trips, ("step",)))
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
        self._intensity = Intensity(self.themed, words)
        yield self.figure(self._intensity.fig, "intensityfigure", "model", description="intensity_text")
        yield self.block("intensity")
        yield self.prose("places")
        yield self.styled("hierarchy", "wall_levels.css")
        yield self.prose("kitchen")
        yield self.prose("room")
        self._sizes = Sizes(self.themed, words)
        yield self.figure(self._sizes.fig, "roomfigure", "model", description="sizes_text")

    def last_step(self) -> int:
        return len(self.facts()["picture"]["stream"]["steps"]) - 1

    def _on_trip(self, event) -> None:
        if not self._patching:
            self._agreement.heard()
            last = len(self._latest["picture"]["stream"]["steps"]) - 1
            self.settings.step = None if event.new >= last else max(0, event.new)

    def patch(self, facts: dict) -> None:
        problem, gpu, found, _, fits, _ = facts["_"]
        data = facts["picture"]
        drawn = sent(data)
        last = len(data["stream"]["steps"]) - 1
        step = last if self.settings.step is None else min(self.settings.step, last)
        self._patching = True
        if self._trips.data != drawn:
            self._trips.param.update(data=drawn, step=step)
        elif self._trips.step != step:
            self._agreement.told()
            self._trips.step = step
        self._patching = False
        self._intensity.patch(found, problem, gpu, self.said)
        self._sizes.patch(problem, gpu, fits, facts)
