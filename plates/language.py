"""The prose files in a language: their sections and labels, and what the models say, put into it.

A prose file is ``plates/prose/<slug>.md`` (English) or ``plates/prose/<lang>/<slug>.md``. It is cut into sections
by lines such as ``## why`` (one word in small letters; any other heading belongs to its section). The models speak
English; ``plates/prose/<lang>/models.md`` has their sentences, the names in formulas and how formulas are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from workshop.expressions import READING

PROSE = Path(__file__).parent / "prose"
_NUMBER = re.compile(r"\d[\d,.]*(?<![,.])")
_FIELD = re.compile(r"\{[a-z]+\}")
_MARKS = (r"(?<=[.?!]) (?=\S)", r"; ")  # between sentences, between clauses
_WITHIN = r"(?:(?![.?!](?: |$)|; ).)"  # a character of one clause
_GAP = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])")  # Chinese has none
_SECTION = re.compile(r"## [a-z][A-Za-z0-9_]*$")


def _sections(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    sections: dict[str, list[str]] = {"": []}
    lines = sections[""]
    for line in path.read_text(encoding="utf-8").splitlines():
        if _SECTION.match(line):
            lines = sections.setdefault(line[3:].strip(), [])
        else:
            lines.append(line)
    return {name: "\n".join(body).strip() for name, body in sections.items()}


@lru_cache
def sections(slug: str, lang: str = "en") -> dict[str, str]:
    """Return the sections of a prose file by name, English where ``lang`` has none."""
    found = _sections(PROSE / f"{slug}.md")
    if lang != "en":
        found = {**found, **{k: v for k, v in _sections(PROSE / lang / f"{slug}.md").items() if v}}
    return found


class Labels(dict):
    """Labels by key, which know their language: ``said`` and ``listed`` put what a model says into it."""

    def __init__(self, labels: Mapping[str, str], lang: str) -> None:
        super().__init__(labels)
        self.lang = lang

    def said(self, sentence: str) -> str:
        """Return a sentence of the models in the language of the labels, see `phrase`."""
        return phrase(sentence, self.lang)

    def pair(self, name: str, value: str) -> str:
        """Return a name with its value: "counted: 2.18 GB"."""
        return reading(self.lang)["name and value"].format(a=name, b=value)

    def listed(self, items: Iterable[str], between: str = "items") -> str:
        """Return ``items`` in a row, with what the language puts between "items", "parts" or "clauses"."""
        return reading(self.lang)[f"between {between}"].join(items)


@lru_cache
def labels(slug: str, lang: str = "en", name: str = "words") -> Labels:
    """Return the ``key: text`` lines of section ``name``: labels of pictures. English for those ``lang`` lacks."""

    def pairs(language: str) -> dict[str, str]:
        lines = sections(slug, language)[name].splitlines()
        return dict(line.split(": ", 1) for line in lines if ": " in line)

    return Labels({**pairs("en"), **pairs(lang)}, lang)


@lru_cache
def _phrases(lang: str) -> tuple[dict[str, str], tuple[tuple[re.Pattern, str], ...]]:
    """What ``prose/<lang>/models.md`` says in place of English sentences: pairs of a line and a ``> `` line.

    Returns the sentences by their text without its numbers, and those with ``{fields}`` as patterns, in order.
    """
    path = PROSE / lang / "models.md"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    pairs = [(a, b[2:]) for a, b in pairwise(lines) if b.startswith("> ") and not a.startswith(("> ", "#"))]
    plain = {_NUMBER.sub("#", a): b for a, b in pairs if not _FIELD.search(a)}
    return plain, tuple((_pattern(a), b) for a, b in pairs if _FIELD.search(a))


def _pattern(line: str) -> re.Pattern:
    """A line with ``{fields}`` as a pattern: any number for each of its numbers, any text for each of its fields."""
    parts = re.split(rf"({_NUMBER.pattern}|{_FIELD.pattern})", line)
    return re.compile(
        "".join(
            f"(?P<{part[1:-1]}>{_WITHIN}+?)"
            if _FIELD.fullmatch(part)
            else f"({_NUMBER.pattern})"
            if _NUMBER.fullmatch(part)
            else re.escape(part)
            for part in parts
        ),
        re.DOTALL,
    )


def _filled(translation: str, numbers: Iterable[str], fields: Mapping[str, str]) -> str:
    rest = iter(numbers)
    said = re.sub("#", lambda _: next(rest, "#"), translation)
    # after the numbers: a number sign in a field is its own
    return _GAP.sub("", _FIELD.sub(lambda field: fields[field[0][1:-1]], said)) if fields else said


@lru_cache(maxsize=4096)
def phrase(sentence: str, lang: str = "en") -> str:
    """Return a sentence of the models in ``lang``, English where no translation is known.

    Sentences that differ only in their numbers are one: ``#`` in a translation takes them, in order. ``{fields}``
    of a line stand for any text, which is itself translated where it is known. What no line is found for is
    translated sentence by sentence, and a sentence clause by clause.
    """
    if lang == "en":
        return sentence
    plain, patterns = _phrases(lang)
    found = plain.get(_NUMBER.sub("#", sentence))
    if found is not None:
        return _filled(found, _NUMBER.findall(sentence), {})
    for pattern, translation in patterns:
        match = pattern.fullmatch(sentence)
        if match:
            fields = {name: phrase(value, lang) for name, value in match.groupdict().items()}
            named = set(pattern.groupindex.values())
            numbers = [value for i, value in enumerate(match.groups(), 1) if i not in named]
            return _filled(translation, numbers, fields)
    sentences, clauses = (re.split(mark, sentence) for mark in _MARKS)
    if len(sentences) > 1:
        said = [phrase(one, lang) for one in sentences]
        return "".join(one if one.endswith("。") else f"{one} " for one in said).rstrip()
    if len(clauses) > 1:
        return reading(lang)["between clauses"].join(phrase(one, lang) for one in clauses)
    bare = sentence.removesuffix(".")
    if bare != sentence and phrase(bare, lang) != bare:
        return f"{phrase(bare, lang)}。"
    return sentence


@lru_cache
def reading(lang: str = "en") -> dict[str, str]:
    """Return how formulas are read in ``lang``: ``## reading`` of its ``models.md``, English for what it lacks."""
    lines = _sections(PROSE / lang / "models.md").get("reading", "").splitlines()
    return {
        "between clauses": "; ",
        "between items": ", ",
        "between parts": ", ",
        "name and value": "{a}: {b}",
        **READING,
        **dict(line.split(": ", 1) for line in lines if ": " in line),
    }


def lettered(latex: str, lang: str = "en") -> str:
    """Return LaTeX with the names and units that are set upright in it in ``lang``."""

    def name(found: re.Match) -> str:
        english = found[2].replace("\\ ", " ")
        said = reading(lang).get(english) or phrase(english, lang)
        return found[0] if said == english else rf"\text{{{said}}}"

    return latex if lang == "en" else re.sub(r"\\(mathrm|text)\{([^{}]*)\}", name, latex)
