"""The bar and the history: the two small pieces of the page that live in the browser."""

from __future__ import annotations

from collections.abc import Callable

import param
from panel.custom import JSComponent

from plates.session import browser_speaks
from plates.text import STATIC, static


class Bar(JSComponent):
    """The plates as links, the tours, Present, Copy link and the theme."""

    plates = param.List(doc="One dict a plate: slug, name, numeral.")
    current = param.String(doc="Slug of the plate on show.")
    theme = param.Selector(default="light", objects=["light", "dark"])
    presenting = param.Boolean(False, doc="Whether the page is enlarged for a projector.")
    tours = param.List(doc="One dict a guided tour: name, href.")
    words = param.Dict(doc="Labels of the tools.")

    _esm = STATIC / "bar.js"
    _stylesheets = (static("bar.css"),)


class History(JSComponent):
    """The address bar: ``show`` writes it; links of the page and Back arrive at ``on_search``."""

    _esm = STATIC / "history.js"

    def __init__(self, on_search: Callable[[str, str], None], **params) -> None:
        self._on_search = on_search
        self._pops = 0  # how often Back or Forward was pressed, as far as is known here
        super().__init__(**params)

    def _handle_msg(self, msg: dict) -> None:
        browser_speaks()
        kind, search, pops = msg.get("kind"), msg.get("search"), msg.get("pops")
        if isinstance(pops, int):
            self._pops = pops
        if kind in ("ready", "follow", "back") and isinstance(search, str):
            self._on_search(kind, search[:4000])

    def leave(self, search: str) -> None:
        """Open the page anew at ``search``."""
        self._send_msg({"leave": search})

    def show(self, search: str, *, push: bool, top: bool, title: str, theme: str, lang: str) -> None:
        """Put ``search`` into the address bar; ``push`` makes a new history entry, ``top`` scrolls up."""
        known = {"title": title, "theme": theme, "lang": lang, "pops": self._pops}
        self._send_msg({"search": search, "push": push, "top": top, **known})
