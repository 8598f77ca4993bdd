"""The page: bar, controls, the plate on show. Connects the one state with links and plates; holds no maths."""

from __future__ import annotations

import logging
import time
from functools import partial
from html import escape
from urllib.parse import urlencode

import panel as pn
import panel_material_ui as pmui

from plates import links, text
from plates.bar import Bar, History
from plates.keys import Keys
from plates.leaving import forget_views_on_leaving, tidy_for_nobody, unfollow_busy
from plates.pause import Pause
from plates.plate import Plate, html_pane
from plates.settings import CUSTOM_GPU, RESETTABLE, SHARED, Settings
from plates.sidebar import SHOWS_ALL, Sidebar
from plates.theme import PAGE_SX, css_variables, mui_theme
from plates.tour import Tour, entries

_log = logging.getLogger(__name__)
_BAR_WORDS = (
    "present",
    "copy",
    "copied",
    "not_copied",
    "light",
    "dark",
    "controls",
    "plates",
    "language",
    "tours",
)
_NUMERALS = ("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")
# Updates never take more than half of a session's time, however fast a slider is dragged.
_SHORTEST_GAP, _LONGEST_GAP = 0.01, 0.15
_NOTES = 6  # shown whole; the rest would push the page away
_SETTLED = 30  # ms without another choice of plate


class Atlas:
    """One reader's page.

    Parameters
    ----------
    plates: the plate classes, in reading order.
    query: the query of the page's address, e.g. ``?plate=tiles&N=4096``.
    """

    def __init__(self, plates: list[type[Plate]], query: str = "") -> None:
        self.settings = Settings(plate=plates[0].slug)
        self.plates: dict[str, Plate] = {cls.slug: cls(self.settings) for cls in plates}
        self._classes = plates
        self._stale: dict[str, bool] = dict.fromkeys(self.plates, False)
        self._changed: set[str] = set()
        self._scheduled = False
        self._last_end, self._last_took = 0.0, 0.0
        self._ready = False
        self._push = False
        self._trouble = ""
        self._swapping = Pause(self._swap_now, _SETTLED)

        values, notes = self._read(query)
        self._apply(values)
        notes = self._fit_step(notes, told="step" in values)
        words = text.sections("page", self.settings.lang)
        self._words = words
        self.history = History(self._on_search, width=0, height=0, margin=0)
        self.bar = Bar(
            plates=[
                {"slug": p.slug, "name": self._name(p), "numeral": _NUMERALS[i]} for i, p in enumerate(plates)
            ],
            current=self.settings.plate,
            theme=self.settings.theme,
            words={k: words[k] for k in _BAR_WORDS},
            tours=entries(plates, self.settings.lang),
            sizing_mode="stretch_width",
            margin=0,
        )
        self._notes = html_pane("")
        self._strip = html_pane("", css_classes=["tour-strip"], stylesheets=[text.static("tour.css")])
        self._keys = Keys(width=0, height=0, margin=0)
        self._pager = html_pane("")
        self._stage = pn.Column(sizing_mode="stretch_width", margin=0)
        elsewhere = next((self._name(p) for p in plates if p.slug == SHOWS_ALL), "")
        self.sidebar = Sidebar(self.settings, words, self._on_reset, elsewhere)
        self._layout = pn.Column(
            self.sidebar.view,
            pn.Column(
                self._strip, self._notes, self._stage, self._pager, sizing_mode="stretch_width", margin=0
            ),
            stylesheets=[text.static("layout.css")],
            sizing_mode="stretch_width",
            margin=0,
        )
        self.page = pmui.Page(
            title=words["title"],
            header=[self.bar, self.history, self._keys],
            main=[self._layout],
            dark_theme=self.settings.theme == "dark",
            theme_toggle=False,
            theme_config={name: mui_theme(name) for name in ("light", "dark")},
            raw_css=[css_variables() + text.static("page.css")],
            favicon=text.STATIC / "favicon.svg",
            meta_description=words["description"],
            meta_viewport="width=device-width, initial-scale=1",
            busy_indicator=None,
            template=text.STATIC / "page.html",
            sx=PAGE_SX,
            site_url="?",
        )
        unfollow_busy(self.page)
        forget_views_on_leaving()
        tidy_for_nobody()
        self._show_notes(notes)
        self._show_plate()
        names = [*RESETTABLE, "plate", "theme", "tour"]
        self.settings.param.watch(self._on_settings, names)
        self.bar.param.watch(lambda event: self.settings.param.update(theme=event.new), "theme")
        self.bar.param.watch(self._on_present, "presenting")
        for slug, plate in self.plates.items():
            plate.failed = partial(self._on_failed, plate)
            if plate.local is not None:
                plate.local.param.watch(
                    partial(self._on_local, slug), [n for n in plate.local.param if n != "name"]
                )

    # Links ----------------------------------------------------------------------------------------------

    def _owners(self, slug: str) -> dict:
        owners = dict.fromkeys((*SHARED, *CUSTOM_GPU, "step", "theme", "lang", "tour"), self.settings)
        plate = self.plates[slug]
        owners.update(dict.fromkeys(plate.local_keys, plate.local))
        return owners

    def _read(self, query: str) -> tuple[dict, list[str]]:
        first, _ = links.read(query, {"lang": self.settings}, self.plates)
        owners = self._owners(first.get("plate", self.settings.plate))
        return links.read(query, owners, self.plates, first.get("lang", self.settings.lang))

    def _apply(self, values: dict) -> None:
        slug = values.get("plate", self.settings.plate)
        plate = self.plates[slug]
        own = {k: v for k, v in values.items() if k in plate.local_keys}
        if own:
            plate.local.param.update(**own)
        self.settings.param.update(**{k: v for k, v in values.items() if k not in own})

    def _fit_step(self, notes: list[links.Note], *, told: bool) -> list[links.Note]:
        """Keep the step within the play on show; ``notes`` grow by what was done if a link ``told`` the step."""
        if self.settings.step is None:
            return notes
        last = self.plates[self.settings.plate].last_step()
        return links.fit_step(self.settings, last, notes, told)

    def search(self, lang: str | None = None) -> str:
        """Return the query that reproduces the view, in the language ``lang`` if one is given."""
        plate = self.plates[self.settings.plate]
        return links.write(self.settings, plate.local, plate.local_keys, lang)

    def _on_search(self, kind: str, search: str) -> None:
        if kind == "ready":
            self._ready = True
            self._write(push=False, top=False)
            return
        if kind == "follow":
            self._finish()
        values, notes = self._read(search)
        elsewhere = values.get("plate", self.settings.plate) != self.settings.plate
        if kind == "follow" and (elsewhere or values.get("tour")):
            values.setdefault(
                "step", None
            )  # another plate has steps of its own, a stop starts with its first view
        if kind == "follow" and "lang" in values and values["lang"] != self.settings.lang:
            lang = values.pop("lang")  # a page keeps its language: the link opens one in the other
            self._apply(values)
            self.history.leave(self.search(lang))
            return
        if kind == "back":
            # what a link leaves out is at its default, so that Back undoes it
            plate = self.plates[values.get("plate", self.settings.plate)]
            for name in plate.local_keys:
                values.setdefault(name, plate.local.param[name].default)
            values.setdefault("step", None)
            values.setdefault("theme", "light")
            values.setdefault("tour", "")
            values.pop("lang", None)
        self._push = kind == "follow"
        self._apply(values)
        notes = self._fit_step(notes, told=values.get("step") is not None)
        self._flush()
        self._push = False
        self._show_notes(notes)
        if kind == "follow":
            self._write(push=True, top="plate" in values)
        else:
            self._write(push=False, top=False)  # Back is answered even where it changed nothing

    def _on_reset(self) -> None:
        self._finish()
        plate = self.plates[self.settings.plate]
        self._push = True
        for owner, names in ((self.settings, RESETTABLE), (plate.local, plate.local_keys)):
            if owner is not None:
                owner.param.update(**{name: owner.param[name].default for name in names})
        self._flush()
        self._push = False
        self._write(push=True, top=False)

    def _write(self, *, push: bool, top: bool) -> None:
        if self._ready:
            slug = self.settings.plate
            self.history.show(
                self.search(),
                push=push,
                top=top,
                title=f"{self._name(type(self.plates[slug]))} · {self._words['title']}",
                theme=self.settings.theme,
                lang="zh-Hans" if self.settings.lang == "zh" else self.settings.lang,
            )

    def _on_present(self, event) -> None:
        for plate in self.plates.values():
            plate.present(event.new)

    def _show_notes(self, notes: list[str]) -> None:
        items = "".join(f'<div class="note">{pn.util.escape(n)}</div>' for n in notes[:_NOTES])
        if rest := notes[_NOTES:]:
            keys = ", ".join(dict.fromkeys(note.key for note in rest))
            more = text.labels("page", self.settings.lang, "links")["more"].format(count=len(rest), keys=keys)
            items += (
                f'<div class="note"><details><summary>{pn.util.escape(more)}</summary>'
                + "".join(f"<div>{pn.util.escape(note)}</div>" for note in rest)
                + "</details></div>"
            )
        html = f'<div role="status">{items}</div>' if notes else ""
        if self._notes.object != html:
            self._notes.object = html

    # State -> view --------------------------------------------------------------------------------------

    def _on_local(self, slug: str, *events) -> None:
        self._changed.add(f"local.{slug}")
        self._schedule()

    def _on_settings(self, *events) -> None:
        self._changed.update(event.name for event in events)
        self._schedule()

    def _schedule(self) -> None:
        if self._scheduled or self._push:
            return
        gap = min(max(self._last_took, _SHORTEST_GAP), _LONGEST_GAP)
        wait = self._last_end + gap - time.monotonic()
        doc = pn.state.curdoc
        if wait <= 0 or doc is None or doc.session_context is None:
            self._flush()
        else:
            self._scheduled = True
            doc.add_timeout_callback(self._flush, max(1, int(wait * 1000)))

    def _finish(self) -> None:
        """Show what still waits to be shown before a new entry of the history is made: it belongs to the one left."""
        if self._changed:
            self._flush()

    def _flush(self) -> None:
        self._scheduled = True  # what follows from the changes is shown with them
        self._fit_step([], told=False)
        self._scheduled = False
        changed, self._changed = self._changed, set()
        if not changed:
            return
        start = time.monotonic()
        with pn.io.hold():
            if "theme" in changed:
                dark = self.settings.theme == "dark"
                self.page.dark_theme = dark
                self.bar.theme = self.settings.theme
                for plate in self.plates.values():
                    plate.retheme()
            current = self.settings.plate
            for slug, plate in self.plates.items():
                touched = changed & {*plate.uses, f"local.{slug}"}
                if touched and (slug != current or "plate" in changed):
                    self._stale[slug] = True
                elif touched:
                    self._update(plate)
            if changed & {"plate", "tour"}:
                self._guide()  # at once: whoever presses Next again means the stop after this one
            if "plate" in changed:
                self._swap()
            if not self._push or self._trouble:
                self._show_notes([self._trouble] if self._trouble else [])
            self._trouble = ""
        if not self._push:
            self._write(push=False, top=False)
        self._last_end = time.monotonic()
        self._last_took = self._last_end - start

    def _swap(self) -> None:
        """Show the chosen plate once the reader has settled on it: plates clicked past are never built.

        The swap has a message of its own, in which nothing is folded: two swaps folded into one would leave the
        browser without the models of the first, to which later changes may refer.
        """
        if not self._swapping.ask():
            self._show_plate()

    def _swap_now(self) -> None:
        with pn.io.hold(policy="collect"):
            self._show_plate()

    def _update(self, plate: Plate) -> None:
        try:
            plate.update()
        except Exception:
            self._log_failed(plate)
            self._trouble = self._words["trouble"]

    def _on_failed(self, plate: Plate) -> None:
        self._log_failed(plate)
        self._show_notes([self._words["trouble"]])

    def _log_failed(self, plate: Plate) -> None:
        # one reader's bad moment must not end the session: say so, keep the page, leave the trace in the log
        _log.exception("plate %s could not be updated for %s", plate.slug, self.search())

    def _name(self, plate: type[Plate]) -> str:
        return text.sections(plate.slug, self.settings.lang).get("name", plate.name)

    def _show_plate(self) -> None:
        slug = self.settings.plate
        plate = self.plates[slug]
        at = list(self.plates).index(slug)
        plate.kicker = self._kicker(at)
        try:
            view = plate.view()
        except Exception:
            _log.exception("plate %s could not be built for %s", slug, self.search())
            view = html_pane(f'<div class="note" role="alert">{self._words["trouble"]}</div>')
        if self._stale[slug]:
            self._stale[slug] = False
            self._update(plate)
        self.bar.current = slug
        own = {"model"} & set(plate.local_keys)  # which a preset sets as well
        waits = text.markdown(text.sections(slug, self.settings.lang).get("tile_acts", "")).strip()
        waits = waits.removeprefix("<p>").removesuffix("</p>")
        self.sidebar.show((plate.controls or plate.uses) | own, waits)
        self._guide()
        self._stage.objects = [view]
        plate.sent()

    def _guide(self) -> None:
        """Say where the reader can go from here: along the tour that is on, or through all plates."""
        at = list(self.plates).index(self.settings.plate)
        name = self.settings.tour
        self.plates[self.settings.plate].rehead(self._kicker(at))
        if name:
            tour = Tour(name, self._classes, self.settings.lang, self._name)
            self._strip.object, self._pager.object = tour.strip(self.settings.plate), ""
        else:
            self._strip.object, self._pager.object = "", self._pages(at)

    def _kicker(self, at: int) -> str:
        """Where the plate stands; on the first one the tours start, unless one is on."""
        where = self._words["kicker"].format(at=_NUMERALS[at], of=_NUMERALS[len(self.plates) - 1])
        offered = [] if at or self.settings.tour else self.bar.tours
        links = " ".join(
            f'<a class="start" href="{escape(one["href"])}">{one["name"]}</a>' for one in offered
        )
        return f'<span class="together">{where}</span> {links}'

    def _pages(self, at: int) -> str:
        def link(i: int, word: str) -> str:
            if not 0 <= i < len(self._classes):
                return "<span></span>"
            cls = self._classes[i]
            small = f"<small>{self._words[word]}</small>"
            return f'<a href="?{urlencode({"plate": cls.slug})}">{small}{_NUMERALS[i]} {self._name(cls)}</a>'

        links = link(at - 1, "back") + link(at + 1, "next")
        return f'<nav class="pager" aria-label="{self._words["pager"]}">{links}</nav>'
