"""The review as a reader uses it: quiz by keyboard and by ear, guesses before curves, terms by address."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from workshop import quiz
from workshop.hardware import GPUS
from workshop.problem import Problem, Tile

QUESTIONS = {q.slug: q for q in quiz.questions(Problem(), Tile(), GPUS["h100-sxm"])}


def of(level: str) -> list[quiz.Question]:
    return [q for q in QUESTIONS.values() if q.level == level]


def score(page) -> tuple[int, int]:
    """(right, answered) as the page says it."""
    text = page.locator(".total .muted").inner_text()
    return tuple(int(n) for n in re.match(r"(\d+) right of (\d+)", text).groups())


def test_a_whole_level_by_keyboard_alone(watched):
    """Arrow keys choose, Enter checks, the focus goes to Next, and the score counts both."""
    page = watched.open("?plate=review")
    first = page.locator(".choice input").first
    first.focus()
    right = 0
    for number, question in enumerate(of("concept")):
        expect(page.locator(".numbers [aria-current]")).to_have_text(str(number + 1))
        expect(page.locator(".choice input")).to_have_count(quiz.CHOICES)
        assert "answer" not in page.locator(".sheet").inner_html().split("</fieldset>")[0].lower()
        aim = question.choices.index(question.right) if number % 2 == 0 else 0
        page.keyboard.press("Space")
        for _ in range(aim):
            page.keyboard.press("ArrowDown")
        right += question.choices[aim] == question.right
        page.keyboard.press("Enter")
        expect(page.locator(".answer")).to_be_visible()
        assert score(page) == (right, number + 1)
        assert page.locator(".choice.right input").get_attribute("value") == question.right
        expect(page.locator("button.next")).to_be_focused()
        page.keyboard.press("Enter")
    # the level is done: the next one opens
    expect(page.locator(".levels [aria-pressed=true]")).to_contain_text("Numbers")


def test_the_quiz_names_itself_to_a_screen_reader(watched):
    page = watched.open("?plate=review")
    question = of("concept")[0]
    group = page.get_by_role("group", name="What does FlashAttention change")
    expect(group).to_be_visible()
    assert group.get_by_role("radio").count() == quiz.CHOICES
    check = page.get_by_role("button", name="Check", exact=True)
    expect(check).to_be_disabled()
    page.locator(f'.choice input[value="{question.right}"]').check()
    expect(check).to_be_enabled()
    check.click()
    said = page.get_by_role("status").filter(has_text="Right.")
    expect(said.first).to_contain_text("The products are the same")


def test_answers_survive_a_look_at_the_plate_that_explains_and_no_message_is_needed(watched):
    page = watched.open("?plate=review")
    sent = []
    page.on("websocket", lambda ws: ws.on("framesent", sent.append))
    page.locator(".choice input").first.check()
    page.get_by_role("button", name="Check", exact=True).click()
    assert score(page)[1] == 1
    page.locator(".answer a").click()
    expect(page.locator(".kicker")).to_contain_text("Plate I of")
    page.go_back()
    expect(page.locator(".total .muted")).to_contain_text("of 1 answered")
    page.get_by_role("button", name="Start over").click()
    expect(page.locator(".total .muted")).to_contain_text("of 0 answered")
    assert not sent


def test_new_settings_make_new_numbers_and_void_only_their_answers(watched):
    page = watched.open("?plate=review")
    page.locator(".choice input").first.check()
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_role("button", name=re.compile("^Numbers")).click()
    page.locator('.choice input[value="right"]').check()
    page.get_by_role("button", name="Check", exact=True).click()
    assert score(page)[1] == 2
    page.get_by_role("link", name="Short sequence").click()
    expect(page.locator(".sheet legend")).to_contain_text("N = 512")
    expect(page.locator(".sheet .answer")).to_have_count(0)
    assert score(page)[1] == 1


@pytest.mark.parametrize("width", [1400, 390])
def test_the_curve_comes_only_after_the_guess(watched, width):
    page = watched.page
    page.set_viewport_size({"width": width, "height": 900})
    watched.open("?plate=review")
    cards = page.locator(".cards .card")
    expect(cards).to_have_count(3)
    assert page.locator(".cards svg").count() == 0
    assert "874" not in cards.first.inner_text()
    slider = cards.first.get_by_role("slider", name="Your guess")
    slider.focus()
    page.keyboard.press("ArrowRight")
    expect(slider).to_have_attribute("aria-valuetext", "256")
    cards.first.get_by_role("button", name="Show the curve").click()
    expect(cards.first.locator("svg")).to_be_visible()
    expect(cards.first).to_contain_text("Too low by a factor of 3.41×")
    expect(cards.first.locator("text.guessed")).to_have_text("your guess: 256")
    expect(cards.first.locator("text.model")).to_have_text("model: N = 874")
    box, plot = cards.first.locator("text.model").bounding_box(), cards.first.bounding_box()
    assert plot["x"] <= box["x"] and box["x"] + box["width"] <= plot["x"] + plot["width"]
    assert page.locator(".cards svg").count() == 1
    cards.first.get_by_role("button", name="Guess again").click()
    expect(cards.first.locator("svg")).to_have_count(0)


@pytest.mark.parametrize("width", [390, 1400])
def test_no_name_in_the_schedule_leaves_its_block(watched, width):
    watched.page.set_viewport_size({"width": width, "height": 1000})
    page = watched.open("?plate=review")
    block = page.locator(".task")
    expect(block.first).to_be_attached()
    page.wait_for_timeout(300)
    rooms = block.evaluate_all(
        """all => all.map((task) => {
          const name = task.firstChild, a = name.getBoundingClientRect(), b = task.getBoundingClientRect()
          return [name.style.visibility === "hidden", a.left - b.left, b.right - a.right]
        })"""
    )
    shown = [room for hidden, *room in rooms if not hidden]
    assert shown and min(min(room) for room in shown) >= 5


def test_the_schedule_switches_and_the_address_says_so(watched):
    page = watched.open("?plate=review")
    page.get_by_role("button", name="4", exact=True).last.click()
    expect(page.locator(".verdict").first).to_contain_text("under FlashAttention-4")
    expect(page.locator(".task.polynomial").first).to_be_attached()
    page.wait_for_url(re.compile("generation=fa4"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_address_brings_a_term_into_view_and_the_search_finds_others(watched, theme):
    page = watched.open(f"?plate=review&term=hbm&theme={theme}")
    named = page.locator("dl .named")
    expect(named).to_contain_text("HBM")
    expect(named).to_be_in_viewport()
    page.get_by_label("Find a term").fill("logsumexp")
    expect(page.locator("dl > div:visible")).to_have_count(1)
    expect(page.get_by_text("1 found")).to_be_visible()
