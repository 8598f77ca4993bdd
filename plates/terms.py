"""The terms of the glossary (``prose/glossary.md``), and the links that lead from a plate's terms to them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlencode

from plates import text

_BOLD = re.compile(r"<strong>([^<]+)</strong>")


@dataclass(frozen=True)
class Term:
    """key: in addresses. name: as readers know it; also: other spellings. plate: slug. definition: Markdown."""

    key: str
    name: str
    plate: str
    definition: str
    also: tuple[str, ...] = ()

    @property
    def spellings(self) -> set[str]:
        """All ways to write the term, in small letters."""
        parts = [self.name, *self.also, *re.split(r",\s*", self.name)]
        return {part.casefold() for part in parts}


@lru_cache
def terms(lang: str = "en") -> dict[str, Term]:
    """Return the terms by key, in the order of the file.

    The first line of a section is ``name | plate`` or ``name | plate | other; spellings``; the rest is the
    definition. A section without them raises ValueError with its key.
    """
    found = {}
    for key, body in text.sections("glossary", lang).items():
        if not key:
            continue
        first, _, rest = body.partition("\n")
        parts = [part.strip() for part in first.split(" | ")]
        if len(parts) not in (2, 3) or not all(parts) or not rest.strip():
            raise ValueError(f"glossary.md, ## {key}: expected 'term | plate' and a definition, got {body!r}")
        also = tuple(word.strip() for word in parts[2].split(";")) if len(parts) == 3 else ()
        found[key] = Term(key, parts[0], parts[1], " ".join(rest.split()), also)
    return found


@lru_cache
def spellings(lang: str = "en") -> dict[str, str]:
    """Return {spelling in small letters: key}; the first term of the file that claims a spelling has it."""
    found: dict[str, str] = {}
    for key, term in terms(lang).items():
        for word in term.spellings:
            found.setdefault(word, key)
    return found


def linked(markup: str, lang: str = "en") -> str:
    """Return HTML with each bold term that the glossary knows made a link to its entry."""

    def link(found: re.Match) -> str:
        key = spellings(lang).get(found[1].casefold())
        if key is None:
            return found[0]
        query = urlencode({"plate": "review", "term": key}).replace("&", "&amp;")
        return f'<a href="?{query}">{found[0]}</a>'

    return _BOLD.sub(link, markup)
