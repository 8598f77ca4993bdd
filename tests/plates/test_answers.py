"""Every task has an answer, and its numbers are those of the state to which the task leads."""

from __future__ import annotations

import html
import re

import jinja2
import jinja2.meta
import pytest

from plates import text
from plates.registry import PLATES
from plates.settings import LANGUAGES
from tests.plates.walk import open_plate, turn

LINK = re.compile(r"<li>(<a .*?</a>)<div>(.*?)</div></li>", re.S)
ANSWER = re.compile(r"<details><summary>[^<]+</summary>(.*?)</details>", re.S)


def shown(atlas) -> list[tuple[str, str]]:
    """Return the link and the answer of each task of the plate on show."""
    page = atlas.plates[atlas.settings.plate]._texts["try"].object
    items = LINK.findall(page)
    assert len(items) == page.count("<li>"), "a task is a link and what to do there"
    out = []
    for link, body in items:
        answers = ANSWER.findall(body)
        assert len(answers) == 1, (
            f"{link}: {len(answers)} answers; write one under the task, '  > Because ...'"
        )
        out.append((html.unescape(re.search('href="([^"]*)"', link)[1]), answers[0]))
    return out


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.slug)
def test_every_task_has_an_answer(plate, lang):
    found = shown(open_plate(plate.slug, f"&lang={lang}"))
    assert found, (
        f"plates/prose/{plate.slug}.md, ## try: write a task as '- [link](?N=512) What to look for.'"
    )
    for link, answer in found:
        assert len(re.sub("<[^>]*>", "", answer)) > 8, link
        assert "{" not in re.sub("<math.*?</math>", "", answer, flags=re.S), link


@pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.slug)
def test_answers_speak_of_the_state_to_which_the_task_leads(plate):
    source = text.sections(plate.slug)["try"]
    tasks = dict(re.findall(r"^- \[[^\]]*\]\((\?[^)\s]*)\).*\n +> (.*)", source, re.M))
    environment = jinja2.Environment()
    atlas = open_plate(plate.slug)
    first = dict(shown(atlas))
    for link, answer in tasks.items():
        names = jinja2.meta.find_undeclared_variables(environment.parse(answer))
        if not names or "plate=" in link:
            continue
        # the answer as it stands before and after the reader has followed the task is one
        after = dict(shown(turn(atlas, f"&{link[1:]}")))[link]
        assert first[link] == after, link
        facts = atlas.plates[plate.slug]._latest
        for name in re.findall(r"\{\{ (\w+) \}\}", answer):
            assert str(facts[name]) in html.unescape(re.sub(r"<[^>]*>", "", after)).replace("\u00a0", " "), (
                link,
                name,
            )
