// Standard attention's trips between memory and chip, and FlashAttention's loop beside them: drawn whole at rest, played
// step by step when asked. Lengths in the drawing come from the bytes in the data; all areas of memory share one scale.
const SHORT_MS = 550 // the shortest trip on the screen
const LONG_MS = 2600 // and what the longest one takes on top of it
const SIDE = 430 // a picture that has less width than this shows its arrows below its boxes

export function render({ model, el }) {
  const words = model.words
  const root = h("section", { class: "wall", tabindex: 0, role: "group", "aria-label": words.label })
  const bytesOut = h("b", { "data-readout": "step-bytes" })
  const totalOut = h("b", { "data-readout": "running-bytes" })
  const bytesLabel = h("span")
  const totalLabel = h("span")
  const say = h("p", { class: "say", "aria-live": "polite" })
  const kernels = h("span")
  const scene = h("div", { class: "scene" })
  const aside = h("p", { class: "aside" })
  const flow = new Flow(words)
  const strips = ["standard", "stream", "waves"].map((name) => h("div", { class: "bar", "data-strip": name }))
  const standardOut = h("b")
  let data = null
  let drawn = null
  const player = new Transport(words, root, {
    lasts: (n) => SHORT_MS + LONG_MS * Math.min(2, bytes(n) / Math.max(...data.trips.map((trip) => trip.bytes))),
    show: () => show(),
    commit: (n) => {
      if (n !== model.step) model.step = n
    },
  })
  // Bytes of a step: of its trip, or of what the loop still has to move when the trips are done.
  const bytes = (n) => (n <= data.trips.length ? data.trips[n - 1].bytes : data.stream.late.bytes)
  const row = (name, k, out, label) => h("div", { class: `row ${name}` }, h("span", { class: "what" }, out, " ", label), strips[k])
  const wavesRow = row("waves", 2, flow.wavesOut, words.strip_waves)
  const side = (name, title, told, picture) => h("div", { class: `side ${name}` }, h("h3", {}, words[`${name}_title`], " ", title), told, picture)
  root.append(
    h(
      "div",
      { class: "desk" },
      player.node,
      h("div", { class: "meters" }, h("div", { class: "meter" }, bytesOut, bytesLabel), h("div", { class: "meter total" }, totalOut, totalLabel))
    ),
    h("div", { class: "strips" }, row("standard", 0, standardOut, words.strip_standard), row("stream", 1, flow.out, flow.label), wavesRow),
    h("div", { class: "pair" }, side("standard", kernels, say, scene), side("stream", h("span", {}, words.stream_head), flow.say, flow.scene)),
    aside
  )
  el.append(root)

  // Words and numbers of the step
  function tell() {
    const { n, last, playing } = player
    const late = n > data.trips.length
    const trip = n ? data.trips[Math.min(n, data.trips.length) - 1] : null
    const moved = late ? data.stream.late : trip
    put(bytesOut, moved ? moved.text : data.nothing)
    bytesOut.dataset.value = moved ? moved.bytes : 0
    put(bytesLabel, late ? words.late_label : trip ? trip.label : words.no_trip)
    put(totalOut, trip ? trip.total_text : data.nothing)
    totalOut.dataset.value = trip ? trip.total : 0
    put(standardOut, totalOut.textContent)
    put(totalLabel, words.so_far.replace("{total}", data.total_text))
    say.setAttribute("aria-live", playing ? "off" : "polite")
    put(say, n === 0 ? data.before : late && playing ? data.stream.late.say : n === last && !playing ? data.after : trip.say)
    flow.tell(n, playing)
  }

  function show() {
    if (!data || !drawn) return
    tell()
    const { n, last, playing } = player
    const trips = data.trips.length
    const progress = n > trips ? 1 : player.progress
    const current = Math.min(n, trips) - 1
    const whole = n === last && !playing
    const state = (k) => (k > current ? "to-come" : k === current && !whole && n <= trips ? "current" : "done")
    drawn.lanes.forEach((lane, k) => lane.show(k < current ? 1 : k === current ? progress : 0, state(k)))
    drawn.parts.forEach((part, k) => part.setAttribute("class", `part ${data.trips[k].square ? "square" : "plain"} ${state(k)}`))
    drawn.stations.forEach((station, k) => station.setAttribute("class", `station ${current >= 0 && data.trips[current].pass === k && state(current) === "current" ? "current" : ""}`))
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
      matrix.node.setAttribute("class", `matrix ${matrix.kind}${full ? "" : " empty"}${current >= 0 && data.trips[current].tensor === name && state(current) === "current" ? " current" : ""}`)
    }
    // The chip's memory fills and empties as often as the trip's bytes go into it.
    const times = current >= 0 && progress < 1 ? (progress * data.trips[current].bytes) / data.chip.bytes : 0
    const lit = Math.round((times % 1) * data.chip.pieces)
    drawn.cells.forEach((cell, k) => cell.setAttribute("class", k < lit ? "cell lit" : "cell"))
    flow.show(n, player.progress, n ? bytes(n) : 0, playing && n ? player.lasts(n) : 0, whole)
  }

  // Drawing ------------------------------------------------------------------------------------------------

  function drawLanes(svg, { lanes: { left, right, top }, thick, most, unit }, rowHeight, gap) {
    const lanes = []
    const groups = []
    let y = top
    data.trips.forEach((trip, k) => {
      if (k && trip.pass !== data.trips[k - 1].pass) y += gap
      groups[trip.pass] ??= { from: y }
      const lane = drawArrow(svg, {
        left,
        right,
        y,
        rowHeight,
        height: Math.max(1.5, (thick * trip.bytes) / most),
        write: trip.write,
        unit,
        name: trip.name,
        amount: trip.text,
        number: String(k + 1),
        kind: trip.square ? "square" : "plain",
      })
      lane.node.addEventListener("click", () => player.rest(k + 1))
      lanes.push(lane)
      y += rowHeight
      groups[trip.pass].to = y
    })
    return { lanes, groups }
  }

  // Where everything stands in a picture, the same for both.
  function framed(width, unit) {
    const line = 18 * unit
    const count = data.trips.length
    const breaks = data.passes.length - 1
    const most = Math.max(...data.trips.map((trip) => trip.bytes), ...data.stream.lines.map((one) => one.bytes))
    const pad = 12 * unit
    const head = 50 * unit
    const common = { width, unit, line, pad, most, edges: [], css: width < 600 * unit ? "tight" : "" }
    if (width >= SIDE * unit) {
      const hw = clamp(width * 0.37, 160 * unit, 350 * unit)
      const cw = clamp(width * 0.3, 146 * unit, 270 * unit)
      const gap = 12 * unit
      const rowHeight = clamp((430 * unit) / count, 26 * unit, (common.css ? 29 : 33) * unit)
      const strips = 62 * unit
      const size = areas(data, Math.min(hw - strips - 2 * pad, 168 * unit), 90 * unit)
      const memoryTall = head + 2 * (Math.max(size.square, 20) + 3.1 * line) + line * 0.4
      const lanesTall = count * rowHeight + breaks * gap
      const rows = data.trips.filter((trip) => trip.pass === breaks).length
      const lastStation = head - 4 * unit + lanesTall - (rows * rowHeight) / 2 + 2 * line
      const beside = cw - size.chip > 150 * unit // the words about the cells, or above them
      const cellTall = Math.max(size.chip, beside ? 2.4 * line : 0) + (beside ? 0 : 2.2 * line)
      const height = Math.max(memoryTall, head + lanesTall + 14 * unit, lastStation + cellTall + 34 * unit)
      return {
        ...common,
        height,
        size,
        rowHeight,
        gap,
        beside,
        cut: true,
        thick: rowHeight * 0.6,
        memory: { x: 1, y: 1, w: hw - 2, h: height - 2 },
        chip: { x: width - cw + 1, y: 1, w: cw - 2, h: height - 2 },
        store: { x: pad, y: head },
        lanes: { left: hw + 7 * unit, right: width - cw - 7 * unit, top: head - 8 * unit, bottom: height - 20 * unit },
        cells: { x: width - size.chip - pad, y: height - size.chip - pad },
        hold: head + 20 * unit,
        holdStep: 2.35 * line,
        stations: (group) => ({ x: width - cw + pad, y: (group.from + group.to) / 2 - 4 * unit, anchor: "start" }),
      }
    }
    const gap = 66 * unit
    const rowHeight = 36 * unit
    const half = Math.floor(width * 0.54)
    const size = areas(data, Math.min(half - 84 * unit, 150 * unit), Math.min(width - half - 34 * unit, 90 * unit))
    const hold = 68 * unit
    const holdStep = 2.15 * line
    const tall = Math.max(head + 2 * (Math.max(size.square, 16) + 3.1 * line) + 6 * unit, hold + 4.4 * holdStep + size.chip + 2 * pad)
    const top = tall + 70 * unit
    const height = top + count * rowHeight + breaks * gap + 14 * unit
    return {
      ...common,
      height,
      size,
      rowHeight,
      gap,
      thick: rowHeight * 0.56,
      memory: { x: 1, y: 1, w: half - 6, h: tall },
      chip: { x: half + 5, y: 1, w: width - half - 6, h: tall },
      edges: [
        ["hbm", { x: 1, y: tall + 12 * unit, w: 10 * unit, h: height - tall - 26 * unit }],
        ["chip", { x: width - 11 * unit, y: tall + 12 * unit, w: 10 * unit, h: height - tall - 26 * unit }],
      ],
      store: { x: pad, y: head },
      lanes: { left: 16 * unit, right: width - 16 * unit, top, bottom: top + 6 * rowHeight },
      cells: { x: half + 5 + pad, y: tall - size.chip - pad },
      hold,
      holdStep,
      stations: (group) => ({ x: width / 2, y: group.from - 36 * unit, anchor: "middle" }),
    }
  }

  function drawTrips(frame) {
    const { unit, line, width, height, chip, size, pad } = frame
    const svg = s("svg", { class: frame.css, role: "img", "aria-label": data.spoken, viewBox: `0 0 ${width} ${height}`, width, height })
    const text = (x, y, css, words, anchor = "start") => svg.append(s("text", { x, y, class: css, "text-anchor": anchor }, words))
    drawBoxes(svg, frame, data)
    const amount = data.square.text
    const matrices = drawMemory(svg, frame.store, unit, size, data.memory.map((row) => ({ ...row, amount })))
    const { lanes, groups } = drawLanes(svg, frame, frame.rowHeight, frame.gap)
    const stations = groups.map((group, k) => {
      const pass = data.passes[k]
      const { x, y, anchor } = frame.stations(group)
      const node = s("g", { class: "station" })
      const does = s("text", { x, y, class: "does", "text-anchor": anchor })
      const [before, after] = pass.does.split("ᵀ") // a raised T from the text's own face
      does.append(before)
      if (after !== undefined) does.append(s("tspan", { dy: "-.45em", class: "raised" }, "T"), after)
      node.append(does, ...pass.work.map((words, i) => s("text", { x, y: y + line * (i + 1), class: "small", "text-anchor": anchor }, words)))
      svg.append(node)
      if (k && frame.cut) {
        const middle = group.from - frame.gap / 2 + 3
        svg.append(s("line", { class: "cut", x1: frame.lanes.left, x2: frame.lanes.right, y1: middle, y2: middle }))
      }
      return node
    })
    const cells = drawCells(svg, frame.cells.x, frame.cells.y, size.chip, data.chip.pieces)
    data.chip.lines.forEach((words, k, all) => {
      const up = line * (all.length - 1 - k)
      const y = frame.beside ? height - 18 * unit - up : frame.cells.y - 9 * unit - up
      text(chip.x + pad, y, "small", words)
    })
    scene.replaceChildren(svg)
    return { lanes, stations, matrices, cells }
  }

  function layout() {
    const width = Math.floor(scene.clientWidth)
    if (!width || !data) return
    const unit = parseFloat(getComputedStyle(root).fontSize) / 15
    const frame = framed(width, unit)
    drawn = drawTrips(frame)
    flow.draw(frame, data)
    put(aside, data.scale.join(" "))
    const most = Math.max(data.trips[data.trips.length - 1].total, data.stream.total)
    const long = strips[0].clientWidth
    drawn.parts = drawStrip(long, most, unit)
    flow.drawStrip(strips[1], long, most, 24 * unit)
    flow.drawWaves(wavesRow, strips[2], long, most, 24 * unit)
    player.draw()
  }

  // All trips on one line, as long as their bytes: who fills the line?
  function drawStrip(width, most, unit) {
    const tall = 24 * unit
    const svg = s("svg", { width, height: tall, "aria-hidden": "true" })
    const { total } = data.trips[data.trips.length - 1]
    const long = (width * total) / most
    const least = Math.min(2.5, long / data.trips.length)
    const free = long - least * data.trips.length
    svg.append(s("rect", { class: "whole", x: 0, y: 0, width: Math.max(long, 1), height: tall }))
    let x = 0
    const parts = data.trips.map((trip, k) => {
      const w = least + (free * trip.bytes) / total
      const node = s("g", { class: "part" })
      node.append(s("rect", { x: x + 0.5, y: 0, width: Math.max(0.5, w - 1.5), height: tall }))
      if (w > 62 * unit) node.append(s("text", { x: x + w / 2, y: tall / 2 + 5 * unit, "text-anchor": "middle" }, trip.short))
      node.addEventListener("click", () => player.rest(k + 1))
      svg.append(node)
      x += w
      return node
    })
    strips[0].replaceChildren(svg)
    return parts
  }

  tie(model, player, scene, () => {
    data = JSON.parse(model.data)
    flow.data = data.stream
    put(kernels, data.kernels)
    player.load(data.stream.steps.length - 1, model.step)
    layout()
  }, layout)
}
