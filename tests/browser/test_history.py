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
