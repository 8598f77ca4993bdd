"""What fits: tables, formulas, the bar and the sheet of controls at the widths that readers have."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from plates.registry import PLATES

SLUGS = [plate.slug for plate in PLATES]
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1400, "height": 1000}

# Every element of the page, through all shadow roots, folded parts opened.
ALL = """
  const all = []
  const walk = (root) => {
    for (const e of root.querySelectorAll("*")) {
      all.push(e)
      if (e.tagName === "DETAILS") e.open = true
      if (e.shadowRoot) walk(e.shadowRoot)
    }
  }
  walk(document)
"""
# Tables and formulas that are wider than their boxes: what they are, by how many px, and whether a shadow says so.
WIDER = f"""() => {{ {ALL}
  return all
    .filter((e) => e.matches("table, .formula") && e.offsetParent && e.scrollWidth > e.clientWidth + 1)
    .map((e) => {{
      const s = getComputedStyle(e)
      const cue = s.backgroundAttachment.includes("local") && s.overflowX === "auto"
      return [e.tagName, e.textContent.trim().slice(0, 60), e.scrollWidth - e.clientWidth, cue]
    }})
}}"""
# A child of a table or formula that sticks out of the page.
CUT = f"""() => {{ {ALL}
  return all
    .filter((e) => e.matches("td, th, math, .readout b") && e.getClientRects().length)
    .filter((e) => {{
      const box = e.closest("table, .formula")
      return !box || box.scrollWidth <= box.clientWidth + 1
    }})
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
    .map((e) => e.textContent.trim().slice(0, 60))
}}"""
# Rows of readouts and of the numbers of a report in which one stands alone.
LONELY = f"""() => {{ {ALL}
  const found = []
  for (const grid of all.filter((e) => e.matches(".readouts, .compiled dl") && e.getClientRects().length)) {{
    const rows = new Map()
    for (const item of grid.children) {{
      const box = item.getBoundingClientRect()
      if (!box.width) continue
      const row = rows.get(Math.round(box.top)) ?? []
      row.push(box.width > grid.clientWidth * 0.9)
      rows.set(Math.round(box.top), row)
    }}
    const lonely = [...rows.values()].some((row) => row.length === 1 && !row[0])
    if (rows.size > 1 && lonely) found.push(grid.textContent.slice(0, 60))
  }}
  return found
}}"""
# Whether an item of the bar is inside the strip that scrolls, and the strip inside the page.
INSIDE = """(item) => {
  const [a, b] = [item.getBoundingClientRect(), item.closest("nav").getBoundingClientRect()]
  return a.left >= b.left - 1 && a.right <= b.right + 1 && b.right <= innerWidth
}"""


def open_built(watched, size: dict, query: str):
    """Open a plate at ``size`` and wait until what is built later is there."""
    watched.page.set_viewport_size(size)
    page = watched.open(query)
    page.wait_for_function("() => Bokeh.documents.length && Bokeh.documents.every((d) => d.is_idle)")
    page.wait_for_timeout(700)
    return page


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("slug", SLUGS)
def test_every_table_and_formula_fits_a_desktop_and_says_when_it_scrolls_on_a_phone(watched, slug, lang):
    page = open_built(watched, DESKTOP, f"?plate={slug}&lang={lang}")
    assert not page.evaluate(WIDER)
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(600)
    assert all(cue for *_, cue in page.evaluate(WIDER))
    assert not page.evaluate(CUT)


@pytest.mark.parametrize("slug", SLUGS)
def test_no_readout_stands_alone_and_the_plate_on_show_is_in_sight_in_the_bar(watched, slug):
    page = open_built(watched, PHONE, f"?plate={slug}")
    for width in (390, 768, 1000, 1280, 1400):
        page.set_viewport_size({"width": width, "height": 720})
        item = page.locator("nav a[aria-current=page]").element_handle()
        page.wait_for_function(INSIDE, arg=item, timeout=20_000)
        page.wait_for_timeout(400)
        assert not page.evaluate(LONELY), f"at {width} px"


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
