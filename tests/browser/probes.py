"""What the browser is asked about a page, as JavaScript, and what is read out of the answers."""

from __future__ import annotations

# The focused element through all shadow roots: its tag, its name, and whether anything about it or beside it shows
# the focus (an outline, a ring of shadow, or Material UI's own mark).
FOCUS = """() => {
  let e = document.activeElement
  while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement
  if (!e || e === document.body) return null
  const ring = (n) => {
    const s = getComputedStyle(n)
    return (s.outlineStyle !== "none" && parseFloat(s.outlineWidth) > 0) || s.boxShadow !== "none"
  }
  let shown = false
  for (let n = e, k = 0; n && k < 4 && !shown; n = n.parentElement, k++)
    shown = ring(n) || n.matches(".Mui-focusVisible, .Mui-focused")
  const name = e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.[0]?.textContent || ""
  return [e.tagName, name.slice(0, 60), shown]
}"""

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

# Every text of the page, shadow roots included: one for each element that has text of its own with what is inside
# it, and every label or tooltip. Code is left out; of a formula, its reading and its words are taken.
TEXTS = """() => {
  const found = new Set()
  const ATTRIBUTES = ["aria-label", "title", "alt", "placeholder", "aria-valuetext", "aria-description"]
  const children = (node) => [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]
  const inner = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.textContent
    if (node.nodeType !== Node.ELEMENT_NODE || ["STYLE", "SCRIPT", "CODE", "math"].includes(node.nodeName)) return " "
    return children(node).map(inner).join("")
  }
  const walk = (node) => {
    if (node.nodeType !== Node.ELEMENT_NODE || ["STYLE", "SCRIPT", "CODE"].includes(node.nodeName)) return
    for (const name of ATTRIBUTES) if (node.getAttribute(name)) found.add(node.getAttribute(name))
    if (node.nodeName === "math") {
      for (const word of node.querySelectorAll("mtext, mi")) found.add(word.textContent)
      return
    }
    const own = children(node)
    if (own.some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim()))
      found.add(inner(node).replace(/\\s+/g, " ").trim())
    own.forEach(walk)
  }
  walk(document.body)
  return [...found, document.title]
}"""

# Every figure on show: the sizes of its axes' texts, and how far each label reaches beyond the frame, in px, where
# Bokeh itself says it stands; texts of x ticks as [left, right] in px.
LOOK = """() => {
  const out = [], pen = document.createElement("canvas").getContext("2d")
  const size = (p) => p?.value ?? p
  const views = (view) => [view, ...[...view.children()].flatMap(views)]
  const plots = Bokeh.index.roots.flatMap(views).filter((v) => v.model.type === "Figure" && v.bbox.width > 0)
  for (const plot of plots) {
    const { left, right, top, bottom } = plot.frame.bbox
    const labels = views(plot).filter((v) => v.model.type === "Label" && v.model.visible && v.model.text && v._rect)
    const axes = views(plot).filter((v) => v.model.type.endsWith("Axis") && v.model.visible)
    const beyond = labels.map(({ model, _rect: { sx, sy, anchor, width, height } }) => {
      const x = sx - anchor.x * width, y = sy - anchor.y * height
      return [model.text, Math.max(left - x, x + width - right, top - y, y + height - bottom)]
    })
    const ticks = axes.filter((v) => v.dimension === 0).flatMap((v) => {
      const at = v.tick_coords.major[0], texts = v.model.formatter.doFormat(at, {})
      pen.font = `${size(v.model.major_label_text_font_size)} ${size(v.model.major_label_text_font)}`
      const x = [...plot.frame.x_scale.v_compute(at)]
      return texts.map((t, i) => [t, x[i], pen.measureText(t).width / 2]).filter(([t]) => t)
        .map(([, middle, half]) => [middle - half, middle + half])
    })
    const sizes = axes.flatMap((v) => [v.model.axis_label_text_font_size, v.model.major_label_text_font_size].map(size))
    out.push({ beyond, ticks: ticks.sort((a, b) => a[0] - b[0]), sizes, height: plot.bbox.height })
  }
  return out
}"""


def figures(page, count: int) -> list[dict]:
    """Return `LOOK` once ``count`` figures are there and at rest."""
    for _ in range(80):
        found = page.evaluate(LOOK)
        if len(found) >= count:
            break
        page.wait_for_timeout(250)
    page.wait_for_timeout(600)
    found = page.evaluate(LOOK)
    assert len(found) >= count
    return found


def sound(found: list[dict], where: str) -> None:
    """No label leaves its frame and no two ticks touch."""
    for figure in found:
        for text, px in figure["beyond"]:
            assert px <= 3, f"{where}: {text!r} reaches {px:.0f} px out of the frame"
        for (_, end), (start, _) in zip(figure["ticks"], figure["ticks"][1:], strict=False):
            assert start - end >= 4, f"{where}: ticks touch"
