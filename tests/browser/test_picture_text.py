"""Words and numbers inside the hand-drawn pictures: large enough to read, none over another, none outside."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import expect

from plates.loop import play
from plates.memory import _SHAPES as SHAPES
from workshop.score_patterns import PATTERNS, make
from workshop.trace import trace

NUMBER = re.compile(r"^−?\d\.\d\d$")
WIDTHS = [1400, 768, 390]

# Of the picture that `root` is: texts that are too small, that meet one another, or that leave it.
FAULTS = """(root, least) => {
  const edge = root.getBoundingClientRect()
  const texts = [...root.querySelectorAll("svg text")].filter((n) => n.textContent.trim() && n.getClientRects().length)
  const boxes = texts.map((n) => ({ said: n.textContent, ...n.getBoundingClientRect().toJSON() }))
  const scale = (n) => n.ownerSVGElement.getBoundingClientRect().width / n.ownerSVGElement.viewBox.baseVal.width || 1
  const found = []
  boxes.forEach((a, k) => {
    const size = parseFloat(getComputedStyle(texts[k]).fontSize) * scale(texts[k])
    if (size < least) found.push(`${a.said}: ${size.toFixed(1)} px`)
    if (a.left < edge.left - 1 || a.right > edge.right + 1) found.push(`${a.said}: outside`)
    for (const b of boxes.slice(k + 1))
      if (a.left < b.right && b.left < a.right && a.top + 4 < b.bottom && b.top + 4 < a.bottom)
        found.push(`${a.said} over ${b.said}`)
  })
  return found
}"""


def at_every_width(page) -> Iterator[int]:
    """Give the window each width in turn."""
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(250)
        yield width


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_merge_of_a_cut_cache(watched, lang):
    watched.open(f"?plate=serving&lang={lang}")
    for pieces in (8, 1, 24, 96):
        page = watched.follow(f"?splits={pieces}")
        sheet = page.locator(".split .sheet")
        for width in at_every_width(page):
            sheet.focus()
            for key in ("Home", "ArrowRight", "End"):
                page.keyboard.press(key)
                assert not sheet.evaluate(FAULTS, 12), (pieces, width, key)
            for name in ("ground", "share"):
                outside = sheet.evaluate(
                    """(root, name) => [...root.querySelectorAll("." + name)].filter((n) => {
                      const [box, svg] = [n, n.ownerSVGElement].map((node) => node.getBoundingClientRect())
                      return box.left < svg.left + 0.4 || box.right > svg.right - 0.4
                    }).length""",
                    name,
                )
                assert not outside, (
                    f"{pieces}, {width} px, {name}: {outside} touch the edge and lose their stroke"
                )


# Of the numbers of a heat map: those wider than the pitch of the numbers beside them, or too small to read.
CELLS = """(root) => [...root.querySelectorAll("svg")].flatMap((map) => {
  const texts = [...map.querySelectorAll("text.number, text.value")].filter((n) => n.textContent)
  const boxes = texts.map((n) => ({ said: n.textContent, ...n.getBoundingClientRect().toJSON() }))
  const middle = (box) => (box.left + box.right) / 2
  const columns = [...new Set(boxes.map((box) => Math.round(middle(box))))].sort((a, b) => a - b)
  const pitch = Math.min(...columns.slice(1).map((x, k) => x - columns[k]).filter((gap) => gap > 2))
  const wide = boxes.filter((box) => box.width > pitch - 1).map((box) => `${box.said}: ${box.width} of ${pitch}`)
  const small = texts.filter((n) => parseFloat(getComputedStyle(n).fontSize) < 11.5).map((n) => n.textContent)
  return [...wide, ...small]
})"""


@pytest.mark.parametrize("shape", SHAPES)
def test_numbers_of_the_backward_tile_stay_in_their_cells(watched, shape):
    Br, Bc = SHAPES[shape]
    data = play(Br, Bc, False, "bf16", "en")
    lowest = min(range(len(data["tiles"])), key=lambda n: np.min(data["tiles"][n]["dp"]))
    step = max(n for n, step in enumerate(data["steps"]) if step["tile"] == lowest)
    page = watched.open(f"?plate=memory&blocks={shape}&step={step}")
    tiles = page.locator("section.walk .tiles")
    for width in at_every_width(page):
        expect(tiles.locator("text.number").nth(2 * Br * Bc)).to_have_text(NUMBER)
        assert not tiles.evaluate(CELLS), width
        assert not tiles.evaluate(FAULTS, 11.5), width


def test_numbers_of_the_softmax_tile_stay_in_their_cells(watched):
    watched.open("?plate=softmax")
    for pattern in PATTERNS:
        run = trace(make(pattern, 32, 8), 8, 8)
        lowest = min(range(len(run.visits)), key=lambda n: np.min(run.visits[n].update.s))
        step = max(n for n, step in enumerate(run.steps) if step.visit == lowest)
        page = watched.follow(f"?pattern={pattern}&step={step}")
        watched.wait_value("step", step)
        tile = page.locator(".panel-tile")
        for width in at_every_width(page):
            # hundreds of thousands below zero find no room in a cell of a phone: the map is shaded alone
            numbers = 0 if pattern == "extreme" and width < 500 else 2 * 8 * 8
            expect(tile.locator("text.heading")).to_have_count(2)
            expect(tile.locator("text.value")).to_have_count(numbers)
            assert not tile.evaluate(CELLS), (pattern, width)
            assert not tile.evaluate(FAULTS, 11.5), (pattern, width)
