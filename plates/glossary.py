"""The glossary: every term of the plates, found by name, each with its address (``?plate=review&term=hbm``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import param

from plates.drawn import Drawn, Picture
from plates.quiz_questions import inline
from plates.terms import terms
from plates.text import STATIC, static


def entries(lang: str, name: Callable[[str], str | None]) -> list[dict]:
    """Return the terms for the browser, by name; ``name`` gives a plate's name by slug, None if there is none."""
    out = []
    for term in terms(lang).values():
        shown = name(term.plate)
        out.append(
            {
                "key": term.key,
                "term": term.name,
                "html": inline(term.definition),
                "plain": " ".join((*term.also, term.definition)),
                "link": {"href": f"?plate={term.plate}", "name": shown} if shown else None,
            }
        )
    return sorted(out, key=lambda entry: entry["term"].casefold())


class Glossary(Drawn):
    """All terms with a box to search them; ``term`` is scrolled to and marked."""

    entries = Picture("[]", doc="As made by ``entries``.")
    term = param.String(doc="Key of the term that the address names, or empty.")
    words = param.Dict(doc="Labels, by the names that the script uses.")

    _esm = STATIC / "quiz" / "glossary.js"
    _stylesheets: ClassVar[list[str]] = [static("quiz/common.css"), static("quiz/glossary.css")]
