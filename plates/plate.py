"""What every plate is: a claim, readouts, figures built once and patched, prose with the reader's numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import ClassVar

import panel as pn
import param
from panel.viewable import Viewable

from plates import language, links, terms, text, typography
from plates.figures import Themed
from plates.later import Later
from plates.pause import Pause
from plates.settings import CUSTOM_GPU, SHARED, Settings
from workshop.formula import Formula

_PROSE_AFTER = 60  # ms without a change
# What a browser is sent at once is what fills a screen. Sending a view costs the server more than making it, and until
# all that is sent at once is ready it answers no reader.
_FIRST, _PART = 6, 4  # views


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
    minutes: ClassVar[tuple[int, int]] = (0, 0)  # (in the 45-minute lesson, in the 10-minute tour)
    local_keys: ClassVar[tuple[str, ...]] = ()  # query keys that the plate's own state puts into the link

    def __init_subclass__(cls, **more) -> None:
        super().__init_subclass__(**more)
        if "gpu" in cls.uses:  # the custom GPU is these numbers
            cls.uses = cls.uses | set(CUSTOM_GPU)

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.local: param.Parameterized | None = self.own_state()
        self.themed = Themed(settings.theme)
        self._view: pn.Column | None = None
        self._texts: dict[str, pn.pane.HTML] = {}
        self._latest: dict = {}
        self._settled = False  # the first update of a page comes whole
        self._columns: list[Later] = []
        self._prose = Pause(self._write_late, _PROSE_AFTER)
        self.kicker = ""  # HTML, "Plate II of X": the shell knows
        # called where an exception is handled: the shell tells the reader
        self.failed: Callable[[], None] = lambda: None

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

    def body(self) -> Iterable[Viewable]:
        """Build the figures and texts between the readouts and the tasks, once."""
        return []

    def patch(self, facts: dict) -> None:
        """Patch the figures with new data. Never builds one anew."""

    def settle(self, facts: dict) -> None:
        """Patch what may wait, with the prose, until a dragged slider rests: heavy figures, those far down the page."""

    def last_step(self) -> int | None:
        """Return the last step of the play that ``step`` of the settings stands on, or None without a play."""
        return None

    # What the shell calls -------------------------------------------------------------------------------

    def view(self) -> pn.Column:
        """Return the plate's view, built on the first call."""
        if self._view is None:
            self.themed.theme = self.settings.theme
            found = text.sections(self.slug, self.settings.lang)
            readouts = self._pane("_readouts")
            readouts.css_classes = ["main-readouts"]
            items: list = [self._pane("_head"), readouts, *self.body()]
            items += [self.prose(name) for name in ("try", "more", "terms", "sources") if name in found]
            self._view = pn.Column(
                *items[:_FIRST],
                sizing_mode="stretch_width",
                css_classes=["plate", f"plate-{self.slug}"],
                margin=0,
            )
            parts = [items[k : k + _PART] for k in range(_FIRST, len(items), _PART)]
            self.later([partial(list, part) for part in parts], view=self._view)
            self.update()
        return self._view

    def sent(self) -> None:
        """The view as it is now is on its way to the browser."""
        for column in self._columns:
            column.sent()

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

    def _write_late(self) -> None:
        try:
            self._write_prose()
        except Exception:
            self.failed()

    def _write_prose(self) -> None:
        with pn.io.hold():
            self._write(self._texts)
            self.settle(self._latest)

    def _write(self, names: Iterable[str]) -> None:
        for name in names:
            pane = self._texts[name]
            html = typography.finished(self._html(name, self._latest), self.settings.lang)
            if pane.object != html:
                pane.object = html

    def rehead(self, kicker: str) -> None:
        """Put ``kicker`` above the claim."""
        self.kicker = kicker
        if self._latest:  # else it could not be built
            self._write(["_head"])

    def retheme(self) -> None:
        """Recolour the figures for the theme in the settings."""
        with pn.io.hold():
            self.themed.apply(self.settings.theme)

    def present(self, on: bool) -> None:
        """Enlarge the texts in the figures for a projector, or set them back."""
        with pn.io.hold():
            self.themed.present(on)

    # Helpers for subclasses -----------------------------------------------------------------------------

    def later(self, parts: Iterable[Callable[[], Iterable[Viewable]]], **more) -> pn.Column:
        """Return a column that fills itself with ``parts`` once the page is there: see `Later`."""
        column = Later(parts, failed=lambda: self.failed(), **more)
        self._columns.append(column)
        return column.view

    def _pane(self, name: str) -> pn.pane.HTML:
        if name in self._texts:  # the first pane would stay empty
            raise ValueError(f"{self.slug}: two texts are named {name!r}")
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
            fig if isinstance(fig, Viewable) else pn.pane.Bokeh(fig, sizing_mode="stretch_width", margin=0)
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
        if name == "try":
            source = text.answered(self.words(name), self._facts_at)
            return (
                f'<section class="prose prose-try">{text.tasks(source, facts, self.settings.lang)}</section>'
            )
        body = text.section(self.slug, name, facts, self.settings.lang)
        if name == "terms":
            body = terms.linked(body, self.settings.lang)
        return f'<section class="prose prose-{name}">{body}</section>'

    def _facts_at(self, link: str) -> dict:
        """Return the facts of this plate in the state to which ``link`` leads from here."""
        there = type(self)(Settings(**_values(self.settings)))
        owners = dict.fromkeys((*SHARED, *CUSTOM_GPU), there.settings)
        if there.local is not None:
            there.local.param.update(**_values(self.local))
            owners |= dict.fromkeys(self.local_keys, there.local)
        values, _ = links.read(link, owners, [self.slug])
        for name in values.keys() - {"plate"}:
            owners[name].param.update(**{name: values[name]})
        return there.facts()

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

    def styled(self, name: str, css: str) -> pn.pane.HTML:
        """Return `block` with the stylesheet ``static/<css>`` beside the page's own."""
        pane = self.block(name)
        pane.stylesheets = [*pane.stylesheets, text.static(css)]
        return pane

    def _head(self, facts: dict) -> str:
        lead = text.section(self.slug, "", facts, self.settings.lang)
        said = text.sections(self.slug, self.settings.lang).get("scope", self.scope)
        scope = f'<p class="scope">{said}</p>' if said else ""
        return f'<div class="head"><p class="kicker">{self.kicker}</p>{lead}{scope}</div>'


def _values(owner: param.Parameterized) -> dict:
    return {name: value for name, value in owner.param.values().items() if name != "name"}


def html_pane(html: str, *, stylesheets: Iterable[str] = (), **more) -> pn.pane.HTML:
    """Return a pane of HTML in the page's own typography; ``stylesheets`` come after it."""
    sheets = [text.static("text.css"), *stylesheets]
    return pn.pane.HTML(html, stylesheets=sheets, sizing_mode="stretch_width", margin=0, **more)
