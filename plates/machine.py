"""Plate `machine`: what a real GPU said, put beside the models at every boundary, and the reader's own run."""

from __future__ import annotations

import panel_material_ui as pmui
import param

from plates import controls, machine_bytes, machine_facts, machine_time, provenance, text
from plates.machine_error import ErrorChart
from plates.machine_law import LawChart, PassesChart
from plates.machine_run import RunPanel
from plates.machine_seen import DIRECTIONS, look
from plates.machine_sweep import Sweeps
from plates.plate import Plate
from plates.roles import MODEL
from workshop import traffic, units
from workshop.recordings.curves import rate


class View(param.Parameterized):
    """Which pass the times and errors are of."""

    direction = param.Selector(
        default="forward", objects=list(DIRECTIONS), doc="Forward pass, or forward and backward."
    )


class Machine(Plate):
    """Model, recording and live run on one axis."""

    slug = "machine"
    name = "Machine"
    controls = frozenset({"N", "d", "H", "B", "Br", "Bc", "sram", "dtype", "causal"})
    uses = controls
    scope = "A real GPU, recorded with hardware counters and timers; models beside it, each labelled."
    minutes = (4, 0)
    local_keys = ("direction",)

    # parts of the page, None until they are built
    _law: LawChart | None = None
    _passes: PassesChart | None = None
    _rates: machine_time.RateChart | None = None
    _seconds: machine_time.SecondsChart | None = None
    _sweeps: Sweeps | None = None
    _errors: ErrorChart | None = None
    _run: RunPanel | None = None

    def own_state(self) -> View:
        return View()

    # Numbers --------------------------------------------------------------------------------------------

    def facts(self) -> dict:
        words = text.labels(self.slug, self.settings.lang)
        found = provenance.evidence()
        if found is None or not found.recording.rows:
            return machine_facts.nothing(words)
        direction = self.local.direction
        return machine_facts.fill(look(found, self.settings, direction), words, self.settings, direction)

    def readouts(self, facts: dict) -> list[text.Readout]:
        seen, words = facts["_"], facts["words"]
        s = self.settings
        tiled = traffic.ledger("tiled", s.problem, s.tile).reads * s.problem.element_bytes * s.problem.heads
        out = [
            text.Readout(
                "bytes-tiled",
                tiled,
                units.bytes_(tiled),
                words["readout_tiled"].format(N=units.count(s.N)),
                MODEL["tiled"],
            )
        ]
        if seen is None:
            return out
        if seen.case is not None:
            for name, role in (("L1", "chip"), ("DRAM", "hbm")):
                level = seen.case.level(name)
                label = words[f"readout_{name}"].format(
                    model=words.said(level.model),
                    counted=units.bytes_(level.counted),
                    N=units.count(seen.case.row.N),
                )
                off = machine_bytes.share(level.residual)
                out.append(text.Readout(f"residual-{name.lower()}", abs(level.residual), off, label, role))
        best = max(
            (curve.at(facts["_at"]) for curve in seen.times.curves.values() if curve.at(facts["_at"])),
            key=rate, default=None,
        )  # fmt: skip
        if best is not None:
            label = words["readout_best"].format(
                provider=words.get(f"named_{best.provider}", words[f"provider_{best.provider}"]),
                N=units.count(best.N),
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
        parts = (self._law_part, self._time_part, self._seconds_part, self._sweep_part, self._error_part)
        yield self.later((*parts, self._run_part), built=self._fill_new)

    def _law_part(self):
        words = text.labels(self.slug, self.settings.lang)
        self._law = LawChart(self.themed, words)
        yield self.figure(self._law.fig, "lawfigure", "recorded", description="law_text")
        self._passes = PassesChart(self.themed, words)
        yield self.figure(self._passes.fig, "passesfigure", "recorded", description="passes_text")
        yield self._styled("law_from")
        yield self.prose("limits")
        yield self.block("cases")
        yield self.block("missing")

    def _time_part(self):
        words = text.labels(self.slug, self.settings.lang)
        yield self.prose("time")
        yield controls.options(
            self.local, "direction", words["direction"], {words[f"direction_{v}"]: v for v in DIRECTIONS}
        )
        yield self._styled("times_note")
        self._rates = machine_time.RateChart(self.themed, words)
        yield self.figure(self._rates.fig, "ratefigure", "recorded", description="rate_text")
        yield self.block("times_table")

    def _seconds_part(self):
        self._seconds = machine_time.SecondsChart(self.themed, text.labels(self.slug, self.settings.lang))
        yield self.figure(self._seconds.fig, "secondsfigure", "recorded", description="seconds_text")
        yield self._styled("times_from")

    def _sweep_part(self):
        yield self.prose("sweep")
        yield self._styled("sweep_note")
        self._sweeps = Sweeps(self.themed, text.labels(self.slug, self.settings.lang))
        yield self.figure(self._sweeps.view, "sweepfigure", "recorded", description="sweep_text")
        yield self._styled("sweep_from")
        yield self.prose("sweeplessons")

    def _error_part(self):
        yield self.prose("error")
        yield self._styled("error_note")
        self._errors = ErrorChart(self.themed, text.labels(self.slug, self.settings.lang))
        yield self.figure(self._errors.fig, "errorfigure", "recorded", description="error_text")
        yield self._styled("error_from")

    def _run_part(self):
        yield self.prose("run")
        words = text.labels(self.slug, self.settings.lang)
        self._run = RunPanel(self.settings, words, replay=self._styled("replay"))
        yield self._run.view

    def _fill_new(self) -> None:
        """Write and draw what has just been built; what stood before has its data already and stays."""
        self._write(self._texts)
        self.patch(self._latest)
        self.settle(self._latest)

    def _picker(self, words: dict) -> pmui.Select:
        """A list of the counted cases; a choice moves the page's settings to that case."""
        found = provenance.evidence()
        cases = found.cases if found else ()
        listed: dict[str, int] = {}
        for k, case in enumerate(cases):  # warps are no setting of the page: of several, the first is shown
            listed.setdefault(machine_bytes.shape(case, words), k)
        self._pick = pmui.Select(
            label=words["head_cases"],
            options=listed,
            size="small",
            max_width=420,
            sizing_mode="stretch_width",
            margin=(6, 0, 4, 0),
            visible=bool(cases),
            sx=controls.SELECT,
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
        seen = facts["_"]
        if seen is None:
            return
        self._write(["lanes"])
        if seen.case is not None:
            self._pick.value = seen.evidence.cases.index(seen.case)
        if self._law is not None:
            self._law.patch(seen.evidence, seen.case)
            self._passes.patch(seen.evidence)
        if self._rates is not None:
            self._rates.show(seen.times)

    def settle(self, facts: dict) -> None:
        seen = facts["_"]
        if seen is not None:
            if self._seconds is not None:
                self._seconds.show(seen.times)
            if self._sweeps is not None:
                self._sweeps.patch(seen.sweep, seen.expected, (self.settings.Br, self.settings.Bc))
            if self._errors is not None:
                self._errors.patch(seen.errors)
        if self._run is not None:
            self._run.update()
