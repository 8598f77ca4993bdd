"""Last touches on a text that was filled with numbers: one of a thing is not several, and ``N = 1,024`` stays whole."""

from __future__ import annotations

import re

# nouns that a number may stand before, by their plural
SINGULAR = {
    "tokens": "token",
    "heads": "head",
    "layers": "layer",
    "sequences": "sequence",
    "queries": "query",
    "keys": "key",
    "rows": "row",
    "columns": "column",
    "numbers": "number",
    "scores": "score",
    "tiles": "tile",
    "blocks": "block",
    "visits": "visit",
    "times": "time",
    "passes": "pass",
    "readings": "reading",
    "trips": "trip",
    "waves": "wave",
    "stages": "stage",
    "warps": "warp",
    "threads": "thread",
    "sectors": "sector",
    "clocks": "clock",
    "GPUs": "GPU",
    "splits": "split",
    "workers": "worker",
    "conversations": "conversation",
    "cases": "case",
    "litres": "litre",
    "bathtubs": "bathtub",
    "multiprocessors": "multiprocessor",
    "resident blocks": "resident block",
    "tile visits": "tile visit",
    "global tokens": "global token",
    "live scores": "live score",
    "documents": "document",
    "questions": "question",
    "steps": "step",
    "bits": "bit",
    "pieces": "piece",
    "elements": "element",
}
_SPACE = "[ \u00a0]"
_NOUN = "|".join(sorted(SINGULAR, key=len, reverse=True))
_PLURAL = re.compile(rf"(?<![\w.,×·/−-])(?<!×{_SPACE})1((?:</\w+>)?{_SPACE})({_NOUN})\b(?![-\w])")
_EQUATION = re.compile(rf"(?<![\w$\\])([A-Za-zℓαβ]\w?|sram){_SPACE}={_SPACE}(?=[\d−∞])")


def singular(text: str, lang: str = "en") -> str:
    """Return ``text`` with "1 heads" as "1 head"; languages without a plural form as they are."""
    return _PLURAL.sub(lambda m: f"1{m[1]}{SINGULAR[m[2]]}", text) if lang == "en" else text


def kept(text: str) -> str:
    """Return ``text`` with a letter, its equals sign and its number on one line."""
    return _EQUATION.sub("\\1\u00a0=\u00a0", text)


def finished(text: str, lang: str = "en") -> str:
    """Return ``text``, plain or HTML, as it is shown."""
    return kept(singular(text, lang))
