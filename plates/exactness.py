"""The exactness lab of plate `softmax`: four number formats, the 2x rule, last bits, and mistakes made on purpose."""

from __future__ import annotations

import html
import logging
import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

import panel as pn
import param

from plates import controls, exactness_chart, exactness_tables, text
from plates.session import Session
from workshop import breakage, last_bits, narration, precision, precision_torch, score_patterns
from workshop.number_formats import FORMATS

if TYPE_CHECKING:
    from plates.plate import Plate

KEYS = ("labFormat", "labOrder", "labBreak")
_log = logging.getLogger(__name__)


class Choices(param.Parameterized):
    """What the lab runs."""

    labFormat = param.Selector(default="bf16", objects=list(FORMATS), doc="Number format that is judged.")
    labOrder = param.Selector(
        default=precision.ORDERS[0], objects=list(precision.ORDERS), doc="Order in which tiles are added."
    )
    labBreak = param.Selector(
        default="no-rescale", objects=list(precision.BREAKS), doc="Mistake made on purpose."
    )


@lru_cache(maxsize=64)
def _rounded(pattern: str, N: int, d: int, number_format: str, causal: bool) -> precision.Rounded:
    return precision.Rounded(score_patterns.make(pattern, N, d), number_format, causal=causal)


@lru_cache(maxsize=128)
def compared(pattern, N, d, Bc, causal, order, broken) -> dict[str, tuple]:
    """The sound `Comparison` and the broken one of every format, by its name."""
    found = {}
    for name in FORMATS:
        problem = _rounded(pattern, N, d, name, causal)
        sound = precision.compare(problem, Bc, order=order)
        wrong = sound if broken == "none" else precision.compare(problem, Bc, order=order, broken=broken)
        found[name] = (sound, wrong)
    return found


@lru_cache(maxsize=128)
def written(pattern, N, d, Bc, causal, order, number_format) -> last_bits.Bits | None:
    """The bits by several orders, or None where the format cannot hold the inputs."""
    problem = _rounded(pattern, N, d, number_format, causal)
    return last_bits.write(problem, Bc, order) if problem.fits else None


@lru_cache(maxsize=64)
def _torch_errors(pattern, N, d, causal) -> dict[str, dict[str, float]]:
    problems = (_rounded(pattern, N, d, name, causal) for name in FORMATS)
    return {p.format.name: precision_torch.errors(p) for p in problems if p.fits}


class Exactness:
    """The lab's part of a plate: ``facts`` goes into the plate's, ``body`` yields what is placed, ``patch`` draws.

    ``plate.local`` holds the small attention (sN, sd, sBc, pattern) and `Choices`.
    """

    def __init__(self, plate: Plate) -> None:
        self._plate = plate
        self.session = Session()
        self._thread: threading.Thread | None = None
        self._state = (
            "absent"
            if not precision_torch.installed()
            else "ready"
            if precision_torch.loaded()
            else "unasked"
        )

    @property
    def words(self) -> dict[str, str]:
        """The lab's labels in the reader's language."""
        lang = self._plate.settings.lang
        return text.labels("softmax", lang) | text.labels("softmax", lang, "lab_words")

    # Numbers --------------------------------------------------------------------------------------------

    def facts(self) -> dict:
        """What the prose may name, each beginning with ``lab_``, and the lab's blocks."""
        small, causal, words = self._plate.local, self._plate.settings.causal, self.words
        size = (small.sN, small.sd, small.sBc)
        errors = compared(small.pattern, *size, causal, small.labOrder, small.labBreak)
        bits = written(small.pattern, *size, causal, small.labOrder, small.labFormat)
        broken = breakage.outcomes(*size, small.labFormat, small.labOrder, small.labBreak, causal)
        chosen = broken[breakage.PATTERNS.index(small.pattern)]
        theirs = _torch_errors(small.pattern, small.sN, small.sd, causal) if self._state == "ready" else None
        made = exactness_tables.Tables(words, small, breakage.PATTERNS)
        sound = errors[small.labFormat][0]
        return {
            "lab_format": small.labFormat,
            "lab_factor": precision.FACTOR,
            "lab_sentinel": narration.score(precision.SENTINEL),
            "lab_fp16": narration.score(FORMATS["fp16"].largest),
            "lab_bf16_bits": FORMATS["bf16"].fraction,
            "lab_fp16_bits": FORMATS["fp16"].fraction,
            "lab_description": made.description(errors),
            "lab_blocks": {
                "lab_readouts": text.readouts(made.readouts(sound)),
                "lab_legend": made.legend(),
                "lab_figures": made.figures(errors, theirs, self._state),
                "lab_bits": made.bits(bits),
                "lab_verdict": made.verdict(chosen),
                "lab_breaks": made.breaks(broken),
            },
            "lab_": errors,
        }

    # Pictures -------------------------------------------------------------------------------------------

    def body(self) -> Iterable[pn.viewable.Viewable]:
        """Yield the lab's sections, controls and figures, once."""
        plate, words, small = self._plate, self.words, self._plate.local
        formats = {words[f"format_{name}"]: name for name in FORMATS}
        orders = {words[f"order_{name}"]: name for name in precision.ORDERS}
        breaks = {html.unescape(words[f"break_{name}"]): name for name in precision.BREAKS}
        yield plate.prose("lab")
        yield pn.FlexBox(
            controls.options(small, "labFormat", words["control_format"], formats, width=410),
            controls.choice(small, "labOrder", words["control_order"], orders, width=265),
            align_items="center",
            gap="0 28px",
        )
        yield self._block("lab_readouts")
        yield self._block("lab_legend")
        self._chart = exactness_chart.ErrorChart(plate.themed, words)
        yield plate.figure(self._chart.fig, "lab_figure", "computed", description="lab_description")
        yield self._block("lab_figures")
        self._ask = controls.button(words["torch_ask"], margin=(0, 0, 10, 0))
        self._ask.visible = self._state == "unasked"
        self._ask.on_click(lambda _: self.ask())
        yield self._ask
        yield plate.prose("bits")
        yield self._block("lab_bits")
        yield plate.prose("breaks")
        yield controls.choice(small, "labBreak", words["control_break"], breaks, width=330)
        yield self._block("lab_verdict")
        yield self._block("lab_breaks")

    def _block(self, name: str) -> pn.pane.HTML:
        pane = self._plate.block(name)
        pane.stylesheets = [*pane.stylesheets, text.static("lab.css")]
        return pane

    def patch(self, facts: dict) -> None:
        """Draw the errors."""
        small = self._plate.local
        self._chart.patch(facts["lab_"], small.labFormat, small.labBreak)

    # PyTorch --------------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Import PyTorch beside the event loop, then let the page fill its columns."""
        if self._state != "unasked":
            return
        self._become("asked")
        if self.session.served:
            self._thread = threading.Thread(target=self._load, daemon=True, name="import torch")
            self._thread.start()
        else:
            self._load()

    def _load(self) -> None:
        try:
            precision_torch.load()
            state = "ready"
        except Exception:
            _log.exception("PyTorch is installed and cannot be imported")
            state = "failed"
        self.session.call(lambda: self._become(state))

    def _become(self, state: str) -> None:
        self._state = state
        self._ask.visible = state == "unasked"
        self._plate.update()
