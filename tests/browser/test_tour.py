"""Tours and keys in the browser: scrolling before a click, the presenter's remote, reload, Back, and leaving."""

from __future__ import annotations

import re
import time

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE

FOCUS = """() => {
  let e = document.activeElement
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
  return e?.className ?? ""
}"""


def at(page, slug: str, tour: str | None = "10") -> None:
    """Wait until the page stands on a plate, and on a tour or on none."""
    there = rf"[?&]plate={slug}&" + (f".*tour={tour}" if tour else "(?!.*tour=)")
    page.wait_for_url(re.compile(there))
    expect(page.locator("nav.tour")).to_have_count(1 if tour else 0)


def test_keys_scroll_a_fresh_page(watched):
    page = watched.open("?plate=traffic")
    main = page.locator(".main-content")
    for key in ("PageDown", "Space", "ArrowDown", "End"):
        page.keyboard.press(key)
        end = time.monotonic() + PATIENCE
        while not main.evaluate("m => m.scrollTop"):
            assert time.monotonic() < end, f"{key} scrolls nothing"
            page.wait_for_timeout(50)
        page.wait_for_timeout(500)  # browsers scroll smoothly
        main.evaluate("m => m.scrollTo({ top: 0, behavior: 'instant' })")


def test_present_leaves_the_focus_on_the_picture_and_space_plays(watched):
    page = watched.open("?plate=wall")
    page.wait_for_timeout(800)
    page.get_by_role("button", name="Present").click()
    page.wait_for_function(f"({FOCUS})().includes('scrubber')")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Present")).to_have_attribute("aria-pressed", "true")
    expect(page.locator("[data-act=play]").first).to_have_attribute("aria-label", re.compile("Pause", re.I))


def test_a_tour_is_walked_with_a_remote_reloaded_gone_back_on_and_left(watched):
    page = watched.open()
    page.get_by_role("link", name="10-minute tour").first.click()
    at(page, "wall")
    page.get_by_role("button", name="Present").click()
    page.keyboard.press("PageDown")
    at(page, "traffic")
    expect(page.locator("nav.tour")).to_contain_text("stop 2 of 5")
    page.keyboard.press("ArrowRight")
    at(page, "tiles")
    page.keyboard.press("PageUp")
    at(page, "traffic")
    page.reload()
    page.wait_for_selector("nav.tour")
    at(page, "traffic")
    page.get_by_role("link", name="Leave", exact=True).click()
    at(page, "traffic", None)
    page.go_back()
    at(page, "traffic")


def test_the_bar_offers_the_tours_and_closes_its_list(watched):
    page = watched.open("?plate=memory")
    page.get_by_text("Tours", exact=True).click()
    link = page.get_by_role("link", name="45-minute lesson")
    expect(link).to_be_visible()
    page.keyboard.press("Escape")
    expect(link).to_be_hidden()
    page.get_by_text("Tours", exact=True).click()
    link.click()
    at(page, "wall", "45")
