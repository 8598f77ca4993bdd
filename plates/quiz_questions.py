"""Questions as the browser shows them: the numbers of ``workshop.quiz`` put into the words of ``prose/quiz.md``."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from zlib import crc32

from plates import text, typography
from workshop import quiz, units
from workshop.hardware import GPU
from workshop.problem import Problem, Tile

_CHOICE = re.compile(r"- (\w+)(?:: ([^|]*))?\s*(?:\|(.*))?$")


@dataclass(frozen=True)
class Words:
    """A section of the quiz's prose: the question, {key: (words, remark)} of its choices, the explanation."""

    question: str
    choices: dict[str, tuple[str, str]]
    why: str


def parse(source: str) -> Words:
    """Cut a section into its parts. A line that looks like a choice but is none raises ValueError with the line."""
    question, why, choices = [], [], {}
    for line in source.splitlines():
        if line.startswith("- "):
            found = _CHOICE.match(line)
            if not found:
                raise ValueError(f"quiz.md: expected '- key: words | remark', got {line!r}")
            key, words, remark = (part.strip() if part else "" for part in found.groups())
            choices[key] = (words, remark)
        elif line.startswith(">"):
            why.append(line[1:].strip())
        else:
            question.append(line)
    return Words(" ".join(question).strip(), choices, " ".join(why))


@lru_cache(maxsize=4096)
def inline(markdown: str) -> str:
    """Markdown of one sentence as HTML without a paragraph around it."""
    return typography.kept(text.markdown(markdown).strip().removeprefix("<p>").removesuffix("</p>"))


def facts(problem: Problem, tile: Tile, gpu: GPU) -> dict:
    """What any question may name."""
    return {
        "N": units.count(problem.N),
        "d": problem.d,
        "H": problem.H,
        "heads": units.count(problem.heads),
        "dtype": problem.dtype,
        "causal": problem.causal,
        "Br": units.count(tile.Br),
        "Bc": units.count(tile.Bc),
        "M": units.binary(tile.M_bytes),
        "gpu": gpu.name,
    }


def _shown(question: quiz.Question, common: dict, lang: str, name: Callable[[str], str | None]) -> dict:
    source = text.sections("quiz", lang)[question.slug]
    own = {k: text.phrase(v, lang) if isinstance(v, str) else v for k, v in question.facts.items()}
    words = parse(typography.singular(text.fill(source, {**common, **own}), lang))
    choices = []
    for key in question.choices:
        label, remark = words.choices.get(key, ("", ""))
        label = (
            html.escape(text.phrase(question.texts[key], lang)) if key in question.texts else inline(label)
        )
        if not label:
            raise KeyError(
                f"plates/prose/quiz.md: question '## {question.slug}' has no words for choice {key!r}"
            )
        choices.append({"key": key, "html": label, "remark": inline(remark) if key != question.right else ""})
    asked, why = inline(words.question), inline(words.why)
    link = name(question.plate)
    sign = crc32(repr((asked, [choice["html"] for choice in choices], question.right)).encode())
    return {
        "slug": question.slug,
        "level": question.level,
        "computed": question.computed,
        "html": asked,
        "choices": choices,
        "right": question.right,
        "why": why,
        "link": {"href": f"?plate={question.plate}", "name": link} if link else None,
        "sign": sign,  # an answer given to other numbers no longer counts
    }


def shown(problem: Problem, tile: Tile, gpu: GPU, lang: str, name: Callable[[str], str | None]) -> list[dict]:
    """Return all questions ready for the browser; ``name`` gives a plate's name by slug, None if there is none."""
    common = facts(problem, tile, gpu)
    return [_shown(question, common, lang, name) for question in quiz.questions(problem, tile, gpu)]
