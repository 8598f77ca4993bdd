"""Back and Forward pressed faster than plates are shown: page and address agree, and no entry is written over."""

from __future__ import annotations

import random
import time

import pytest
from playwright.sync_api import expect

from tests.browser.random_walk import LOOK
from tests.browser.test_page import bytes_of, query, wait_query

FOLLOW = """(query) => {
  const link = document.body.appendChild(document.createElement("a"))
  link.href = query
  link.click()
  link.remove()
}"""
ROUTE = ("traffic", "tiles", "softmax", "memory", "roofline")


def shown(page, slug: str) -> None:
    """Wait until bar and address say ``slug``."""
    expect(page.locator("nav a[aria-current=page]")).to_have_attribute("href", f"?plate={slug}")
    wait_query(page, plate=slug)


@pytest.mark.parametrize("pause", [0, 40])
def test_a_storm_of_back_and_forward_leaves_every_entry_as_it_was(watched, pause):
    page = watched.open(f"?plate={ROUTE[0]}")
    wait_query(page, plate=ROUTE[0], N="8192")
    for slug in ROUTE[1:]:  # all clicked before the first is there
        page.evaluate(FOLLOW, f"?plate={slug}")
    shown(page, ROUTE[-1])
    for move in (-1, -1, -1, -1, 1, 1, 1, -1, 1, -1, -1):
        page.evaluate("(move) => history.go(move)", move)
        page.wait_for_timeout(pause)
    page.wait_for_timeout(800)
    # a browser may fold presses that come at once into one: the address says where we are, the bar must agree
    here = query(page)["plate"]
    shown(page, here)
    for slug in reversed(ROUTE[: ROUTE.index(here)]):
        page.go_back()
        shown(page, slug)
    for slug in ROUTE[1:]:
        page.go_forward()
        shown(page, slug)


def agree(watched, seconds: float = 15.0) -> int:
    """Wait until box, thumb, address and readout of N say the same, and go on saying it; returns N."""
    end, since, before = time.monotonic() + seconds, None, None
    while True:
        seen = watched.page.evaluate(LOOK)
        box, thumb = next(control[1:] for control in seen["controls"] if control[0] == "N")
        here = int(query(watched.page).get("N", "8192"))
        moved = float(dict(seen["readouts"])["traffic-standard"])
        now = (box, thumb, here, moved)
        if box == thumb == f"{here:,}" and moved == bytes_of("standard", N=here) and now == before:
            since = since or time.monotonic()
            if time.monotonic() - since > 1:
                return here
        else:
            since = None
        before = now
        assert time.monotonic() < end, f"box {box}, thumb {thumb}, address {here}, readout {moved}"
        watched.page.wait_for_timeout(50)


@pytest.mark.parametrize("seed", range(4))
def test_slider_keys_and_back_in_quick_alternation_come_to_agree(watched, seed):
    chance = random.Random(seed)
    page = watched.open("?plate=traffic")
    for N in (512, 2048, 8192, 32768, 131072, 1024):
        page.evaluate(FOLLOW, f"?N={N}")
        page.wait_for_timeout(100)
    page.get_by_role("slider", name="N, tokens").focus()
    at, last = 5, 5  # of the entries: never past the first, which would leave the page
    for _ in range(16):
        if chance.random() < 0.5:
            page.keyboard.press(chance.choice(["ArrowRight", "ArrowLeft"]))
        else:
            move = chance.choice([-1, -1, 1])
            if 0 <= at + move <= last:
                at += move
                page.evaluate("(move) => history.go(move)", move)
        page.wait_for_timeout(chance.choice([0, 0, 10, 25, 60]))
    agree(watched)


def test_a_typed_number_and_back_at_once_come_to_agree(watched):
    page = watched.open("?plate=traffic")
    page.evaluate(FOLLOW, "?N=512")
    wait_query(page, N="512")
    box = page.get_by_role("textbox", name="N, tokens: type a value")
    for typed in ("1,000", "3000", "512"):
        box.fill(typed)
        box.press("Enter")
        page.evaluate("history.back()")
        page.wait_for_timeout(15)
        page.evaluate("history.forward()")
        agree(watched)


def test_keys_pressed_before_all_is_drawn_are_answered_whole(watched):
    page = watched.page
    page.goto(watched.address + "?plate=traffic")
    slider = page.get_by_role("slider", name="N, tokens")
    slider.focus()  # the moment it is there
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowLeft")
    assert agree(watched) < 8192
