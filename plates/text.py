"""Prose and readouts as HTML: Markdown files a teacher can edit, with the reader's numbers filled in.

A prose file is ``plates/prose/<slug>.md`` (English) or ``plates/prose/<lang>/<slug>.md``. It is cut into sections
by lines such as ``## why`` (one word in small letters; any other heading belongs to its section).
``{{ name }}`` is a fact of the plate (Jinja), ``$x$`` and ``$$x$$`` are LaTeX.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import jinja2
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from plates.language import labels, lettered, phrase, sections
from plates.maths import mathml
from workshop import units
from workshop.ledger import Ledger

_LEDGER = ("tensor", "direction", "elements", "bytes", "why")
_FITS = 4  # columns that a phone has room for
# An item of a list of tasks: its link, then what it says. Loose text would be cut into one grid item a word in italics.
_TASK = re.compile(r"<li>\s*(?:<p>)?(<a [^>]*>.*?</a>)(.*?)(?:</p>)?\s*</li>", re.S)
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


@lru_cache(maxsize=512)
def _template(source: str) -> jinja2.Template:
    return _jinja.from_string(source)


def fill(source: str, facts: dict) -> str:
    """Return ``source`` with ``{{ name }}`` replaced by facts, still Markdown."""
    return _template(source).render(facts)


# A task and, quoted under it, its answer.
_ANSWERED = re.compile(r"^(- \[[^\]]*\]\((\?[^)\s]*)\).*\n)((?: +> .*(?:\n|$))+)", re.M)
_QUOTED = re.compile(r"\s*<blockquote>\s*<p>(.*?)</p>\s*</blockquote>", re.S)


def answered(source: str, facts_at: Callable[[str], dict]) -> str:
    """Fill the answers of tasks with ``facts_at(link)``: an answer speaks of the state to which its task leads."""

    def filled(task: re.Match) -> str:
        return task[1] + (fill(task[3].rstrip("\n"), facts_at(task[2])) + "\n" if "{" in task[3] else task[3])

    return _ANSWERED.sub(filled, source)


def tasks(source: str, facts: dict, lang: str) -> str:
    """Return the tasks of a plate as HTML: a link, what to do there, and a folded answer."""
    answer = labels("page", lang, "tasks")["answer"]
    body = _TASK.sub(r"<li>\1<div>\2</div></li>", markdown(fill(source, facts)))
    return _QUOTED.sub(rf"<details><summary>{answer}</summary><p>\1</p></details>", body)


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
    """Return a strip of readouts: in one row, or in rows of which none holds a single one."""
    count = len(items)
    size = "many" if count > _FITS else "four" if count == _FITS else "few"
    return (
        f'<div class="strip"><div class="readouts {size}" style="--all:{max(1, count)};--half:{(count + 1) // 2 or 1}">'
        + "".join(item.html() for item in items)
        + "</div></div>"
    )


def kind(name: str, explanation: str = "", lang: str = "en") -> str:
    """Return the small tag that says where a figure's numbers come from.

    ``name``: model, computed, compiled, recorded, live or cited.
    """
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


def _bare(markup: str) -> str:
    """Return ``markup`` without its tags, for an attribute."""
    return html.escape(" ".join(re.sub("<[^>]*>", " ", markup).split()), quote=True)


def table(
    columns: list[tuple[str, bool]],
    rows: list[list[str]],
    total: list[str] | None = None,
    *,
    chosen: int | None = None,
) -> str:
    """Return an HTML table. ``columns``: (heading, is it a number); cells are HTML; ``total`` is the last row.

    ``chosen``: index of the row that is the reader's own, set in bold. On a phone a row of many columns becomes a
    card, and in one of few the last cell, if it is words, gets a line of its own.
    """

    wide = len(columns) > _FITS
    noted = not wide and len(columns) > 2 and not columns[-1][1]
    labels = [f' data-label="{_bare(name)}"' if wide and name else "" for name, _ in columns]

    def line(cells: list[str], tag: str = "td", css: str = "") -> str:
        if len(cells) != len(columns):
            raise ValueError(f"table: expected {len(columns)} cells a row, got {len(cells)}: {cells}")
        inner = "".join(
            f"<{tag}{' class=n' if number else ''}{label if tag == 'td' else ''}>{cell}</{tag}>"
            for cell, (_, number), label in zip(cells, columns, labels, strict=True)
        )
        return f"<tr{css}>{inner}</tr>"

    mark = ' class=chosen aria-current="true"'
    body = "".join(line(row, css=mark if i == chosen else "") for i, row in enumerate(rows))
    if total is not None:
        body += line(total, css=" class=total")
    shape = ' class="wide"' if wide else f' class="noted" style="--cells:{len(columns) - 1}"' if noted else ""
    head = line([name for name, _ in columns], "th")
    return f"<table{shape}><thead>{head}</thead><tbody>{body}</tbody></table>"


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
