"""Run: the reader's own problem on this server's GPU, or a small one on its CPU, with place in the queue and cancel."""

from __future__ import annotations

import html
import importlib.util
import threading
from collections.abc import Callable

import panel as pn
import panel_material_ui as pmui
import param

from plates import controls, text
from plates.language import Labels
from plates.machine_error import number
from plates.machine_time import ROLE
from plates.plate import html_pane
from plates.session import Session
from plates.settings import Settings
from workshop import units
from workshop.kernels.identify import peak_flops
from workshop.kernels.requests import Request, Update, on_cpu
from workshop.kernels.runner import Runner, shared_runner
from workshop.recordings import Recording
from workshop.recordings.curves import rate

_CPU = "CPU"


def torch_there() -> bool:
    """Whether torch can be imported, without importing it."""
    return importlib.util.find_spec("torch") is not None


class Choice(param.Parameterized):
    """What only a real launch needs: warps of a block and K,V tiles in flight."""

    warps = param.Selector(default="4", objects=["4", "8"], doc="Warps of a block of the teaching kernel.")
    stages = param.Selector(default="2", objects=["1", "2", "3", "4"], doc="K,V tiles in flight.")


class RunPanel:
    """The controls, the progress and the result of live runs of one session.

    Parameters
    ----------
    find: returns the runner of this server's GPU, or None; asked once, off the event loop.
    cpu: returns the runner of the CPU.
    there: whether torch is installed.
    replay: shown below the result where there is no GPU: what a recording says instead.
    """

    def __init__(
        self,
        settings: Settings,
        words: Labels,
        find: Callable[[], Runner | None] = shared_runner,
        cpu: Callable[[], Runner | None] = lambda: shared_runner("cpu"),
        there: Callable[[], bool] = torch_there,
        replay: pn.viewable.Viewable | None = None,
    ) -> None:
        self._replay = replay
        self._settings, self._words = settings, words
        self._cpu = cpu
        self.choice = Choice()
        self.session = Session()
        self.session.on_close(self._leave)
        self._runner: Runner | None = None
        self._ticket: int | None = None
        self._request: Request | None = None
        self._last: Update | None = None
        self._torch = there()
        self._looking = self._torch
        self._told = 0  # updates may arrive after a newer one was drawn: the last of a run stays
        self._what, self._state, self._result = html_pane(""), html_pane(""), html_pane("")
        for pane in (self._what, self._state, self._result):
            pane.stylesheets = [*pane.stylesheets, text.static("machine.css")]
        self._run = pmui.Button(
            label=words["run"], variant="contained", size="small", margin=(4, 10, 4, 0), disabled=True
        )
        self._stop = controls.button(words["cancel"], margin=(4, 0), disabled=True)
        self._run.on_click(lambda _: self.start())
        self._stop.on_click(lambda _: self.cancel())
        self._kernel = pn.FlexBox(
            controls.options(
                self.choice, "warps", words["warps"], {v: v for v in Choice.param.warps.objects}
            ),
            controls.options(
                self.choice, "stages", words["stages"], {v: v for v in Choice.param.stages.objects}
            ),
            gap="0 28px",
            margin=0,
        )
        self.choice.param.watch(lambda *_: self.update(), ["warps", "stages"])
        self.view = pn.Column(
            self._what,
            self._kernel,
            pn.FlexBox(self._run, self._stop, align_items="center", margin=0),
            self._state,
            self._result,
            *([replay] if replay is not None else []),
            sizing_mode="stretch_width",
            margin=(4, 0, 12, 0),
            css_classes=["run"],
        )
        if not self._torch:
            self.update()
        elif self.session.served:
            threading.Thread(target=self._look, args=(find,), daemon=True, name="which device").start()
            self.update()
        else:
            self._look(find)

    # The device -----------------------------------------------------------------------------------------

    def _look(self, find: Callable[[], Runner | None]) -> None:
        """Ask which device there is. Asking a driver takes seconds, so a served page asks from a thread."""
        runner = find()
        self.session.call(lambda: self._found(runner))

    def _found(self, runner: Runner | None) -> None:
        self._looking = False
        self._runner = runner or self._cpu()
        self.update()

    @property
    def on_cpu(self) -> bool:
        """Whether runs happen on the CPU."""
        return self._runner is not None and self._runner.device == "cpu"

    # The request ----------------------------------------------------------------------------------------

    def request(self) -> Request:
        """The reader's problem and tile as a request. Raises ValueError for a number format without kernels."""
        s = self._settings
        asked = Request(
            N=s.N, d=s.d, H=s.H, B=s.B, dtype=s.dtype, causal=s.causal, Br=s.Br, Bc=s.Bc,
            warps=int(self.choice.warps), stages=int(self.choice.stages),
        )  # fmt: skip
        return on_cpu(asked)[0] if self.on_cpu else asked

    @property
    def busy(self) -> bool:
        """Whether a run of this reader waits or runs."""
        return self._ticket is not None

    def update(self) -> None:
        """Say what Run would run, for the settings as they are now."""
        words = self._words
        if self._replay is not None:
            self._replay.visible = self.on_cpu or not self._torch
        self._kernel.visible = not self.on_cpu and self._torch and not self._looking
        if not self._torch:
            return self._say(words["no_torch"], False)
        if self._looking or self._runner is None:
            return self._say(words["looking"], False)
        try:
            asked = self.request()
        except ValueError as error:
            return self._say(html.escape(words.said(str(error))), False)
        shape = words["would_run"].format(
            N=units.count(asked.N), d=asked.d, H=asked.H, B=asked.B, dtype=asked.dtype,
            mask=words["mask_on" if asked.causal else "mask_off"],
        )  # fmt: skip
        if self.on_cpu:
            _, changed = on_cpu(self._full())
            more = (
                words["cpu_changed"].format(changes=words.listed(map(words.said, changed), "clauses"))
                if changed
                else ""
            )
            self._say(f"{words['cpu_here']} {shape} {more}", True)
        else:
            tile = words["would_tile"].format(
                Br=asked.Br, Bc=asked.Bc, warps=asked.warps, stages=asked.stages
            )
            self._say(f"{words['gpu_here']} {shape} {tile}", True)

    def _full(self) -> Request:
        s = self._settings
        return Request(N=s.N, d=s.d, H=s.H, B=s.B, dtype=s.dtype, causal=s.causal, Br=s.Br, Bc=s.Bc)

    def _say(self, sentence: str, ready: bool) -> None:
        self._what.object = f'<p class="what">{sentence}</p>'
        self._run.disabled = not ready or self.busy
        self._stop.disabled = not self.busy

    # A run ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Queue the reader's run."""
        if self.busy or self._runner is None:
            return
        try:
            self._request = self.request()
        except ValueError as error:
            self._say(html.escape(self._words.said(str(error))), False)
            return
        self._told += 1
        turn = self._told
        self._ticket = -1  # updates may come before the ticket
        self._run.disabled, self._stop.disabled = True, False
        self._state.object = self._progress(Update(0, "waiting", self._words["queued"]))
        ticket = self._runner.submit(
            self._request,
            lambda update: self.session.call(lambda: self._show(turn, update)),
            owner=self.session.key,
        )
        if self._ticket == -1:
            self._ticket = ticket

    def cancel(self) -> None:
        """Cancel the reader's run; its last update says so."""
        if self.busy and self._runner is not None:
            self._stop.disabled = True
            self._runner.cancel(self._ticket)

    def _leave(self) -> None:
        """The page is closed: nobody waits for the result, and others wait for the device."""
        if self._runner is not None:
            self._runner.forget(self.session.key)

    def _show(self, turn: int, update: Update) -> None:
        if turn != self._told:
            return  # of an earlier run
        self._last = update
        self._state.object = self._progress(update)
        if not update.final:
            return
        self._ticket = None
        if update.result is not None:
            self._result.object = result(update.result, self._request, update.remarks, self._words)
        self.update()

    def _progress(self, update: Update) -> str:
        words = self._words
        bar = ""
        if not update.final:
            value = f' value="{update.fraction:.3f}"' if update.state == "running" else ""
            bar = f'<progress max="1"{value} aria-label="{words["progress"]}"></progress>'
        sentence = html.escape(words.said(update.sentence))
        return f'<div class="progress state-{update.state}" role="status">{bar}<span>{sentence}</span></div>'


def result(found: Recording, asked: Request, remarks: tuple[str, ...], words: Labels) -> str:
    """A finished run as HTML: a table labelled live with its device, what was not run and why, and remarks."""
    rows = []
    peaks = {entry["case"]["provider"]: entry["bytes"] for entry in found.provenance.get("peak_bytes", ())}
    timed = found.where(metric="time").rows
    on_a_cpu = bool(timed) and timed[0].gpu.startswith(_CPU)
    for row in timed:
        same = found.where(provider=row.provider)
        values = {one.metric: one.p50 for one in same.rows}
        speed, peak = rate(row), peak_flops(row.gpu, row.dtype)
        held = peaks.get(row.provider)
        kernel = ""
        if "shared" in values:
            kernel = words["kernel_facts"].format(
                shared=units.exact_bytes(values["shared"]),
                registers=units.count(values["registers"]),
                spills=units.exact_bytes(values["spills"]),
            )
        share = f" ({units.percent(speed / peak)})" if peak else ""
        flash_on_cpu = on_a_cpu and row.provider == "sdpa-flash"
        name = words["provider_cpu_flash" if flash_on_cpu else f"provider_{row.provider}"]
        tile = f" {row.Br}×{row.Bc}" if row.Br else ""
        rows.append(
            [
                f'<b style="color:var(--{ROLE[row.provider]});white-space:nowrap">{name}{tile}</b>',
                text.inline_readout(f"live-time-{row.provider}", row.p50, units.seconds(row.p50)),
                words["between"].format(low=units.seconds(row.p20), high=units.seconds(row.p80)),
                units.rate_flops(speed) + share,
                text.inline_readout(f"live-memory-{row.provider}", held, units.bytes_(held))
                if held is not None
                else words["unknown"],
                text.inline_readout(
                    f"live-error-{row.provider}", values["error-max"], number(values["error-max"])
                )
                if "error-max" in values
                else words["unknown"],
                kernel,
            ]
        )
    columns = [("provider", False), ("time", True), ("spread", True), ("rate", True), ("memory", True)]
    columns += [("error", True), ("kernel", False)]
    where = timed[0].gpu if timed else found.device.get("name", "")
    where = where.removeprefix(f"{_CPU}: ")
    if on_a_cpu:  # its kernels have no shared memory or registers to tell of
        columns, rows = columns[:-1], [cells[:-1] for cells in rows]
    head = words["live_cpu" if on_a_cpu else "live_gpu"].format(device=html.escape(where))
    shape = words["would_run_short"].format(
        N=units.count(asked.N), d=asked.d, H=asked.H, B=asked.B, dtype=asked.dtype,
        mask=words["mask_on" if asked.causal else "mask_off"],
    )  # fmt: skip
    body = text.table([(words[f"column_{name}"], n) for name, n in columns], rows) if rows else ""
    said = [
        words["of_provider"].format(
            provider=words[f"provider_{note.case['provider']}"], sentence=words.said(note.sentence)
        )
        for note in found.notes
    ]
    items = "".join(f"<li>{html.escape(one)}</li>" for one in (*said, *map(words.said, remarks)))
    origin = ""
    if timed:
        where_from = html.escape(words.said(found.source()))
        origin = f'<p class="from">{where_from} {html.escape(words.said(found.method("time")))}</p>'
    listed = f"<ul>{items}</ul>" if items else ""
    tag = text.kind("live", lang=words.lang)
    return f'<div class="live"><p><b>{head}</b> {tag} {shape}</p>{body}{listed}{origin}</div>'
