"""Prose and readouts as HTML: Markdown files a teacher can edit, with the reader's numbers filled in.

A prose file is ``plates/prose/<slug>.md`` (English) or ``plates/prose/<lang>/<slug>.md``. It is cut into sections
by lines such as ``## why`` (one word in small letters; any other heading belongs to its section).
``{{ name }}`` is a fact of the plate (Jinja), ``$x$`` and ``$$x$$`` are LaTeX.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from plates.maths import mathml
from workshop import units
from workshop.expressions import READING
from workshop.ledger import Ledger

PROSE = Path(__file__).parent / "prose"
_LEDGER = ("tensor", "direction", "elements", "bytes", "why")
_NUMBER = re.compile(r"\d[\d,.]*(?<![,.])")
_FIELD = re.compile(r"\{[a-z]+\}")
_MARKS = (r"(?<=[.?!]) (?=\S)", r"; ")  # between sentences, between clauses
_WITHIN = r"(?:(?![.?!](?: |$)|; ).)"  # a character of one clause
_GAP = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef]) (?=[\u3000-\u9fff\uff00-\uffef])")  # Chinese has none
_SECTION = re.compile(r"## [a-z][A-Za-z0-9_]*$")
STATIC = Path(__file__).parent.parent / "static"


def _together(value: object) -> object:
    """Keep a number and its unit on one line."""
    return value.replace(" ", "\u00a0") if isinstance(value, str) and len(value) <= 24 else value


def unbroken(facts: dict) -> dict:
    """Return ``facts`` with each number and its unit on one line, for texts that are filled with ``format``."""
    return {name: _together(value) for name, value in facts.items()}


_jinja = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False, finalize=_together)


def _maths(content: str, options: dict) -> str:
    return mathml(content.strip(), block=options.get("display_mode", False))


_markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
_markdown.use(dollarmath_plugin, renderer=_maths, allow_digits=False, double_inline=True)


@lru_cache
def static(name: str) -> str:
    """Return the text of ``static/<name>``."""
    return (STATIC / name).read_text(encoding="utf-8")


def markdown(text: str) -> str:
    """Return Markdown ``text`` with its maths as HTML."""
    return _markdown.render(text)


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


@lru_cache(maxsize=512)
def _template(source: str) -> jinja2.Template:
    return _jinja.from_string(source)


def fill(source: str, facts: dict) -> str:
    """Return ``source`` with ``{{ name }}`` replaced by facts, still Markdown."""
    return _template(source).render(facts)


def section(slug: str, name: str, facts: dict, lang: str = "en") -> str:
    """Return section ``name`` of a plate's prose as HTML. A missing section raises KeyError with its file."""
    found = sections(slug, lang)
    if name not in found:
        raise KeyError(f"plates/prose/{slug}.md has no section '## {name}', only {sorted(found)}")
    return markdown(fill(found[name], facts))


@dataclass(frozen=True)
class Readout:
    """One number a reader sees: ``name`` for scripts, ``value`` in SI, ``text`` with its unit, ``label`` in words."""

    name: str
    value: float | int | str
    text: str
    label: str
    role: str = "ink"

    def html(self) -> str:
        """Return the readout as an element with ``data-readout`` and ``data-value``."""
        value = html.escape(str(self.value), quote=True)
        return (
            f'<div class="readout" style="--c:var(--{self.role})">'
            f'<b data-readout="{self.name}" data-value="{value}">{html.escape(self.text)}</b>'
            f"<span>{self.label}</span></div>"
        )


def inline_readout(name: str, value: float | int | str, shown: str) -> str:
    """Return a number inside a sentence or table as a readout element."""
    value = html.escape(str(value), quote=True)
    return f'<span data-readout="{name}" data-value="{value}">{html.escape(shown)}</span>'


def readouts(items: list[Readout]) -> str:
    """Return a strip of readouts."""
    return '<div class="readouts">' + "".join(item.html() for item in items) + "</div>"


def kind(name: str, explanation: str = "", lang: str = "en") -> str:
    """Return the small tag that says where a figure's numbers come from: model, compiled, recorded or live."""
    words = labels("page", lang, "kinds")
    if name not in words or name.startswith("about_"):
        raise ValueError(f"kind: expected one of {[k for k in words if '_' not in k]}, got {name!r}")
    title = html.escape(explanation or words[f"about_{name}"], quote=True)
    return f'<span class="kind kind-{name}" title="{title}">{words[name]}</span>'


def formula(general: str, numbers: str, spoken: str, note: str, role: str = "ink", lang: str = "en") -> str:
    """Return a formula block: the law and the reader's numbers (LaTeX), its reading aloud, a line below."""
    law = mathml(lettered(general, lang), block=True, reading=spoken)
    return (
        f'<div class="formula" style="--c:var(--{role})"><div class="law">{law}</div>'
        f'<div class="numbers">{mathml(lettered(numbers, lang), block=True)}</div><small>{note}</small></div>'
    )


def table(
    columns: list[tuple[str, bool]],
    rows: list[list[str]],
    total: list[str] | None = None,
    *,
    chosen: int | None = None,
) -> str:
    """Return an HTML table. ``columns``: (heading, is it a number); cells are HTML; ``total`` is the last row.

    ``chosen``: index of the row that is the reader's own, set in bold.
    """

    def line(cells: list[str], tag: str = "td", css: str = "") -> str:
        if len(cells) != len(columns):
            raise ValueError(f"table: expected {len(columns)} cells a row, got {len(cells)}: {cells}")
        inner = "".join(
            f"<{tag}{' class=n' if number else ''}>{cell}</{tag}>"
            for cell, (_, number) in zip(cells, columns, strict=True)
        )
        return f"<tr{css}>{inner}</tr>"

    mark = ' class=chosen aria-current="true"'
    body = "".join(line(row, css=mark if i == chosen else "") for i, row in enumerate(rows))
    if total is not None:
        body += line(total, css=" class=total")
    return f"<table><thead>{line([name for name, _ in columns], 'th')}</thead><tbody>{body}</tbody></table>"


def ledger(found: Ledger, element_bytes: int, title: str, lang: str = "en") -> str:
    """Return a folded table of a ledger: every line, and the total as their sum."""
    words = labels("page", lang, "ledger")
    columns = [(words[name], name in ("elements", "bytes")) for name in _LEDGER]

    def cells(name: str, direction: str, elements: int, why: str) -> list[str]:
        return [
            phrase(name, lang),
            direction,
            units.count(elements),
            units.bytes_(elements * element_bytes),
            html.escape(phrase(why, lang)),
        ]

    rows = [cells(line.tensor, words[line.direction], line.elements, line.why) for line in found.lines]
    body = table(columns, rows, cells(words["total"], "", found.total, ""))
    return f"<details><summary>{title}</summary>{body}</details>"
