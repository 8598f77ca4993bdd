"""Words and numbers inside the hand-drawn pictures: large enough to read, none over another, none outside."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_merge_of_a_cut_cache(watched, width, lang):
    watched.page.set_viewport_size({"width": width, "height": 900})
    for pieces in (8, 1, 24, 96):
        page = watched.open(f"?plate=serving&lang={lang}&splits={pieces}")
        sheet = page.locator(".split .sheet")
        sheet.focus()
        for key in ("Home", "ArrowRight", "End"):
            page.keyboard.press(key)
            assert not sheet.evaluate(FAULTS, 12)
        for name in ("ground", "share"):
            outside = sheet.evaluate(
                """(root, name) => [...root.querySelectorAll("." + name)].filter((n) => {
                  const [box, svg] = [n, n.ownerSVGElement].map((node) => node.getBoundingClientRect())
                  return box.left < svg.left + 0.4 || box.right > svg.right - 0.4
                }).length""",
                name,
            )
            assert not outside, f"{name}: {outside} touch the edge and lose their stroke"
