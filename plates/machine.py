"""Plate `machine`: what a real GPU said, put beside the models at every boundary, and the reader's own run."""

from __future__ import annotations

from dataclasses import dataclass

import panel_material_ui as pmui
import param

from plates import controls, machine_bytes, machine_time, provenance, text
from plates.machine_error import ErrorChart, Errors, errors, number
from plates.machine_run import RunPanel
from plates.machine_sweep import Expected, Sweeps, expected
from plates.plate import Plate
from workshop import units
from workshop.hardware import GPU, GPUS
from workshop.kernels.identify import known_gpu
from workshop.problem import Problem
from workshop.recordings import Recording
from workshop.recordings.boundaries import COMPULSORY_UP_TO, WAVES_FROM
from workshop.recordings.curves import rate
from workshop.recordings.evidence import Counted, Evidence, agrees
from workshop.recordings.nearest import differences, nearest
from workshop.recordings.sweep import Sweep, sweep, swept_heads

DIRECTIONS = {"forward": "forward", "both": "forward+backward"}
HEADS = 32  # of the recorded curves against N


class View(param.Parameterized):
    """Which pass the times and errors are of."""

    direction = param.Selector(
        default="forward", objects=list(DIRECTIONS), doc="Forward pass, or forward and backward."
    )


@dataclass(frozen=True)
class Seen:
    """What the plate shows for one state of the settings; None where the recording has nothing of the kind."""

    evidence: Evidence
    gpu: GPU
    case: Counted | None
    standard: tuple | None
    times: machine_time.Times
    sweep: Sweep | None
    expected: Expected | None
    errors: Errors | None


class Machine(Plate):
    """Model, recording and live run on one axis."""

    slug = "machine"
    name = "Machine"
    controls = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal"})
    uses = controls
    scope = "A real GPU, recorded with hardware counters and timers; models beside it, each labelled."
    minutes = (4, 0)
    local_keys = ("direction",)

    def own_state(self) -> View:
        return View()

    # Numbers --------------------------------------------------------------------------------------------

    def facts(self) -> dict:
        words = text.labels(self.slug, self.settings.lang)
        found = provenance.evidence()
        facts: dict = {"blocks": {}, "_": None, "words": words}
        if found is None or not found.recording.rows:
            return self._nothing(facts, words)
        seen = self._look(found)
        facts["_"] = seen
        self._fill_machine(facts, seen, words)
        self._fill_bytes(facts, seen, words)
        self._fill_times(facts, seen, words)
        self._fill_sweep(facts, seen, words)
        self._fill_errors(facts, seen, words)
        return facts

    def _wanted(self) -> dict:
        s = self.settings
        return {
            "N": s.N,
            "heads": s.problem.heads,
            "d": s.d,
            "causal": s.causal,
            "Br": s.Br,
            "Bc": s.Bc,
        }

    def _look(self, found: Evidence) -> Seen:
        s, recording, wanted = self.settings, found.recording, self._wanted()
        gpu = GPUS[known_gpu(recording.rows[0].gpu) or "h200-sxm"]
        row = nearest([case.row for case in found.cases], wanted)
        case = next((case for case in found.cases if case.row is row), None)
        direction = DIRECTIONS[self.local.direction]
        timed = recording.where(metric="time", direction=direction)
        curve = nearest(timed.rows, {"d": s.d})
        d = curve.d if curve else 128
        formats = timed.where(d=d).values("dtype")
        dtype = s.dtype if s.dtype in formats or not formats else formats[0]
        dtype = dtype if dtype in recording.values("dtype") else "bf16"
        problem = Problem(N=s.N, d=d, H=HEADS, B=1, dtype=dtype, causal=s.causal)
        heads = swept_heads(recording)
        swept = sweep(recording, min(heads, key=lambda value: (abs(value - s.d), value))) if heads else None
        shape = {name: wanted[name] for name in ("N", "d", "causal", "heads")}
        measured = recording.where(metric="error-max").values("dtype")
        return Seen(
            evidence=found,
            gpu=gpu,
            case=case,
            standard=found.standard(row) if case else None,
            times=machine_time.times(recording, problem, s.tile, gpu, direction),
            sweep=swept,
            expected=expected(swept, s.sram, gpu) if swept else None,
            errors=errors(
                recording, shape, dtype=s.dtype if s.dtype in measured else "bf16", direction=direction
            ),
        )

    def _nothing(self, facts: dict, words: dict) -> dict:
        names = (
            "machine",
            "lanes",
            "cases",
            "bytes_note",
            "bytes_from",
            "law_from",
            "times_table",
            "times_note",
        )
        names += ("times_from", "sweep_note", "sweep_from", "error_note", "error_from", "replay", "missing")
        facts["blocks"] = dict.fromkeys(names, "")
        facts["blocks"]["machine"] = f'<p class="verdict">{words["no_recording"]}</p>'
        blank = (
            "gpu",
            "l2",
            "sms",
            "matmul",
            "copy",
            "cases",
            "agree_l1",
            "agree_dram",
            "claimed",
            "worst_l1",
        )
        blank += ("broken", "waves_example", "edge_low", "edge_high", "bytes_text", "law_text", "passes_text")
        blank += (
            "rate_text",
            "seconds_text",
            "sweep_text",
            "error_text",
            "sweep_N",
            "sweep_d",
            "refused_count",
        )
        blank += (
            "spilled_count",
            "fastest",
            "fastest_rate",
            "fastest_spill",
            "d",
            "direction",
            "mask",
            "dtype",
        )
        return facts | dict.fromkeys(blank, words["unknown"]) | {"model_tag": ""}

    def _fill_machine(self, facts: dict, seen: Seen, words: dict) -> None:
        recording, own = seen.evidence.recording, seen.times.ceilings
        device = recording.device
        facts |= {
            "gpu": recording.rows[0].gpu,
            "l2": units.bytes_(device["l2_bytes"]) if "l2_bytes" in device else words["unknown"],
            "sms": device.get("sms", words["unknown"]),
            "matmul": units.rate_flops(own.matmul.p50) if own.matmul else words["unknown"],
            "copy": units.rate_bytes(own.copy.p50) if own.copy else words["unknown"],
            "direction": words[f"direction_{self.local.direction}"],
            "mask": words["mask_on" if self.settings.causal else "mask_off"],
            "d": seen.times.problem.d,
            "curve_heads": HEADS,
            "dtype": seen.times.problem.dtype,
        }
        facts["blocks"]["machine"] = ""
        facts["model_tag"] = text.kind("model")

    def _fill_bytes(self, facts: dict, seen: Seen, words: dict) -> None:
        cases, case = seen.evidence.cases, seen.case
        recording = seen.evidence.recording
        blocks = facts["blocks"]
        l1 = [c.level("L1") for c in cases]
        claimed = [c for c in cases if c.level("DRAM").claimed]
        good = [c for c in claimed if agrees(c.level("DRAM"))]
        bad = [c for c in claimed if not agrees(c.level("DRAM"))]
        several = [c for c in cases if c.problem.heads > 1 and c.level("DRAM").model == "waves"]
        example = max(
            (c for c in several if c.level("DRAM").claimed),
            key=lambda c: c.passes - c.waves_alone,
            default=None,
        )
        facts |= {
            "cases": len(cases),
            "agree_l1": sum(bool(agrees(level)) for level in l1),
            "worst_l1": machine_bytes.share(max((level.residual for level in l1), key=abs, default=0.0)),
            "agree_dram": len(good),
            "claimed": len(claimed),
            "unclaimed": len(cases) - len(claimed),
            "broken": self._broken(bad, words),
            "waves_example": self._several(example, words),
        }
        l2 = recording.device.get("l2_bytes", 0)
        facts["edge_low"] = units.bytes_(COMPULSORY_UP_TO * l2)
        facts["edge_high"] = units.bytes_(WAVES_FROM * l2)
        if case is None:
            blocks |= dict.fromkeys(("lanes", "cases", "bytes_from", "law_from", "missing"), "")
            blocks["bytes_note"] = f"<p>{words['no_counters']}</p>"
            facts |= dict.fromkeys(("bytes_text", "law_text", "passes_text"), words["no_counters"])
            return
        other = differences(case.row, self._wanted())
        if self.settings.dtype != case.row.dtype:
            other["dtype"] = (case.row.dtype, self.settings.dtype)
        note = provenance.nearest_note(other, words)
        link = f' <a href="{machine_bytes.link(case)}">{words["go_there"]}</a>' if other else ""
        blocks["bytes_note"] = f'<p class="what"><b>{machine_bytes.shape(case, words)}.</b> {note}{link}</p>'
        blocks["lanes"] = machine_bytes.lanes(case, seen.standard, words)
        blocks["cases"] = machine_bytes.table(seen.evidence, case, words)
        counters = ("l1-load", "l2", "dram-read", "dram-write")
        same = {name: getattr(case.row, name) for name in ("N", "heads", "d", "causal")}
        blocks["bytes_from"] = provenance.line(recording.where(metric=set(counters), **same), counters, words)
        every = recording.where(metric=set(counters), provider="teaching")
        blocks["law_from"] = provenance.line(every, (), words)
        missing = seen.evidence.missing
        items = "".join(f"<li>{one}</li>" for one in missing)
        blocks["missing"] = f"<p>{words['left_out']}</p><ul>{items}</ul>" if missing else ""
        levels = {level.level: level for level in case.levels}
        facts["bytes_text"] = words["bytes_text"].format(
            shape=machine_bytes.shape(case, words),
            l1=units.bytes_(levels["L1"].counted), l1_model=units.bytes_(levels["L1"].modelled),
            dram=units.bytes_(levels["DRAM"].counted), model=levels["DRAM"].model,
            dram_model=units.bytes_(levels["DRAM"].modelled),
        )  # fmt: skip
        facts["law_text"] = words["law_text"].format(**facts)
        facts["passes_text"] = words["passes_text"].format(**facts)

    @staticmethod
    def _broken(bad: list[Counted], words: dict) -> str:
        if not bad:
            return words["none_broken"]
        items = [
            words["one_broken"].format(
                shape=machine_bytes.shape(c, words), off=machine_bytes.off(c.level("DRAM").residual, words)
            )
            for c in bad
        ]
        return words["some_broken"].format(count=len(bad), cases="; ".join(items))

    @staticmethod
    def _several(case: Counted | None, words: dict) -> str:
        if case is None:
            return words["no_several"]
        return words["several"].format(
            shape=machine_bytes.shape(case, words), alone=case.waves_alone,
            counted=units.number(case.passes), shared=units.number(case.waves_shared),
        )  # fmt: skip

    def _fill_times(self, facts: dict, seen: Seen, words: dict) -> None:
        shown, blocks, s = seen.times, facts["blocks"], self.settings
        recording = seen.evidence.recording
        table, at = machine_time.table(shown, s.N, words)
        blocks["times_table"] = table
        changed = {"d": (shown.problem.d, s.d), "dtype": (shown.problem.dtype, s.dtype)}
        if at is not None:
            changed["N"] = (at, s.N)
            shape = words["times_at"].format(
                N=units.count(at), d=shown.problem.d, heads=self._heads_at(shown, at), dtype=shown.problem.dtype,
                mask=facts["mask"], direction=facts["direction"],
            )  # fmt: skip
            other = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
            blocks["times_note"] = (
                f'<p class="what"><b>{shape}</b> {provenance.nearest_note(other, words)}</p>'
            )
        else:
            blocks["times_note"] = ""
        metrics = ("time", "matmul-rate", "copy-bandwidth")
        rows = set(map(id, shown.rows))
        used = Recording(
            recording.name, tuple(r for r in recording.rows if id(r) in rows), recording.provenance
        )
        blocks["times_from"] = provenance.line(used, metrics, words)
        facts["_at"] = at
        said = [
            f"{words[f'provider_{p}']} {units.rate_flops(rate(c.at(at)))}"
            for p, c in shown.curves.items()
            if at is not None and c.at(at)
        ]
        listed = ", ".join(said) or words["no_times"]
        facts["rate_text"] = words["rate_text"].format(
            N=units.count(at or s.N), listed=listed, **self._some(facts)
        )
        facts["seconds_text"] = facts["rate_text"]
        blocks["replay"] = (
            f'<div class="replayed"><p>{text.kind("recorded")} {words["replay"].format(gpu=facts["gpu"])}</p>'
            f"<p>{listed}.</p></div>"
        )

    @staticmethod
    def _some(facts: dict) -> dict:
        return {name: facts[name] for name in ("matmul", "copy", "gpu")}

    @staticmethod
    def _heads_at(shown: machine_time.Times, at: int) -> int:
        return next(curve.at(at).heads for curve in shown.curves.values() if curve.at(at))

    def _fill_sweep(self, facts: dict, seen: Seen, words: dict) -> None:
        found, blocks = seen.sweep, facts["blocks"]
        if found is None:
            blocks |= {"sweep_note": f"<p>{words['no_sweep']}</p>", "sweep_from": ""}
            names = ("sweep_text", "sweep_N", "sweep_d", "refused_count", "spilled_count", "fastest")
            facts |= dict.fromkeys((*names, "fastest_rate", "fastest_spill"), words["unknown"])
            return
        row, best = found.shape, found.fastest
        refused = [c for c in found.cells.values() if c.best is None]
        spilled = [c for c in found.cells.values() if c.spills]
        facts |= {
            "sweep_N": units.count(row.N),
            "sweep_d": row.d,
            "refused_count": len(refused),
            "spilled_count": len(spilled),
            "tiles_count": len(found.cells),
            "fastest": f"{best.Br}×{best.Bc}",
            "fastest_rate": units.rate_flops(best.rate),
            "fastest_spill": words["best_spills" if best.spills else "best_clean"].format(
                spills=units.exact_bytes(best.spills or 0)
            ),
        }
        facts["sweep_text"] = words["sweep_text"].format(**{k: v for k, v in facts.items() if k != "words"})
        other = differences(row, {n: v for n, v in self._wanted().items() if n not in ("Br", "Bc")})
        shape = words["sweep_shape"].format(
            N=units.count(row.N), d=row.d, heads=row.heads, stages=found.stages
        )
        why = next((c.refused.sentence for c in refused if c.refused), "")
        why = (
            f" {words['refusal'].format(tile=f'{refused[0].Br}×{refused[0].Bc}', sentence=why)}"
            if why
            else ""
        )
        blocks["sweep_note"] = (
            f'<p class="what"><b>{shape}</b> {provenance.nearest_note(other, words)}{why}</p>'
        )
        metrics = ("time", "shared", "registers", "spills")
        used = seen.evidence.recording.where(
            metric=set(metrics), provider="teaching", N=row.N, d=row.d, causal=False, stages=found.stages
        )
        blocks["sweep_from"] = provenance.line(used, metrics, words)

    def _fill_errors(self, facts: dict, seen: Seen, words: dict) -> None:
        found, blocks = seen.errors, facts["blocks"]
        if found is None:
            blocks |= {"error_note": f"<p>{words['no_errors']}</p>", "error_from": ""}
            facts["error_text"] = words["no_errors"]
            return
        row = next(iter(found.rows.values()))
        s = self.settings
        wanted = {"N": s.N, "d": s.d, "causal": s.causal}
        other = differences(row, wanted)
        if row.dtype != s.dtype:
            other["dtype"] = (row.dtype, s.dtype)
        shape = words["error_shape"].format(
            N=units.count(row.N), d=row.d, heads=row.heads, dtype=row.dtype,
            mask=words["mask_on" if row.causal else "mask_off"], direction=facts["direction"],
        )  # fmt: skip
        judged = words["no_rule"]
        if found.limit:
            broken = ", ".join(words[f"provider_{p}"] for p in found.broken)
            judged = words["rule_broken"].format(names=broken) if broken else words["rule_kept"]
        blocks["error_note"] = (
            f'<p class="what"><b>{shape}</b> {judged} {provenance.nearest_note(other, words)}</p>'
        )
        listed = ", ".join(f"{words[f'provider_{p}']} {number(r.p50)}" for p, r in found.rows.items())
        facts["error_text"] = f"{shape} {listed}. {judged}"
        same = {name: getattr(row, name) for name in ("N", "d", "dtype", "causal", "direction")}
        used = seen.evidence.recording.where(metric="error-max", **same)
        blocks["error_from"] = provenance.line(used, ("error-max",), words)

    def readouts(self, facts: dict) -> list[text.Readout]:
        seen, words = facts["_"], facts["words"]
        out = []
        if seen is None:
            return out
        if seen.case is not None:
            for name, role in (("L1", "chip"), ("DRAM", "hbm")):
                level = seen.case.level(name)
                label = words[f"readout_{name}"].format(
                    model=level.model, counted=units.bytes_(level.counted)
                )
                off = machine_bytes.share(level.residual)
                out.append(text.Readout(f"residual-{name.lower()}", abs(level.residual), off, label, role))
        best = max(
            (curve.at(facts["_at"]) for curve in seen.times.curves.values() if curve.at(facts["_at"])),
            key=rate, default=None,
        )  # fmt: skip
        if best is not None:
            label = words["readout_best"].format(
                provider=words[f"provider_{best.provider}"], N=units.count(best.N)
            )
            out.append(text.Readout("tflops-best", rate(best), units.rate_flops(rate(best)), label, "flash"))
        matmul = seen.times.ceilings.matmul
        if matmul is not None:
            out.append(
                text.Readout("matmul-rate", matmul.p50, units.rate_flops(matmul.p50), words["readout_matmul"])
            )
        return out

    # Pictures -------------------------------------------------------------------------------------------

    def _styled(self, name: str):
        pane = self.block(name)
        pane.stylesheets = [*pane.stylesheets, text.static("machine.css")]
        return pane

    def body(self):
        words = text.labels(self.slug, self.settings.lang)
        yield self._styled("machine")
        yield self.prose("boundaries")
        yield self._picker(words)
        yield self._styled("bytes_note")
        yield self.figure(self._styled("lanes"), "lanesfigure", "recorded", description="bytes_text")
        yield self._styled("bytes_from")
        yield self.prose("law")
        self._law = machine_bytes.LawChart(self.themed, words)
        yield self.figure(self._law.fig, "lawfigure", "recorded", description="law_text")
        self._passes = machine_bytes.PassesChart(self.themed, words)
        yield self.figure(self._passes.fig, "passesfigure", "recorded", description="passes_text")
        yield self._styled("law_from")
        yield self.prose("limits")
        yield self.block("cases")
        yield self.block("missing")
        yield self.prose("time")
        yield controls.options(
            self.local, "direction", words["direction"], {words[f"direction_{v}"]: v for v in DIRECTIONS}
        )
        yield self._styled("times_note")
        self._rates = machine_time.RateChart(self.themed, words)
        yield self.figure(self._rates.fig, "ratefigure", "recorded", description="rate_text")
        yield self.block("times_table")
        self._seconds = machine_time.SecondsChart(self.themed, words)
        yield self.figure(self._seconds.fig, "secondsfigure", "recorded", description="seconds_text")
        yield self._styled("times_from")
        yield self.prose("sweep")
        yield self._styled("sweep_note")
        self._sweeps = Sweeps(self.themed, words)
        yield self.figure(self._sweeps.view, "sweepfigure", "recorded", description="sweep_text")
        yield self._styled("sweep_from")
        yield self.prose("sweeplessons")
        yield self.prose("error")
        yield self._styled("error_note")
        self._errors = ErrorChart(self.themed, words)
        yield self.figure(self._errors.fig, "errorfigure", "recorded", description="error_text")
        yield self._styled("error_from")
        yield self.prose("run")
        self._run = RunPanel(self.settings, words)
        yield self._run.view
        yield self._styled("replay")

    def _picker(self, words: dict) -> pmui.Select:
        """A list of the counted cases; a choice moves the page's settings to that case."""
        found = provenance.evidence()
        cases = found.cases if found else ()
        self._pick = pmui.Select(
            label=words["head_cases"],
            options={machine_bytes.shape(case, words): k for k, case in enumerate(cases)},
            size="small",
            max_width=420,
            sizing_mode="stretch_width",
            margin=(6, 0, 4, 0),
            visible=bool(cases),
            sx={"& .MuiOutlinedInput-notchedOutline": {"borderColor": "var(--rule)"}, "fontSize": 14},
        )
        self._pick.param.watch(self._on_pick, "value")
        return self._pick

    def _on_pick(self, event) -> None:
        case = provenance.evidence().cases[event.new]
        if self._latest.get("_") is None or case is self._latest["_"].case:
            return  # the list followed the settings
        row = case.row
        self.settings.param.update(
            N=row.N,
            d=row.d,
            H=row.heads,
            B=row.batch,
            Br=row.Br,
            Bc=row.Bc,
            causal=row.causal,
            dtype=row.dtype,
        )

    def patch(self, facts: dict) -> None:
        self._run.update()
        seen = facts["_"]
        if seen is None:
            return
        self._write(["bytes_note", "lanes", "times_note", "sweep_note", "error_note"])
        if seen.case is not None:
            self._pick.value = seen.evidence.cases.index(seen.case)
        self._law.patch(seen.evidence, seen.case)
        self._passes.patch(seen.evidence)
        self._rates.show(seen.times)
        self._seconds.show(seen.times)
        self._sweeps.patch(seen.sweep, seen.expected, (self.settings.Br, self.settings.Bc))
        self._errors.patch(seen.errors)
