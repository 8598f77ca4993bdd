// Standard attention's trips between memory and chip: drawn whole at rest, played one by one when asked.
// Lengths in the drawing come from the bytes in the data; all areas of memory share one scale.
const SHORT_MS = 550 // the shortest trip on the screen
const LONG_MS = 2600 // and what the longest one takes on top of it

// One scale for all areas: a score matrix gets at most `side`, the chip's whole memory at most `chip`.
function scale(data, side, chip) {
  const unit = Math.min(side / Math.sqrt(data.square.bytes), chip / Math.sqrt(data.chip.bytes))
  const px = (bytes) => unit * Math.sqrt(bytes)
  const square = px(data.square.bytes)
  return { square, strip: (square * data.d) / data.N, chip: px(data.chip.bytes) }
}

export function render({ model, el }) {
  const words = model.words
  const root = h("section", { class: "wall", tabindex: 0, role: "group", "aria-label": words.label })
  const bytesOut = h("b", { "data-readout": "step-bytes" })
  const totalOut = h("b", { "data-readout": "running-bytes" })
  const bytesLabel = h("span")
  const totalLabel = h("span")
  const say = h("p", { class: "say", "aria-live": "polite" })
  const scene = h("div", { class: "scene" })
  const aside = h("p", { class: "aside" })
  const strip = h("div", { class: "strip" })
  let data = null
  let drawn = null
  const player = new Transport(words, root, {
    lasts: (n) => SHORT_MS + (LONG_MS * data.trips[n - 1].bytes) / Math.max(...data.trips.map((trip) => trip.bytes)),
    show: () => show(),
    commit: (n) => {
      if (n !== model.step) model.step = n
    },
  })
  root.append(
    player.node,
    h("div", { class: "now" }, say, h("div", { class: "meter" }, bytesOut, bytesLabel), h("div", { class: "meter total" }, totalOut, totalLabel)),
    scene,
    aside,
    strip
  )
  el.append(root)

  // Words and numbers of the step
  function tell() {
    const { n, last, playing } = player
    const trip = n ? data.trips[n - 1] : null
    put(bytesOut, trip ? trip.text : data.nothing)
    bytesOut.dataset.value = trip ? trip.bytes : 0
    put(bytesLabel, trip ? trip.label : words.no_trip)
    put(totalOut, trip ? trip.total_text : data.nothing)
    totalOut.dataset.value = trip ? trip.total : 0
    put(totalLabel, words.so_far.replace("{total}", data.total_text))
    say.setAttribute("aria-live", playing ? "off" : "polite")
    put(say, n === 0 ? data.before : n === last && !playing ? data.after : trip.say)
  }

  function show() {
    if (!data || !drawn) return
    tell()
    const { n, progress } = player
    const current = n - 1
    const whole = n === data.trips.length && !player.playing
    drawn.lanes.forEach((lane, k) => {
      lane.node.setAttribute("class", `lane ${lane.kind} ${k > current ? "to-come" : k === current && !whole ? "current" : "done"}`)
      const part = k < current ? 1 : k === current ? progress : 0
      lane.fill.setAttribute("width", Math.max(0, lane.length * part))
      lane.fill.setAttribute("x", lane.write ? lane.right - lane.length * part : lane.left)
    })
    drawn.parts.forEach((part, k) => part.setAttribute("class", `part ${data.trips[k].square ? "square" : "plain"} ${k > current ? "to-come" : k === current && !whole ? "current" : "done"}`))
    drawn.stations.forEach((station, k) => station.setAttribute("class", `station ${current >= 0 && data.trips[current].pass === k && !whole ? "current" : ""}`))
    for (const [name, matrix] of Object.entries(drawn.matrices)) {
      let full = matrix.given ? 1 : 0
      let scan = null
      for (let k = 0; k <= current; k++) {
        const trip = data.trips[k]
        if (trip.tensor !== name) continue
        if (trip.write) full = k === current && !full ? progress : 1 // a square that is written again stays full
        if (k === current && progress < 1) scan = progress
      }
      matrix.fill.setAttribute("height", matrix.height * full)
      matrix.scan.setAttribute("y", matrix.y + matrix.height * (scan ?? 0))
      matrix.scan.setAttribute("class", scan === null ? "scan off" : "scan")
      matrix.node.setAttribute("class", `matrix ${matrix.kind}${full ? "" : " empty"}${current >= 0 && data.trips[current].tensor === name && !whole ? " current" : ""}`)
    }
    // The chip's memory fills and empties as often as the trip's bytes go into it.
    const times = current >= 0 && progress < 1 ? (progress * data.trips[current].bytes) / data.chip.bytes : 0
    const lit = Math.round((times % 1) * data.chip.pieces)
    drawn.cells.forEach((cell, k) => cell.setAttribute("class", k < lit ? "cell lit" : "cell"))
  }

  // Drawing ------------------------------------------------------------------------------------------------

  function matrixNode(svg, name, x, y, width, height, kind) {
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
  function drawMemory(svg, at, side, unit, size) {
    const matrices = {}
    const text = (x, y, css, words) => svg.append(s("text", { x, y, class: css }, words))
    const line = 18 * unit
    data.memory.forEach((row, k) => {
      const top = at.y + k * (size.square + 3.1 * line) + line * 1.2
      let x = at.x
      const tall = Math.max(size.square, 1.5)
      for (const name of row.strips) {
        matrices[name] = matrixNode(svg, name, x + 6 * unit, top, size.strip, tall, "plain")
        svg.append(s("text", { x: x + 6 * unit + Math.max(size.strip, 1.5) / 2, y: top - 5, class: "name", "text-anchor": "middle" }, name))
        x += Math.max(size.strip, 1.5) + 20 * unit
      }
      x += 6 * unit
      matrices[row.square] = matrixNode(svg, row.square, x, top, size.square, tall, "square")
      text(x, top - 5, "name strong", row.square)
      text(x + 16 * unit, top - 5, "amount", data.square.text)
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

  function drawLanes(svg, left, right, top, rowHeight, gap, unit, stations) {
    const most = Math.max(...data.trips.map((trip) => trip.bytes))
    const thick = rowHeight * 0.56
    const lanes = []
    const groups = []
    let y = top
    data.trips.forEach((trip, k) => {
      if (k && trip.pass !== data.trips[k - 1].pass) y += gap
      groups[trip.pass] ??= { from: y }
      const height = Math.max(1.5, (thick * trip.bytes) / most)
      const middle = y + rowHeight * 0.68
      const head = 9 * unit
      const node = s("g", { class: "lane to-come" })
      const from = left + (trip.write ? head : 0)
      const to = right - (trip.write ? 0 : head)
      const tip = trip.write ? left : right
      const base = trip.write ? left + head : right - head
      const wide = Math.max(height / 2 + 4, 6)
      node.append(
        s("rect", { class: "hit", x: left, y, width: right - left, height: rowHeight }),
        s("rect", { class: "bed", x: from, y: middle - height / 2, width: to - from, height }),
        s("path", { class: "tip", d: `M${tip} ${middle}L${base} ${middle - wide}V${middle + wide}Z` })
      )
      const fill = s("rect", { class: "flow", x: from, y: middle - height / 2, width: 0, height })
      node.append(fill)
      const label = s("text", { x: (left + right) / 2, y: middle - height / 2 - 6, class: "lane-text", "text-anchor": "middle" })
      const inside = height > 15 * unit
      if (inside) {
        label.setAttribute("y", middle + 5 * unit)
        label.setAttribute("class", "lane-text inside")
      }
      label.append(s("tspan", { class: "strong" }, trip.name), s("tspan", { dx: 6 }, trip.text))
      node.append(label)
      node.append(s("text", { x: left + (trip.write ? head + 6 : 6), y: y + rowHeight * 0.68 - height / 2 - 4, class: "number" }, String(k + 1)))
      node.addEventListener("click", () => player.rest(k + 1))
      svg.append(node)
      lanes.push({ node, fill, left: from, right: to, length: to - from, write: trip.write, kind: trip.square ? "square" : "plain" })
      y += rowHeight
      groups[trip.pass].to = y
    })
    return { lanes, groups, bottom: y }
  }

  function layout() {
    const width = Math.floor(scene.clientWidth)
    if (!width || !data) return
    const unit = parseFloat(getComputedStyle(root).fontSize) / 15
    const wide = width >= 720 * unit
    const svg = s("svg", { role: "img", "aria-label": data.spoken })
    const text = (x, y, css, words, anchor = "start") => svg.append(s("text", { x, y, class: css, "text-anchor": anchor }, words))
    const line = 18 * unit
    let height, lanes, groups, matrices, cells
    const stations = []
    const box = (css, x, y, w, tall) => svg.append(s("rect", { class: css, x, y, width: w, height: tall, rx: 4 }))
    const station = (k, x, y, anchor) => {
      const pass = data.passes[k]
      const node = s("g", { class: "station" })
      const does = s("text", { x, y, class: "does", "text-anchor": anchor })
      const [before, after] = pass.does.split("ᵀ") // a raised T from the text's own face
      does.append(before)
      if (after !== undefined) does.append(s("tspan", { dy: "-.45em", class: "raised" }, "T"), after)
      node.append(does, ...pass.work.map((words, i) => s("text", { x, y: y + line * (i + 1), class: "small", "text-anchor": anchor }, words)))
      svg.append(node)
      stations.push(node)
    }
    const count = data.trips.length
    const breaks = data.passes.length - 1
    if (wide) {
      const hw = clamp(width * 0.31, 250 * unit, 350 * unit)
      const cw = clamp(width * 0.25, 190 * unit, 270 * unit)
      const lane = { left: hw, right: width - cw }
      const gap = 20 * unit
      const rowHeight = clamp((430 * unit) / count, 32 * unit, 46 * unit)
      const side = Math.min(hw - 110 * unit, 190 * unit)
      const size = scale(data, side, 100 * unit)
      const head = 62 * unit
      const memoryTall = head + 2 * (Math.max(size.square, 20) + 3.1 * line) + line * 0.4
      const lanesTall = head + count * rowHeight + breaks * gap + 14 * unit
      const rows = data.trips.filter((trip) => trip.pass === data.passes.length - 1).length
      const lastStation = head - 8 * unit + (count - rows / 2) * rowHeight + breaks * gap
      const cellSide = Math.max(size.chip, 3)
      const beside = cw - cellSide > 150 * unit // the words about the cells, or above them
      height = Math.max(memoryTall, lanesTall, (beside ? 0 : 2 * line) + lastStation + 3.2 * line + Math.max(cellSide, 3.2 * line) + 28 * unit)
      box("hbm", 1, 1, hw - 2, height - 2)
      text(16 * unit, 26 * unit, "title hbm-title", data.hbm.title)
      text(16 * unit, 26 * unit + line, "small", data.hbm.note)
      box("chip", width - cw + 1, 1, cw - 2, height - 2)
      text(width - cw + 16 * unit, 26 * unit, "title chip-title", data.chip.title)
      text(width - cw + 16 * unit, 26 * unit + line, "small", data.chip.note)
      const lower = { x: 16 * unit, y: head }
      matrices = drawMemory(svg, lower, side, unit, size)
      const placed = drawLanes(svg, lane.left + 8 * unit, lane.right - 8 * unit, head - 8 * unit, rowHeight, gap, unit)
      const { bottom } = placed
      ;({ lanes, groups } = placed)
      groups.forEach((group, k) => {
        station(k, width - cw + 16 * unit, (group.from + group.to) / 2 - 6 * unit, "start")
        if (k) svg.append(s("line", { class: "cut", x1: lane.left + 8 * unit, x2: lane.right - 8 * unit, y1: group.from - gap / 2 + 3, y2: group.from - gap / 2 + 3 }))
      })
      // the chip's own memory, to the same scale, below the last station
      cells = drawCells(svg, width - cellSide - 16 * unit, height - cellSide - 16 * unit, cellSide, data.chip.pieces)
      const room = height - bottom
      // a letter is about 9 px wide here, a Chinese one 17
      const long = (words) => [...words].reduce((sum, c) => sum + (c > "\u2e80" ? 17 : 9), 0) * unit
      const wideEnough = lane.right - lane.left > Math.max(...data.scale.map(long))
      aside.hidden = wideEnough && room > 4 * line
      if (!aside.hidden) put(aside, data.scale.join(" "))
      else data.scale.forEach((words, k) => text((lane.left + lane.right) / 2, bottom + room / 2 + line * 1.15 * (k - 0.6), k ? "aside" : "small", words, "middle"))
      data.chip.lines.forEach((words, k, all) => {
        const up = line * (all.length - 1 - k)
        if (beside) text(width - cw + 16 * unit, height - 20 * unit - up, "small", words)
        else text(width - 16 * unit, height - cellSide - 24 * unit - up, "small", words, "end")
      })
    } else {
      const gap = 70 * unit
      const rowHeight = 38 * unit
      const half = Math.floor(width * 0.54)
      const side = Math.min(half - 84 * unit, 150 * unit)
      const size = scale(data, side, Math.min(width - half - 34 * unit, 110 * unit))
      const head = 58 * unit
      const tall = head + 2 * (Math.max(size.square, 16) + 3.1 * line) + 6 * unit
      box("hbm", 1, 1, half - 6, tall)
      text(10 * unit, 24 * unit, "title hbm-title", data.hbm.title)
      text(10 * unit, 24 * unit + line, "small", data.hbm.note)
      matrices = drawMemory(svg, { x: 10 * unit, y: head }, side, unit, size)
      box("chip", half + 5, 1, width - half - 6, tall)
      text(half + 14 * unit, 24 * unit, "title chip-title", data.chip.title)
      text(half + 14 * unit, 24 * unit + line, "small", data.chip.note)
      const cellSide = Math.max(size.chip, 3)
      cells = drawCells(svg, half + 14 * unit, head + 8 * unit, cellSide, data.chip.pieces)
      data.chip.lines.forEach((words, k) => text(half + 14 * unit, head + cellSide + 10 * unit + line * (k + 1), "small", words))
      const top = tall + 76 * unit
      ;({ lanes, groups, bottom: height } = drawLanes(svg, 16 * unit, width - 16 * unit, top, rowHeight, gap, unit))
      box("hbm edge", 1, tall + 12 * unit, 10 * unit, height - tall)
      box("chip edge", width - 11 * unit, tall + 12 * unit, 10 * unit, height - tall)
      groups.forEach((group, k) => station(k, width / 2, group.from - 38 * unit, "middle"))
      height += 14 * unit
      aside.hidden = false
      put(aside, data.scale.join(" "))
    }
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`)
    svg.setAttribute("width", width)
    svg.setAttribute("height", height)
    scene.replaceChildren(svg)
    drawn = { lanes, stations, matrices, cells, parts: drawStrip(width, unit) }
    player.draw()
  }

  // All trips on one line, as long as their bytes: who fills the line?
  function drawStrip(width, unit) {
    const tall = 34 * unit
    const svg = s("svg", { width, height: tall + 24 * unit, "aria-hidden": "true" })
    const total = data.trips[data.trips.length - 1].total
    const least = 2.5
    const free = width - least * data.trips.length
    let x = 0
    const parts = data.trips.map((trip, k) => {
      const w = least + (free * trip.bytes) / total
      const node = s("g", { class: "part" })
      node.append(s("rect", { x: x + 0.5, y: 0, width: Math.max(1, w - 1.5), height: tall }))
      if (w > 62 * unit) node.append(s("text", { x: x + w / 2, y: tall / 2 + 5 * unit, "text-anchor": "middle" }, trip.short))
      node.addEventListener("click", () => player.rest(k + 1))
      svg.append(node)
      x += w
      return node
    })
    svg.append(s("text", { x: 0, y: tall + 17 * unit, class: "small" }, data.strip))
    strip.replaceChildren(svg)
    return parts
  }

  tie(model, player, scene, () => {
    data = model.data
    player.load(data.trips.length, model.step)
    layout()
  }, layout)
}
