"""Back and Forward pressed faster than plates are shown: page and address agree, and no entry is written over."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser.test_page import query, wait_query

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
    at = len(ROUTE) - 1
    for move in (-1, -1, -1, -1, 1, 1, 1, -1, 1, -1, -1):
        page.evaluate("(move) => history.go(move)", move)
        page.wait_for_timeout(pause)
        at += move
    page.wait_for_timeout(800)
    # a browser may fold presses that come at once into one: the address says where we are, the bar must agree
    here = query(page)["plate"]
    shown(page, here)
    if pause:
        assert here == ROUTE[at]
    for slug in reversed(ROUTE[: ROUTE.index(here)]):
        page.go_back()
        shown(page, slug)
    for slug in ROUTE[1:]:
        page.go_forward()
        shown(page, slug)


def test_back_while_a_slider_is_moved_settles_on_one_value(watched):
    page = watched.open("?plate=traffic&N=16")
    wait_query(page, N="16", gpu="h100-sxm")
    for n in (64, 256, 1024):
        page.evaluate(FOLLOW, f"?N={n}")
        wait_query(page, N=str(n))
    slider = page.get_by_role("slider", name="N, tokens")
    slider.focus()
    for i in range(24):
        page.keyboard.press("ArrowLeft" if i % 3 else "ArrowRight")
        if i % 6 == 0:
            page.evaluate("history.back()")
        elif i % 6 == 3:
            page.evaluate("history.forward()")
    page.wait_for_timeout(1200)
    value = int(query(page)["N"])
    expect(page.get_by_role("textbox", name="N, tokens: type a value")).to_have_value(f"{value:,}")
    expect(slider).to_have_attribute("aria-valuetext", f"{value:,}")
