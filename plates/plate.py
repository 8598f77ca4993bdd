"""What every plate is: a claim, readouts, figures built once and patched, prose with the reader's numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import panel as pn
import param

from plates import language, terms, text
from plates.figures import Themed
from plates.pause import Pause
from plates.settings import Settings
from workshop.formula import Formula

_PROSE_AFTER = 60  # ms without a change


class Plate:
    """Base of all plates. A subclass gives ``slug``, ``name``, ``uses``, ``facts``, ``readouts``, ``body``, ``patch``.

    The shell calls ``view()`` once, when the plate is first shown, then ``update()`` whenever a setting in ``uses``
    changed while it is on show (or since it was last on show).
    """

    slug: ClassVar[str]
    name: ClassVar[str]  # in the navigation
    uses: ClassVar[frozenset[str]] = frozenset()  # settings that change what the plate shows
    controls: ClassVar[frozenset[str]] = (
        frozenset()
    )  # settings that the sidebar offers here; empty: all in `uses`
    scope: ClassVar[str] = ""  # e.g. "forward pass, one head, exact counts"
    minutes: ClassVar[tuple[int, int]] = (0, 0)  # (in a 45-minute class, on the 10-minute path)
    local_keys: ClassVar[tuple[str, ...]] = ()  # query keys that the plate's own state puts into the link

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.local: param.Parameterized | None = self.own_state()
        self.themed = Themed(settings.theme)
        self._view: pn.Column | None = None
        self._texts: dict[str, pn.pane.HTML] = {}
        self._latest: dict = {}
        self._settled = False  # the first update of a page comes whole
        self._prose = Pause(self._write_prose, _PROSE_AFTER)
        self.kicker = ""  # "Plate II of X": the shell knows

    # What a subclass says -------------------------------------------------------------------------------

    def own_state(self) -> param.Parameterized | None:
        """Return the plate's own state (its parameters named in ``local_keys`` go into the link), or None."""
        return None

    def facts(self) -> dict:
        """Return what the prose may name in ``{{ }}``: texts with units, from the models. Called before each patch."""
        return {}

    def readouts(self, facts: dict) -> list[text.Readout]:
        """Return the strip of numbers under the claim."""
        return []

    def body(self) -> Iterable[pn.viewable.Viewable]:
        """Build the figures and texts between the readouts and the tasks, once."""
        return []

    def patch(self, facts: dict) -> None:
        """Patch the figures with new data. Never builds one anew."""

    def settle(self, facts: dict) -> None:
        """Patch what may wait, with the prose, until a dragged slider rests: heavy figures, those far down the page."""

    # What the shell calls -------------------------------------------------------------------------------

    def view(self) -> pn.Column:
        """Return the plate's view, built on the first call."""
        if self._view is None:
            self.themed.theme = self.settings.theme
            found = text.sections(self.slug, self.settings.lang)
            items: list = [self._pane("_head"), self._pane("_readouts"), *self.body()]
            items += [self.prose(name) for name in ("try", "more", "terms", "sources") if name in found]
            self._view = pn.Column(*items, sizing_mode="stretch_width", css_classes=["plate"], margin=0)
            self.update()
        return self._view

    def update(self) -> None:
        """Compute the facts; patch readouts and figures in one message to the browser, the prose in a later one.

        While a slider is dragged the prose waits until the reader pauses: laying out text again at every step is
        what a browser spends its time on.
        """
        if self._view is None:
            return
        self._latest = self.facts()
        with pn.io.hold():
            self._write(["_readouts"])
            self.patch(self._latest)
        if not (self._settled and self._prose.ask()):
            self._write_prose()
            self._settled = True

    def _write_prose(self) -> None:
        with pn.io.hold():
            self._write(self._texts)
            self.settle(self._latest)

    def _write(self, names: Iterable[str]) -> None:
        for name in names:
            pane, html = self._texts[name], self._html(name, self._latest)
            if pane.object != html:
                pane.object = html

    def retheme(self) -> None:
        """Recolour the figures for the theme in the settings."""
        with pn.io.hold():
            self.themed.apply(self.settings.theme)

    def present(self, on: bool) -> None:
        """Enlarge the texts in the figures for a projector, or set them back."""
        with pn.io.hold():
            self.themed.present(on)

    # Helpers for subclasses -----------------------------------------------------------------------------

    def _pane(self, name: str) -> pn.pane.HTML:
        pane = html_pane("")
        self._texts[name] = pane
        return pane

    def prose(self, name: str) -> pn.pane.HTML:
        """Return a pane that shows section ``name`` of the plate's prose, kept up to date with the facts."""
        return self._pane(name)

    def words(self, name: str) -> str:
        """Return section ``name`` of the plate's prose as plain text, for labels of controls and figures."""
        return text.sections(self.slug, self.settings.lang)[name]

    def said(self, sentence: str) -> str:
        """Return a sentence of the models in the reader's language, as it stands where no translation is known."""
        return text.phrase(sentence, self.settings.lang)

    def figure(self, fig, caption: str, kind: str, *, description: str) -> pn.Column:
        """Return a figure with the prose section ``caption`` under it, its ``kind`` tag, and a text equivalent.

        ``description`` names a fact that says in words what the figure shows, for readers who cannot see it.
        """
        pane = self._pane(f"{caption}|{kind}|{description}")
        shown = (
            fig
            if isinstance(fig, pn.viewable.Viewable)
            else pn.pane.Bokeh(fig, sizing_mode="stretch_width", margin=0)
        )
        return pn.Column(
            shown, pane, sizing_mode="stretch_width", margin=(4, 0, 12, 0), css_classes=["figure"]
        )

    def _html(self, name: str, facts: dict) -> str:
        if name == "_head":
            return self._head(facts)
        if name == "_readouts":
            return text.readouts(self.readouts(facts))
        if "|" in name:
            caption, kind, description = name.split("|")
            body = text.section(self.slug, caption, facts, self.settings.lang)
            body = body.removeprefix("<p>").rstrip().removesuffix("</p>")
            spoken = facts.get(description, description)
            tag = text.kind(kind, lang=self.settings.lang)
            return f'<div class="figcaption">{body} {tag}<span class="sr-only"> {spoken}</span></div>'
        if name in facts.get("blocks", {}):
            return facts["blocks"][name]
        body = text.section(self.slug, name, facts, self.settings.lang)
        if name == "terms":
            body = terms.linked(body, self.settings.lang)
        return f'<section class="prose prose-{name}">{body}</section>'

    def formula(self, record: Formula, role: str) -> str:
        """Return the block of one formula: the law, the reader's numbers in it, how it is read, what it says."""
        s = self.settings
        numbers = record.substituted(s.problem, s.tile, s.gpu_record)
        return self.law(record, numbers, self.said(record.plain), role, causal=s.causal)

    def law(self, record: Formula, numbers: str, note: str, role: str, *, causal: bool = False) -> str:
        """Return the block of a formula with ``numbers`` (LaTeX) for its letters and ``note`` under it."""
        lang = self.settings.lang
        spoken = record.spoken(causal, language.reading(lang))
        return text.formula(record.latex_for(causal), numbers, spoken, note, role, lang)

    def block(self, name: str) -> pn.pane.HTML:
        """Return a pane for ``facts["blocks"][name]``: HTML that the plate makes itself (formulas, tables)."""
        return self._pane(name)

    def _head(self, facts: dict) -> str:
        lead = text.section(self.slug, "", facts, self.settings.lang)
        said = text.sections(self.slug, self.settings.lang).get("scope", self.scope)
        scope = f'<p class="scope">{said}</p>' if said else ""
        return f'<div class="head"><p class="kicker">{self.kicker}{self._length()}</p>{lead}{scope}</div>'

    def _length(self) -> str:
        """How long the plate takes in a class, and whether it is on the short path."""
        full, short = self.minutes
        if not full:
            return ""
        found = text.sections("page", self.settings.lang)
        words = found["length"].format(minutes=full)
        words += found["on_path"].format(minutes=short) if short else found["off_path"]
        return f'<span class="length">{words}</span>'


def html_pane(html: str) -> pn.pane.HTML:
    """Return a pane of HTML in the page's own typography."""
    return pn.pane.HTML(html, stylesheets=[text.static("text.css")], sizing_mode="stretch_width", margin=0)
