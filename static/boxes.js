// What both pictures of the wall are drawn with: areas of memory, the cells of the chip, arrows as thick as their bytes.

// One scale for all areas: a score matrix gets at most `side`, the chip's whole memory at most `chip`.
function areas(data, side, chip) {
  const unit = Math.min(side / Math.sqrt(data.square.bytes), chip / Math.sqrt(data.chip.bytes))
  const px = (bytes) => unit * Math.sqrt(bytes)
  const square = px(data.square.bytes)
  return { square, strip: (square * data.d) / data.N, chip: px(data.chip.bytes) }
}

function drawMatrix(svg, name, x, y, width, height, kind) {
  const node = s("g", { class: `matrix ${kind}` })
  const w = Math.max(width, 1.5)
  const tall = Math.max(height, 1.5)
  const outline = s("rect", { class: "outline", x, y, width: w, height: tall })
  const fill = s("rect", { class: "fill", x, y, width: w, height: tall })
  const scan = s("rect", { class: "scan off", x: x - 3, y, width: w + 6, height: 2.5 })
  node.append(outline, fill, scan)
  svg.append(node)
  return { node, fill, scan, x, y, width: w, height: tall, kind, given: ["Q", "K", "V"].includes(name) }
}

// The memory: each product's strips beside its square, both to scale, with names and bytes.
function drawMemory(svg, at, unit, size, rows) {
  const matrices = {}
  const text = (x, y, css, words) => svg.append(s("text", { x, y, class: css }, words))
  const line = 18 * unit
  rows.forEach((row, k) => {
    const top = at.y + k * (size.square + 3.1 * line) + line * 1.2
    let x = at.x
    const tall = Math.max(size.square, 1.5)
    for (const name of row.strips) {
      matrices[name] = drawMatrix(svg, name, x + 6 * unit, top, size.strip, tall, "plain")
      svg.append(s("text", { x: x + 6 * unit + Math.max(size.strip, 1.5) / 2, y: top - 5, class: "name", "text-anchor": "middle" }, name))
      x += Math.max(size.strip, 1.5) + 20 * unit
    }
    x += 6 * unit
    matrices[row.square] = drawMatrix(svg, row.square, x, top, size.square, tall, row.ghost ? "ghost" : "square")
    text(x, top - 5, "name strong", row.square)
    text(x + 16 * unit, top - 5, "amount", row.amount)
    text(at.x, top + tall + line * 0.95, "small", row.note)
  })
  return matrices
}

function drawCells(svg, x, y, side, pieces) {
  const columns = Math.ceil(Math.sqrt(pieces))
  const pitch = side / columns
  const cells = []
  for (let k = 0; k < pieces; k++) {
    const cell = s("rect", {
      class: "cell",
      x: x + (k % columns) * pitch,
      y: y + Math.floor(k / columns) * pitch,
      width: Math.max(0.4, pitch - (pitch > 4 ? 1 : 0.2)),
      height: Math.max(0.4, pitch - (pitch > 4 ? 1 : 0.2)),
    })
    svg.append(cell)
    cells.push(cell)
  }
  return cells
}

// One arrow between the boxes: `write` points to the memory on the left. `show(share, state)` fills as much of it as has
// moved; words that would then stand half on the fill stand `above` it.
function drawArrow(svg, { left, right, y, rowHeight, height, write, unit, name, amount, number = "", kind, above = false }) {
  const middle = y + rowHeight * 0.68
  const head = 9 * unit
  const node = s("g", { class: `lane ${kind} to-come` })
  const from = left + (write ? head : 0)
  const to = right - (write ? 0 : head)
  const tip = write ? left : right
  const base = write ? left + head : right - head
  const wide = Math.max(height / 2 + 4, 6)
  const fill = s("rect", { class: "flow", x: from, y: middle - height / 2, width: 0, height })
  const inside = !above && height > 15 * unit
  const label = s("text", {
    x: (left + right) / 2,
    y: inside ? middle + 5 * unit : middle - height / 2 - 6,
    class: inside ? "lane-text inside" : "lane-text",
    "text-anchor": "middle",
  })
  label.append(s("tspan", { class: "strong" }, name), s("tspan", { dx: 6 }, amount))
  node.append(
    s("rect", { class: "hit", x: left, y, width: right - left, height: rowHeight }),
    s("rect", { class: "bed", x: from, y: middle - height / 2, width: to - from, height }),
    s("path", { class: "tip", d: `M${tip} ${middle}L${base} ${middle - wide}V${middle + wide}Z` }),
    fill,
    label,
    s("text", { x: left + (write ? head + 6 : 6), y: middle - height / 2 - 4, class: "number" }, number)
  )
  svg.append(node)
  const length = to - from
  const show = (share, state) => {
    node.setAttribute("class", `lane ${kind} ${state}`)
    fill.setAttribute("width", Math.max(0, length * share))
    fill.setAttribute("x", write ? to - length * share : from)
  }
  return { node, show }
}

// Both boxes with their titles, and where the arrows run: beside one another where there is room, else above them.
function drawBoxes(svg, frame, data) {
  const { unit, line, memory, chip } = frame
  const box = (css, at) => svg.append(s("rect", { class: css, x: at.x, y: at.y, width: at.w, height: at.h, rx: 4 }))
  const text = (x, y, css, words) => svg.append(s("text", { x, y, class: css }, words))
  for (const [css, at, told] of [["hbm", memory, data.hbm], ["chip", chip, data.chip]]) {
    box(css, at)
    text(at.x + frame.pad, at.y + 24 * unit, `title ${css}-title`, told.title)
    text(at.x + frame.pad, at.y + 24 * unit + line, "small", told.note)
  }
  for (const [css, at] of frame.edges) box(`${css} edge`, at)
}
