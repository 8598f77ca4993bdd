"""What fits the first screen: the sheet of controls on a phone, the picture of the trips on a desktop."""

from __future__ import annotations

from playwright.sync_api import expect

PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1400, "height": 1000}


def open_built(watched, size: dict, query: str):
    """Open a plate at ``size`` and wait until what is built later is there."""
    watched.page.set_viewport_size(size)
    page = watched.open(query)
    page.wait_for_function("() => Bokeh.documents.length && Bokeh.documents.every((d) => d.is_idle)")
    page.wait_for_timeout(700)
    return page


def test_the_sheet_of_controls_leaves_the_picture_and_a_readout_in_sight_and_closes(watched):
    page = open_built(watched, PHONE, "?plate=traffic")
    page.locator(".main-content").evaluate("(m) => m.scrollTo(0, 600)")
    opener = page.get_by_role("button", name="Controls", exact=True)
    opener.click()
    closer = page.get_by_role("button", name="Close controls")
    expect(closer).to_be_visible()
    expect(closer).to_be_focused()
    top = closer.bounding_box()["y"]
    assert top > PHONE["height"] * 0.55
    readout = page.locator("[data-readout=traffic-standard]").bounding_box()
    assert 0 < readout["y"] < top
    places = [
        page.get_by_role("slider", name=name).bounding_box()["y"] for name in ("N, tokens", "d, head size")
    ]
    assert places[1] - places[0] <= 52
    closer.click()
    expect(closer).to_be_hidden()
    expect(opener).to_be_focused()
    opener.press("Enter")
    expect(closer).to_be_focused()
    page.keyboard.press("Escape")
    expect(closer).to_be_hidden()
    expect(opener).to_have_attribute("aria-expanded", "false")


def test_the_picture_of_the_trips_fits_the_first_screen(watched):
    page = open_built(watched, DESKTOP, "?plate=wall")
    lanes = page.locator(".wall .lane")
    expect(lanes.last).to_be_visible()
    ends = lanes.evaluate_all("(lanes) => lanes.map((lane) => lane.getBoundingClientRect().bottom)")
    assert 0 < max(ends) < DESKTOP["height"]
