"""What the compiler says of the reader's tile: the verdict for the chosen GPU, without a GPU, and never in the way."""

from __future__ import annotations

import asyncio
import html
import logging
import re
from collections.abc import Awaitable, Callable

import panel as pn
import param

from plates import controls, text
from plates.plate import html_pane
from plates.session import Session
from workshop import units
from workshop.hardware import GPU
from workshop.kernels import compile_service
from workshop.kernels.compile_request import Request, request
from workshop.kernels.compile_sass import MEANINGS
from workshop.kernels.compile_service import Answer
from workshop.kernels.compile_verdict import occupancy, shared_formula
from workshop.problem import Problem, Tile

SLUG = "compile"  # of the prose
_ROOM = 1.25  # of the larger of two amounts: the bar's width, so that the limit stands clear of its end
_QUIET = 0.1  # s before a spinner appears: an answer from the table needs none
_log = logging.getLogger(__name__)


class Choice(param.Parameterized):
    """Warps of a block; "auto" takes what suits its height."""

    warps = param.Selector(default="auto", objects=["auto", "4", "8"], doc="Warps of a block.")


class CompilePanel:
    """A section for a plate: ``view`` is placed once, ``show`` is called with each new choice.

    Parameters
    ----------
    owner, stages: the object and its parameter that hold the K,V tiles in flight ("1", "2", ...).
    lang: of the texts.
    ask: ``compile_service.report``, or another with its parameters ``(options, gpu, reader=...)``.
    """

    def __init__(
        self,
        owner: param.Parameterized,
        stages: str,
        lang: str = "en",
        ask: Callable[..., Awaitable[Answer | None]] | None = None,
    ) -> None:
        self._owner, self._stages = owner, stages
        self._words = text.labels(SLUG, lang)
        self._ask = ask or compile_service.report
        self.choice = Choice()
        self.session = Session()
        self.session.on_close(self._leave)
        self._asked: tuple | None = None
        self._request: Request | None = None
        self._task: asyncio.Task | None = None
        self.answer: Answer | None = None  # the one on show, if any
        head = html_pane(f'<section class="prose">{text.section(SLUG, "intro", {}, lang)}</section>')
        self._pane = html_pane("")
        self._pane.stylesheets = [*self._pane.stylesheets, text.static("compile.css")]
        warps = controls.options(
            self.choice, "warps", self._words["warps"],
            {self._words.get(f"warps_{v}", v): v for v in Choice.param.warps.objects},
        )  # fmt: skip
        self.choice.param.watch(lambda *_: self._asked and self.show(*self._asked), "warps")
        flight = controls.options(
            owner, stages, self._words["flight"], {v: v for v in owner.param[stages].objects}
        )
        both = pn.FlexBox(warps, flight, gap="0 28px", margin=0)
        self.view = pn.Column(head, both, self._pane, sizing_mode="stretch_width", margin=(0, 0, 12, 0))

    @property
    def html(self) -> str:
        """What is on show."""
        return self._pane.object

    def show(self, problem: Problem, tile: Tile, gpu: GPU) -> None:
        """Ask for the reader's tile, unless that is what was asked last."""
        self._asked = (problem, tile, gpu)
        wanted = self._wanted()
        if wanted == self._request or self._known(wanted):
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # no server: nothing is compiled
            if self.answer is None or self.answer.options != wanted.options:
                self.answer = None
                self._write("")
            return
        self._task = loop.create_task(self._obtain(wanted))

    def show_known(self, problem: Problem, tile: Tile, gpu: GPU) -> None:
        """Show what needs no compiler of the reader's tile; the rest is for `show`, when a dragged slider rests."""
        self._asked = (problem, tile, gpu)
        wanted = self._wanted()
        if wanted != self._request:
            self._known(wanted, parts=False)

    def _wanted(self) -> Request:
        stages = int(getattr(self._owner, self._stages))
        return request(*self._asked, stages, None if self.choice.warps == "auto" else int(self.choice.warps))

    def _known(self, wanted: Request, *, parts: bool = True) -> bool:
        """Turn to ``wanted`` with what is known of it at once, unless that is only a part and not ``parts``.

        Returns whether it is all.
        """
        now, complete = None, True
        if wanted.options is not None:
            now, complete = compile_service.answer_now(wanted.options, wanted.gpu)
        if complete or parts:
            self._request = wanted
            self._stop()
        if wanted.options is None:
            self.answer = None
            self._write(f'<div class="compiled"><p class="verdict">{self._sentences(wanted.notes)}</p></div>')
        elif now is not None:
            self._shown(wanted, now)
        return complete

    async def _obtain(self, wanted: Request) -> None:
        """Wait for an answer without the document's lock, so that every other control answers meanwhile."""
        asking = asyncio.ensure_future(self._ask(wanted.options, wanted.gpu, reader=self.session.key))
        try:
            done, _ = await asyncio.wait({asking}, timeout=_QUIET)
            if not done:
                self.session.call(lambda: self._pending(wanted))
            answer = await asking
        except asyncio.CancelledError:
            asking.cancel()
            raise
        except Exception:
            _log.exception("compile report of %s", wanted.options)
            self.session.call(lambda: self._failed(wanted))
            return
        if answer is not None:  # None: the reader has asked for something else
            self.session.call(lambda: self._shown(wanted, answer))

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    def _leave(self) -> None:
        """The page is closed: a build that nobody waits for is stopped."""
        task, self._task = self._task, None
        if task is not None:
            task.get_loop().call_soon_threadsafe(task.cancel)

    def _pending(self, wanted: Request) -> None:
        if wanted is self._request and (self.answer is None or self.answer.options != wanted.options):
            spin = f'<div class="head" role="status"><i class="spin"></i> {self._words["compiling"]}</div>'
            old = self._report(self.answer, None) if self.answer else ""
            self._write(
                f'<div class="compiled">{spin}</div><div class="old" aria-hidden="true">{_bare(old)}</div>'
            )

    def _failed(self, wanted: Request) -> None:
        if wanted is self._request:
            self._write(f'<div class="compiled"><p class="verdict">{self._words["failed"]}</p></div>')

    def _shown(self, wanted: Request, answer: Answer) -> None:
        if wanted is self._request:
            self.answer = answer
            self._write(self._report(answer, wanted))

    def _write(self, new: str) -> None:
        if self._pane.object != new:
            self._pane.object = new

    # The report -----------------------------------------------------------------------------------------

    def _report(self, answer: Answer, wanted: Request | None) -> str:
        """An answer as HTML."""
        words, options, found = self._words, answer.options, answer.report
        tile = words["tile"].format(
            Br=options.Br, Bc=options.Bc, d=options.d, dtype=options.dtype, warps=options.warps,
            stages=words["one_stage" if options.stages == 1 else "stages"].format(stages=options.stages),
        )  # fmt: skip
        notes = self._sentences(wanted.notes) if wanted else ""
        # as a sentence of its own: the tile before it is its subject
        said = words.said(answer.sentence.removesuffix(".") + ".")
        sentence = re.sub(r"(?<=\d) (?=B\b)", "\u00a0", html.escape(said))
        for change in answer.suggestions:
            key, name = self._stages if change.option == "stages" else change.option, words.said(change.text)
            sentence = sentence.replace(name, f'<a href="?{key}={change.value}">{name}</a>', 1)
        over = " over" if answer.launches is False else ""
        head = (
            f'<p class="verdict{over}"><b>{tile}</b> {sentence} {text.kind("compiled", lang=words.lang)}'
            f"{f'<br><small>{notes}</small>' if notes else ''}</p>"
        )
        if found is None:
            return f'<div class="compiled">{head}</div>'
        return f'<div class="compiled">{head}{self._limit(answer)}{self._numbers(answer)}{self._mix(answer)}</div>'

    def _sentences(self, notes: tuple[str, ...]) -> str:
        return html.escape(self._words.said(" ".join(notes)))

    def _limit(self, answer: Answer) -> str:
        """Shared memory against what a block may have, as a bar on one scale."""
        words, need, may = self._words, answer.report.shared_bytes, answer.gpu.smem_block
        most = max(need, may) * _ROOM
        past = " past" if need > may else ""
        readout = text.inline_readout
        return (
            f'<div class="limit{past}" aria-hidden="true"><i style="width:{100 * need / most:.2f}%"></i>'
            f'<b style="left:{100 * may / most:.2f}%"></b></div><p class="scale">'
            + words["scale"].format(
                need=readout("compile-shared", need, units.with_exact_bytes(need)),
                may=readout("compile-limit", may, units.with_exact_bytes(may)),
            )
            + "</p>"
        )

    def _numbers(self, answer: Answer) -> str:
        words, found = self._words, answer.report
        held, formula = occupancy(found, answer.gpu), shared_formula(answer.options)
        exp2 = found.instructions.get("MUFU.EX2", 0)
        items = [
            ("launches", "yes" if answer.launches else "no", words["yes" if answer.launches else "no"]),
            ("formula", formula, units.with_exact_bytes(formula)),
            ("registers", found.registers, units.count(found.registers)),
            ("stack", found.stack_bytes, units.exact_bytes(found.stack_bytes)),
            ("spill-instructions", found.spill_instructions, units.count(found.spill_instructions)),
            ("blocks", held.blocks, units.count(held.blocks)),
            ("tensor-core", found.tensor_core_instructions, units.count(found.tensor_core_instructions)),
            ("exp2", exp2, units.count(exp2)),
        ]
        cells = "".join(
            f"<div><dt>{words[f'number_{name}']}</dt>"
            f"<dd>{text.inline_readout(f'compile-{name}', value, shown)}</dd></div>"
            for name, value, shown in items
        )
        return f"<dl>{cells}</dl>"

    def _mix(self, answer: Answer) -> str:
        words, found = self._words, answer.report
        rows = [
            [f"<code>{name}</code>", units.count(count), html.escape(words.said(MEANINGS.get(name, "")))]
            for name, count in sorted(found.instructions.items(), key=lambda item: -item[1])
            if count
        ]
        columns = [(words["column_instruction"], False), (words["column_count"], True), ("", False)]
        listed = units.count(found.instruction_total)
        origin = words[f"origin_{answer.origin}"].format(seconds=units.seconds(answer.seconds))
        source = words["source"].format(triton=found.triton, target=answer.options.target, origin=origin)
        return (
            f"<details><summary>{words['mix'].format(count=listed)}</summary>{text.table(columns, rows)}</details>"
            f'<p class="scale">{source}</p>'
        )


def _bare(old: str) -> str:
    """A report without its readouts' names: dimmed figures are no answer to what was asked."""
    return old.replace("data-readout", "data-old").replace("data-value", "data-old-value")
