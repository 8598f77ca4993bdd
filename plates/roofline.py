"""Plate `roofline`: how long a layer takes at best, what it waits for, and where it stands under a GPU's roof."""

from __future__ import annotations

import html
from dataclasses import replace

import param

from plates import controls, provenance, text
from plates.blocks import Blocks
from plates.plate import Plate
from plates.roles import MODEL as ROLE
from plates.roof_chart import RoofChart
from plates.roof_points import RoofPoints
from plates.time_bars import Lane, bars
from plates.traffic import short
from workshop import formulas, roofline, traffic, units
from workshop.hardware import GPUS, SUSTAINED
from workshop.kernels.identify import known_gpu
from workshop.recordings import nearest, points
from workshop.recordings.curves import ceilings

ALWAYS = ("standard", "bound")
NAMES = 50  # times the intensity of a recorded run, where its name has a place
MORE = tuple(model for model in traffic.MODELS if model not in ALWAYS)


class Shown(param.Parameterized):
    """Which models are shown besides standard and bound."""

    measured = param.Boolean(False, doc="Recorded runs on the roofline.")
    time_models = param.ListSelector(default=[], objects=list(MORE), doc="Further models on both pictures.")


class Roofline(Plate):
    """Time of a layer by the roofline, and the roofline itself."""

    slug = "roofline"
    name = "Roofline"
    uses = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal", "gpu"})
    controls = uses - {"Bc"}  # its part is small: what a tile spills, in the ladder and in answers
    scope = (
        "Forward pass, one layer, a lower bound of a model on data-sheet rates; nothing here was measured."
    )
    minutes = (4, 0)
    local_keys = ("time_models", "measured")

    def own_state(self) -> Shown:
        return Shown()

    # Numbers --------------------------------------------------------------------------------------------

    def facts(self) -> dict:
        s = self.settings
        problem, tile, gpu = s.problem, s.tile, s.gpu_record
        words = text.labels(self.slug, s.lang)
        times = {model: roofline.time(model, problem, tile, gpu) for model in traffic.MODELS}
        standard, bound = times["standard"], times["bound"]
        low, high = SUSTAINED
        sustained = {
            share: roofline.time("standard", problem, tile, roofline.sustained(gpu, share)).lower
            for share in SUSTAINED
        }
        facts = {
            "N": units.count(s.N),
            "d": s.d,
            "heads": units.count(problem.heads),
            "gpu": gpu.name,
            "dtype": s.dtype,
            "Br": units.count(s.Br),
            "peak": units.rate_flops(gpu.rate(s.dtype).flops),
            "bandwidth": units.rate_bytes(gpu.bandwidth),
            "ridge": units.intensity(gpu.ridge(s.dtype)),
            "rate_note": self.said(gpu.rate(s.dtype).note or ""),
            "ratio": units.ratio(standard.lower / bound.lower),
            "byte_ratio": units.ratio(standard.bytes / bound.bytes),
            "work": units.flops(bound.flops),
            "work_standard": units.flops(standard.flops),
            "low": f"{round(low * 100)} %",
            "high": f"{round(high * 100)} %",
            **self._copied(),
            "sustained_short": units.seconds(sustained[high]),
            "sustained_long": units.seconds(sustained[low]),
            "gpu_notes": " ".join(map(self.said, gpu.notes)),
            "verdict": words[f"verdict_{standard.binding}_{bound.binding}"],
            "_": (problem, tile, gpu, times, words),
        }
        for model, time in times.items():
            facts[model] = units.seconds(time.lower)
            facts[f"{model}_sum"] = units.seconds(time.upper)
            facts[f"{model}_work"] = units.seconds(time.compute_s)
            facts[f"{model}_bytes"] = units.seconds(time.memory_s)
            facts[f"{model}_intensity"] = units.intensity(time.intensity)
            facts[f"{model}_waits"] = words[f"waits_{time.binding}"]
        facts["verdict"] = facts["verdict"].format(**text.unbroken(facts))
        same = standard.flops == bound.flops
        facts["work_note"] = words["same_work" if same else "less_work"].format(**text.unbroken(facts))
        facts["bars_text"] = words["bars_text"].format(**facts)
        facts["roof_text"] = words["roof_text"].format(**facts)
        recorded = self._recorded() if self.local.measured else {}
        facts["recorded"] = recorded
        facts["blocks"] = Blocks(
            lambda: {
                "measured": self._measured(recorded, words),
                "verdict": f'<p class="verdict">{facts["verdict"]}</p>',
                "bars": bars([self._lane(model, times, facts, words) for model in self._shown()]),
                "formulas": self._formulas(),
                "models": self._models(times, words),
                "gpus_table": self._gpus(problem, tile, words),
            }
        )
        return facts

    def _shown(self) -> list[str]:
        return [m for m in traffic.MODELS if m in ALWAYS or m in self.local.time_models]

    @staticmethod
    def _copied() -> dict:
        """The recorded machine, and the share of its data sheet's bandwidth that its own long copy reached; or ""."""
        found = provenance.evidence()
        copy = ceilings(found.recording).copy if found else None
        slug = known_gpu(copy.gpu) if copy else None
        if slug is None:
            return {"copy_gpu": "", "copy_share": ""}
        return {"copy_gpu": copy.gpu, "copy_share": units.percent(copy.p50 / GPUS[slug].bandwidth)}

    def _recorded(self) -> dict[str, points.Point]:
        s, found = self.settings, provenance.evidence()
        return points.points(found, N=s.N, d=s.d, causal=s.causal, dtype=s.dtype) if found else {}

    def _measured(self, recorded: dict[str, points.Point], words: dict) -> str:
        """What the recorded marks are, where from, and how they differ from what the reader chose; "" without."""
        if not self.local.measured:
            return ""
        if not recorded:
            return f'<p class="what">{words["measured_none"]}</p>'
        found, said = provenance.evidence().recording, text.labels("machine", self.settings.lang)
        rows = [point.row for point in recorded.values()]
        s, first = self.settings, rows[0]
        wanted = {"N": s.N, "d": s.d, "heads": s.problem.heads, "dtype": s.dtype}
        note = provenance.nearest_note(nearest.differences(first, wanted), said)
        roof = self._roof_of_marks(recorded)
        if roof:
            note += " " + words["measured_format"].format(
                got=roof, asked=s.dtype, peak=units.rate_flops(s.gpu_record.rate(roof).flops)
            )
        elsewhere = known_gpu(first.gpu)
        if elsewhere and elsewhere != s.gpu:
            note += " " + words["measured_elsewhere"].format(
                gpu=first.gpu, roof=s.gpu_record.name, slug=elsewhere
            )
        cases = set(map(id, rows))
        used = replace(found, rows=tuple(row for row in found.rows if id(row) in cases))
        shown = provenance.line(used, ("time", "dram-read"), said)
        return f'<p class="what">{text.kind("recorded", lang=words.lang)} {words["measured_note"]} {note}</p>{shown}'

    def _roof_of_marks(self, recorded: dict[str, points.Point]) -> str | None:
        """The number format of the recorded runs where its roof is not the one that the reader chose."""
        gpu, chosen = self.settings.gpu_record, self.settings.dtype
        formats = {point.row.dtype for point in recorded.values()}
        return next((one for one in formats if gpu.rate(one).flops != gpu.rate(chosen).flops), None)

    def readouts(self, facts: dict) -> list[text.Readout]:
        *_, times, words = facts["_"]

        def time(model: str, role: str) -> text.Readout:
            shown = words[f"readout_{model}"].format(Br=facts["Br"])
            return text.Readout(f"time-{model}", times[model].lower, facts[model], shown, role)

        ratio = times["standard"].lower / times["bound"].lower
        return [
            time("standard", "standard"),
            time("bound", "flash"),
            text.Readout("time-ratio", ratio, facts["ratio"], words["readout_ratio"]),
            time("tiled", ROLE["tiled"]),
        ]

    def _lane(self, model: str, times: dict, facts: dict, words: dict) -> Lane:
        names = {"least": facts[model], "most": facts[f"{model}_sum"], "waits": facts[f"{model}_waits"]}
        return Lane(
            name=short(self.settings.lang)[model],
            role=ROLE[model],
            time=times[model],
            summary=words["lane"].format(**names),
            work=words["bar_work"].format(time=facts[f"{model}_work"]),
            bytes=words["bar_bytes"].format(time=facts[f"{model}_bytes"]),
        )

    def _formulas(self) -> str:
        shown = (("time-standard", "standard"), ("time-bound", "flash"), ("ridge", "ink"))
        return "".join(self.formula(formulas.FORMULAS[slug], role) for slug, role in shown)

    def _models(self, times: dict, words: dict) -> str:
        named = short(self.settings.lang)
        columns = [("model", False), ("work", True), ("bytes", True), ("intensity", True)]
        columns += [("compute", True), ("memory", True), ("least", True), ("most", True), ("waits", False)]
        rows = []
        for model, time in times.items():
            rows.append(
                [
                    f'<b style="color:var(--{ROLE[model]});white-space:nowrap">{named[model]}</b>',
                    units.flops(time.flops),
                    units.bytes_(time.bytes),
                    units.intensity(time.intensity),
                    units.seconds(time.compute_s),
                    units.seconds(time.memory_s),
                    units.seconds(time.lower),
                    units.seconds(time.upper),
                    words[f"waits_{time.binding}"],
                ]
            )
        return text.table([(words[f"column_{name}"], number) for name, number in columns], rows)

    def _gpus(self, problem, tile, words: dict) -> str:
        columns = [("gpu", False), ("bandwidth", True), ("peak", True), ("ridge", True)]
        columns += [("standard", True), ("bound", True), ("ratio", True), ("source", False)]
        shown = dict(GPUS)
        if self.settings.gpu == "custom":
            shown["custom"] = self.settings.gpu_record
        rows = []
        for slug, gpu in shown.items():
            standard, bound = (roofline.time(model, problem, tile, gpu) for model in ALWAYS)
            rate = gpu.rate(problem.dtype)
            aside = "" if rate.note is None else f" <small>({rate.dtype})</small>"
            rows.append(
                [
                    f'<a href="?gpu={slug}" style="white-space:nowrap">{gpu.name}</a>',
                    units.rate_bytes(gpu.bandwidth),
                    units.rate_flops(rate.flops) + aside,
                    units.intensity(gpu.ridge(problem.dtype)),
                    units.seconds(standard.lower),
                    units.seconds(bound.lower),
                    units.ratio(standard.lower / bound.lower),
                    f"<small>{html.escape(self.said(gpu.sources[0]))}</small>",
                ]
            )
        chosen = list(shown).index(self.settings.gpu)
        table = text.table(
            [(words[f"column_{name}"], number) for name, number in columns], rows, chosen=chosen
        )
        items = "".join(
            f"<li><b>{gpu.name}</b>: {html.escape(self.said('; '.join(gpu.sources) + '.'))} "
            f"{html.escape(' '.join(map(self.said, gpu.notes)))}</li>"
            for gpu in shown.values()
        )
        return f"{table}<details><summary>{words['gpu_sources']}</summary><ul>{items}</ul></details>"

    # Pictures -------------------------------------------------------------------------------------------

    def body(self):
        named = short(self.settings.lang)
        yield self._styled("verdict")
        yield controls.toggles(self.local, "time_models", self.words("also"), {named[m]: m for m in MORE})
        yield self.figure(self._styled("bars"), "timefigure", "model", description="bars_text")
        yield self.prose("why")
        words = text.labels(self.slug, self.settings.lang)
        self._chart = RoofChart(self.themed, words, named, ROLE)
        self._points = RoofPoints(self.themed, self._chart.fig, self.settings.lang)
        yield controls.switch(self.local, "measured", words["measured"])
        yield self.figure(self._chart.fig, "rooffigure", "model", description="roof_text")
        measured = self.block("measured")
        measured.stylesheets = [*measured.stylesheets, text.static("machine.css")]
        yield measured
        yield self.prose("reading")
        yield self.block("formulas")
        yield self.prose("convention")
        yield self.block("models")
        yield self.prose("gpus")
        yield self.block("gpus_table")
        yield self.prose("honest")

    def _styled(self, name: str):
        pane = self.block(name)
        pane.stylesheets = [*pane.stylesheets, text.static("bars.css")]
        return pane

    def patch(self, facts: dict) -> None:
        _, _, gpu, times, words = facts["_"]
        self._write(["verdict", "bars"])
        shown = {model: times[model] for model in self._shown()}
        waits = {model: words[f"waits_{time.binding}"] for model, time in shown.items()}
        marks = [(p.intensity * side, p.rate) for p in facts["recorded"].values() for side in (1, NAMES)]
        other = self._roof_of_marks(facts["recorded"])
        if other:
            marks.append((gpu.ridge(other), gpu.rate(other).flops))
        self._chart.patch(gpu, self.settings.dtype, shown, waits, marks, other)
        apart = bool(other) and gpu.rate(other).flops > gpu.rate(self.settings.dtype).flops
        self._points.patch(facts["recorded"], self._chart.below_names, apart)
