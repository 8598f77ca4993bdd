"""The glossary: every term of the plates, found by name, each with its address (``?plate=review&term=hbm``)."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import ClassVar

import param
from panel.custom import JSComponent

from plates import text
from plates.quiz_questions import inline
from plates.text import STATIC, static


@lru_cache
def terms(lang: str = "en") -> dict[str, tuple[str, str, str]]:
    """Return {key: (term, slug of its plate, definition in Markdown)} of ``prose/glossary.md``, in its order.

    A section without ``term | plate`` in its first line raises ValueError with its key.
    """
    found = {}
    for key, body in text.sections("glossary", lang).items():
        if not key:
            continue
        first, _, rest = body.partition("\n")
        name, bar, plate = first.rpartition(" | ")
        if not bar or not rest.strip():
            raise ValueError(f"glossary.md, ## {key}: expected 'term | plate' and a definition, got {body!r}")
        found[key] = (name.strip(), plate.strip(), " ".join(rest.split()))
    return found


def entries(lang: str, name: Callable[[str], str | None]) -> list[dict]:
    """Return the terms for the browser, by name; ``name`` gives a plate's name by slug, None if there is none."""
    out = []
    for key, (term, plate, definition) in terms(lang).items():
        shown = name(plate)
        link = {"href": f"?plate={plate}", "name": shown} if shown else None
        out.append({"key": key, "term": term, "html": inline(definition), "plain": definition, "link": link})
    return sorted(out, key=lambda entry: entry["term"].casefold())


class Glossary(JSComponent):
    """All terms with a box to search them; ``term`` is scrolled to and marked."""

    entries = param.List(doc="As made by ``entries``.")
    term = param.String(doc="Key of the term that the address names, or empty.")
    words = param.Dict(doc="Labels, by the names that the script uses.")

    _esm = STATIC / "quiz" / "glossary.js"
    _stylesheets: ClassVar[list[str]] = [static("quiz/common.css"), static("quiz/glossary.css")]
