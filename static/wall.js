// Standard attention's trips between memory and chip: drawn whole at rest, played one by one when asked.
// Lengths in the drawing come from the bytes in the data; all areas of memory share one scale.
const NS = "http://www.w3.org/2000/svg"
const ICONS = {
  first: "M6 5v14M20 5 9 12l11 7z",
  back: "M17 5 7 12l10 7z",
  play: "M7 4l13 8-13 8z",
  pause: "M7 4h4v16H7zM14 4h4v16h-4z",
  forward: "M7 5l10 7-10 7z",
  last: "M18 5v14M4 5l11 7-11 7z",
}
const SHORT_MS = 550 // the shortest trip on the screen
const LONG_MS = 2600 // and what the longest one takes on top of it

const h = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
    else node.setAttribute(name, value)
  }
  node.append(...children)
  return node
}
const s = (tag, attributes = {}, text) => {
  const node = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = text
  return node
}
const put = (node, text) => {
  if (node.textContent !== text) node.textContent = text
}
const clamp = (value, low, high) => Math.max(low, Math.min(high, value))

// One scale for everything that holds bytes: the larger of a score matrix and the chip's memory gets `side`.
function scale(data, side) {
  const largest = Math.max(data.square.bytes, data.chip.bytes)
  const px = (bytes) => side * Math.sqrt(bytes / largest)
  const square = px(data.square.bytes)
  return { square, strip: (square * data.d) / data.N, chip: px(data.chip.bytes) }
}

export function render({ model, el }) {
  const words = model.words
  const root = h("section", { class: "wall", tabindex: 0, role: "group", "aria-label": words.label })
  const button = (name, act) => h("button", { type: "button", "aria-label": words[name], title: words[name], "data-act": name, onclick: act })
  const buttons = {
    first: button("first", () => rest(0)),
    back: button("back", () => rest(n - 1)),
    play: button("play", () => toggle()),
    forward: button("forward", () => rest(n + 1)),
    last: button("last", () => rest(data.trips.length)),
  }
  const icon = (node, name) => (node.innerHTML = `<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`)
  for (const [name, node] of Object.entries(buttons)) icon(node, name)
  const scrubber = h("input", { type: "range", min: 0, value: 0, step: 1, class: "scrubber", "aria-label": words.scrubber })
  const stepOut = h("b", { "data-readout": "step" })
  const stepsOut = h("b", { "data-readout": "steps" })
  const bytesOut = h("b", { "data-readout": "step-bytes" })
  const totalOut = h("b", { "data-readout": "running-bytes" })
  const bytesLabel = h("span")
  const totalLabel = h("span")
  const say = h("p", { class: "say", "aria-live": "polite" })
  const scene = h("div", { class: "scene" })
  const strip = h("div", { class: "strip" })
  root.append(
    h(
      "div",
      { class: "transport", role: "group", "aria-label": words.transport },
      h("div", { class: "buttons" }, ...Object.values(buttons)),
      h("div", { class: "scrub" }, scrubber, h("span", { class: "count" }, words.trip, " ", stepOut, " ", words.of, " ", stepsOut))
    ),
    h("div", { class: "now" }, say, h("div", { class: "meter" }, bytesOut, bytesLabel), h("div", { class: "meter total" }, totalOut, totalLabel)),
    scene,
    strip
  )
  el.append(root)

  let data = null
  let n = 0 // trips done, the current one included
  let progress = 1 // of the current trip
  let playing = false
  let sent = model.step
  let pending = 0
  let frame = 0
  let drawn = null
  const still = window.matchMedia("(prefers-reduced-motion: reduce)")

  function commit() {
    clearTimeout(pending)
    pending = setTimeout(() => {
      if (playing || n === sent) return
      sent = n
      model.step = n
    }, 120)
  }
  function stop() {
    playing = false
    cancelAnimationFrame(frame)
    progress = 1
    icon(buttons.play, "play")
    buttons.play.setAttribute("aria-label", words.play)
    buttons.play.title = words.play
    say.setAttribute("aria-live", "polite")
    show()
    commit()
  }
  function rest(to) {
    n = clamp(to, 0, data.trips.length)
    stop()
  }
  function toggle() {
    if (playing) return stop()
    if (n >= data.trips.length) n = 0
    playing = true
    icon(buttons.play, "pause")
    buttons.play.setAttribute("aria-label", words.pause)
    buttons.play.title = words.pause
    say.setAttribute("aria-live", "off")
    n += 1
    const most = Math.max(...data.trips.map((trip) => trip.bytes))
    let began = performance.now()
    const tick = (now) => {
      if (!playing) return
      const lasts = SHORT_MS + (LONG_MS * data.trips[n - 1].bytes) / most
      progress = clamp((now - began) / lasts, 0, 1)
      if (progress >= 1) {
        if (n >= data.trips.length) return stop()
        n += 1
        began = now
        progress = 0
      }
      // who wants no motion sees each trip whole, for as long as it would have taken
      if (still.matches) progress = 1 - 1e-9
      show()
      if (still.matches) progress = 0
      frame = requestAnimationFrame(tick)
    }
    progress = 0
    frame = requestAnimationFrame(tick)
  }

  // Words and numbers of the step
  function tell() {
    const last = data.trips.length
    const trip = n ? data.trips[n - 1] : null
    put(stepOut, String(n))
    stepOut.dataset.value = n
    scrubber.value = n
    const spoken = words.trip_of.replace("{n}", n).replace("{last}", last)
    if (scrubber.getAttribute("aria-valuetext") !== spoken) scrubber.setAttribute("aria-valuetext", spoken)
    put(bytesOut, trip ? trip.text : data.nothing)
    bytesOut.dataset.value = trip ? trip.bytes : 0
    put(bytesLabel, trip ? trip.label : words.no_trip)
    put(totalOut, trip ? trip.total_text : data.nothing)
    totalOut.dataset.value = trip ? trip.total : 0
    put(totalLabel, words.so_far.replace("{total}", data.total_text))
    put(say, n === 0 ? data.before : n === last && !playing ? data.after : trip.say)
    buttons.first.disabled = buttons.back.disabled = n === 0
    buttons.last.disabled = buttons.forward.disabled = n === last
    root.dataset.step = n
  }

  function show() {
    if (!data || !drawn) return
    tell()
    const current = n - 1
    const whole = n === data.trips.length && !playing
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
      matrix.node.setAttribute("class", `matrix ${matrix.kind}${current >= 0 && data.trips[current].tensor === name && !whole ? " current" : ""}`)
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
      const height = Math.max(2, (thick * trip.bytes) / most)
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
      const label = s("text", { x: (left + right) / 2, y: middle - height / 2 - 4, class: "lane-text", "text-anchor": "middle" })
      const inside = height > 15 * unit
      if (inside) {
        label.setAttribute("y", middle + 5 * unit)
        label.setAttribute("class", "lane-text inside")
      }
      label.append(s("tspan", { class: "strong" }, trip.tensor), s("tspan", { dx: 6 }, trip.text))
      node.append(label)
      node.append(s("text", { x: left + (trip.write ? head + 6 : 6), y: y + rowHeight * 0.68 - height / 2 - 4, class: "number" }, String(k + 1)))
      node.addEventListener("click", () => rest(k + 1))
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
      node.append(s("text", { x, y, class: "does", "text-anchor": anchor }, pass.does), s("text", { x, y: y + line, class: "small", "text-anchor": anchor }, pass.work))
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
      const size = scale(data, side)
      const head = 62 * unit
      const memoryTall = head + 2 * (Math.max(size.square, 20) + 3.1 * line) + line * 0.4
      const lanesTall = head + count * rowHeight + breaks * gap + 14 * unit
      height = Math.max(memoryTall, lanesTall, 470 * unit)
      box("hbm", 1, 1, hw - 2, height - 2)
      text(16 * unit, 26 * unit, "title hbm-title", data.hbm.title)
      text(16 * unit, 26 * unit + line, "small", data.hbm.note)
      box("chip", width - cw + 1, 1, cw - 2, height - 2)
      text(width - cw + 16 * unit, 26 * unit, "title chip-title", data.chip.title)
      text(width - cw + 16 * unit, 26 * unit + line, "small", data.chip.note)
      const lower = { x: 16 * unit, y: head }
      matrices = drawMemory(svg, lower, side, unit, size)
      ;({ lanes, groups } = drawLanes(svg, lane.left + 8 * unit, lane.right - 8 * unit, head - 8 * unit, rowHeight, gap, unit))
      groups.forEach((group, k) => {
        station(k, width - cw + 16 * unit, (group.from + group.to) / 2 + 2 * unit, "start")
        if (k) svg.append(s("line", { class: "cut", x1: lane.left + 8 * unit, x2: lane.right - 8 * unit, y1: group.from - gap / 2 + 3, y2: group.from - gap / 2 + 3 }))
      })
      const cellSide = Math.max(size.chip, 3)
      const inside = { x: width - cellSide - 16 * unit, y: head + 4 * unit }
      cells = drawCells(svg, inside.x, inside.y, cellSide, data.chip.pieces)
      data.chip.lines.forEach((words, k) => text(width - 16 * unit, inside.y + cellSide + line * (k + 0.9), "small", words, "end"))
    } else {
      const gap = 46 * unit
      const rowHeight = 40 * unit
      const half = width / 2
      const side = Math.min(half - 84 * unit, 150 * unit)
      const size = scale(data, side)
      const head = 58 * unit
      const tall = head + 2 * (Math.max(size.square, 16) + 3.1 * line) + 6 * unit
      box("hbm", 1, 1, half - 6, tall)
      text(10 * unit, 24 * unit, "title hbm-title", data.hbm.title)
      text(10 * unit, 24 * unit + line, "small", data.hbm.note)
      matrices = drawMemory(svg, { x: 10 * unit, y: head }, side, unit, size)
      box("chip", half + 5, 1, half - 6, tall)
      text(half + 14 * unit, 24 * unit, "title chip-title", data.chip.title)
      text(half + 14 * unit, 24 * unit + line, "small", data.chip.note)
      const cellSide = Math.max(size.chip, 3)
      cells = drawCells(svg, half + 14 * unit, head + 8 * unit, cellSide, data.chip.pieces)
      data.chip.lines.forEach((words, k) => text(half + 14 * unit, head + cellSide + 10 * unit + line * (k + 1), "small", words))
      const top = tall + 52 * unit
      ;({ lanes, groups, bottom: height } = drawLanes(svg, 16 * unit, width - 16 * unit, top, rowHeight, gap, unit))
      box("hbm edge", 1, tall + 12 * unit, 10 * unit, height - tall)
      box("chip edge", width - 11 * unit, tall + 12 * unit, 10 * unit, height - tall)
      groups.forEach((group, k) => station(k, width - 20 * unit, group.from - 20 * unit, "end"))
      height += 14 * unit
    }
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`)
    svg.setAttribute("width", width)
    svg.setAttribute("height", height)
    scene.replaceChildren(svg)
    drawn = { lanes, stations, matrices, cells, parts: drawStrip(width, unit) }
    show()
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
      node.addEventListener("click", () => rest(k + 1))
      svg.append(node)
      x += w
      return node
    })
    svg.append(s("text", { x: 0, y: tall + 17 * unit, class: "small" }, data.strip))
    strip.replaceChildren(svg)
    return parts
  }

  function load() {
    const before = data
    data = model.data
    if (playing) {
      playing = false
      cancelAnimationFrame(frame)
      icon(buttons.play, "play")
    }
    progress = 1
    // another number of passes: the whole story again, unless Python says otherwise
    n = before && before.trips.length !== data.trips.length ? data.trips.length : clamp(model.step, 0, data.trips.length)
    sent = model.step
    scrubber.max = data.trips.length
    put(stepsOut, String(data.trips.length))
    stepsOut.dataset.value = data.trips.length
    layout()
  }

  scrubber.addEventListener("input", () => rest(Number(scrubber.value)))
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const act = {
      " ": event.target.closest("button") ? null : toggle,
      ArrowRight: () => rest(n + 1),
      ArrowLeft: () => rest(n - 1),
      Home: () => rest(0),
      End: () => rest(data.trips.length),
    }[event.key]
    if (!act) return
    event.preventDefault()
    act()
  })
  model.on("data", load)
  model.on("step", () => {
    if (model.step === n || playing) return
    n = clamp(model.step, 0, data.trips.length)
    sent = model.step
    show()
  })
  const observer = new ResizeObserver(() => layout())
  observer.observe(scene)
  const presenting = new MutationObserver(() => layout())
  presenting.observe(document.documentElement, { attributes: true, attributeFilter: ["class"] })
  model.on("remove", () => {
    playing = false
    cancelAnimationFrame(frame)
    clearTimeout(pending)
    observer.disconnect()
    presenting.disconnect()
  })
  load()
}
