// Direct labels of one figure, kept legible at any width and text size: the axis leaves room for the names at the
// ends of curves, names at one place move apart, and no label leaves the frame. Only the browser knows the widths.
// What moves a label stays in the browser, so that Python's own offsets count whenever they change.
const value = (property) => property?.value ?? property
const fit = () => {
  if (fig.properties.inner_width.is_unset || fig.properties.inner_height.is_unset) return
  const w = fig.inner_width, h = fig.inner_height
  const pen = (globalThis.atlas_pen ??= document.createElement("canvas").getContext("2d"))
  const across = (x, span, log) =>
    log ? Math.log(x / span.start) / Math.log(span.end / span.start) : (x - span.start) / (span.end - span.start)
  const labels = fig.center.filter((m) => m.type === "Label" && m.visible && m.text !== "")
  const items = labels.map((label) => {
    const base = { x_offset: label.x_offset, y_offset: label.y_offset }
    for (const name of ["x_offset", "y_offset"]) {
      const moved = label.atlas_moved?.[name]
      if (moved && moved.to === label[name]) base[name] = moved.from
    }
    const size = parseFloat(value(label.text_font_size))
    pen.font = `${value(label.text_font_style)} ${size}px ${value(label.text_font)}`
    const lines = label.text.split("\n")
    const pad = typeof label.padding === "number" ? 2 * label.padding : 0
    return {
      label, base, end: label.tags.includes("end"),
      width: Math.max(...lines.map((line) => pen.measureText(line).width)) + pad + 1,
      height: 1.3 * size * lines.length + pad,
      lean: { left: 0, center: 0.5, right: 1 }[value(label.text_align)] ?? 0,
      drop: { top: 0, middle: 0.5, bottom: 1 }[value(label.text_baseline)] ?? 0.85,
    }
  })
  const ends = items.filter((item) => item.end)
  if (last > 0) {
    const start = fig.x_range.start
    const reach = ends.map((item) => {
      const free = Math.max(w - item.base.x_offset - item.width - 2, 0.3 * w)
      return Math.log(item.label.x / start) * (w / free)
    })
    const end = start * Math.exp(Math.max(Math.log(last / start), ...reach))
    if (Math.abs(end / fig.x_range.end - 1) > 1e-6) fig.x_range.setv({ end }, { sync: false })
  }
  for (const item of items) {
    const { label, base, width, height } = item
    item.anchor = across(label.x, fig.x_range, x_log) * w
    item.left = item.anchor + base.x_offset - item.lean * width
    item.top = (1 - across(label.y, fig.y_range, y_log)) * h - base.y_offset - item.drop * height
    item.dx = item.dy = 0
  }
  spread(ends, h)
  for (const item of items) {
    const { left, width, height } = item
    const top = item.top + item.dy
    item.dy += Math.max(0, Math.min(top, h - height)) - top
    const fits = (x) => x >= 0 && x + width <= w
    if (fits(left)) continue
    // to the other side of its point, as far from it, where nobody else stands there; or as little as will do
    const mirrored = 2 * item.anchor - left - width
    const free = (x) => items.every((other) => other === item || apart(other, x, item.top + item.dy, width, height))
    item.dx = (fits(mirrored) && free(mirrored) ? mirrored : Math.max(0, Math.min(left, w - width))) - left
  }
  items.forEach(move)
}
const apart = (other, x, y, width, height) => {
  const left = other.left + other.dx, top = other.top + other.dy
  return left >= x + width || left + other.width <= x || top >= y + height || top + other.height <= y
}
// Apart by a line's height in the order in which they stand, with the least shift, and inside the frame.
const spread = (ends, h) => {
  const order = [...ends].sort((a, b) => a.top + a.height / 2 - b.top - b.height / 2)
  const groups = []
  for (const item of order) {
    groups.push({ items: [item], middle: item.top + item.height / 2, height: item.height })
    while (groups.length > 1) {
      const [above, below] = groups.slice(-2)
      if (below.middle - above.middle >= (above.height + below.height) / 2) break
      const items = [...above.items, ...below.items]
      const middle = items.reduce((sum, i) => sum + i.top + i.height / 2, 0) / items.length
      groups.splice(-2, 2, { items, middle, height: above.height + below.height })
    }
  }
  let floor = 0
  for (const group of groups) {
    let at = Math.max(floor, group.middle - group.height / 2)
    for (const item of group.items) {
      item.dy = at - item.top
      at += item.height
    }
    floor = at
  }
  let ceiling = h
  for (const item of order.reverse()) {
    item.dy = Math.min(item.dy, ceiling - item.height - item.top)
    ceiling = item.top + item.dy
  }
}
const move = ({ label, base, dx, dy }) => {
  const to = {
    x_offset: Math.abs(dx) < 0.5 ? base.x_offset : base.x_offset + dx,
    y_offset: Math.abs(dy) < 0.5 ? base.y_offset : base.y_offset - dy,
  }
  label.atlas_moved = {
    x_offset: { from: base.x_offset, to: to.x_offset },
    y_offset: { from: base.y_offset, to: to.y_offset },
  }
  if (label.x_offset !== to.x_offset || label.y_offset !== to.y_offset) label.setv(to, { sync: false })
}
// one pass for all changes of a message, and none for the changes it makes itself
if (!fig.atlas_due && !fig.atlas_fitting) {
  fig.atlas_due = true
  queueMicrotask(() => {
    fig.atlas_due = false
    fig.atlas_fitting = true
    try {
      fit()
    } finally {
      fig.atlas_fitting = false
    }
  })
}
