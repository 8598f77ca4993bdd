"""Figures before an audience: larger wherever they come from. What holds on every plate is in `test_every_plate`."""

from __future__ import annotations

from plates.figures import PROJECTOR, SMALL
from tests.browser.probes import figures, sound


def test_the_charts_of_the_machine_which_come_late_are_like_all_others(watched):
    page = watched.page
    watched.open("?plate=machine")
    page.get_by_role("button", name="Present").click()
    found = figures(page, 7)
    assert {size for figure in found for size in figure["sizes"]} == {f"{SMALL * PROJECTOR:g}px"}


def test_a_projector_enlarges_a_plate_that_is_open_and_one_opened_afterwards(watched):
    page = watched.page
    page.set_viewport_size({"width": 1920, "height": 1080})
    watched.open("?plate=traffic")
    (before,) = figures(page, 1)
    assert set(before["sizes"]) == {f"{SMALL}px"}
    page.get_by_role("button", name="Present").click()
    (now,) = figures(page, 1)
    assert set(now["sizes"]) == {f"{SMALL * PROJECTOR:g}px"} and now["height"] > 1.3 * before["height"]
    page.locator("nav a[href='?plate=memory']").first.click()
    later = figures(page, 4)
    assert {size for figure in later for size in figure["sizes"]} == {f"{SMALL * PROJECTOR:g}px"}
    sound(later, "memory while presenting")
