// FlashAttention's loop beside the trips: the same boxes and scale. It has moved as many bytes as they have, until it is
// done. What the loop does comes from the data; here are only lengths and colours.
const PASS_MS = 250 // a pass that takes less is not drawn as a line that runs over K and V, but as a glow on them

class Flow {
  constructor(words) {
    this.words = words
    this.say = h("p", { class: "say stream", "aria-live": "polite" })
    this.scene = h("div", { class: "scene" })
    this.out = h("b", { "data-readout": "stream-bytes" })
    this.label = h("span")
    this.wavesOut = h("b", { "data-readout": "stream-waves-bytes" })
  }

  // Where the loop stands within step n: bytes, and passes over K and V with the share of the running one.
  place(n, progress, stepBytes) {
    const to = this.data.steps[n]
    if (n === 0 || progress >= 1) return to
    const from = this.data.steps[n - 1]
    const bytes = Math.min(to.bytes, from.bytes + progress * stepBytes)
    if (bytes >= to.bytes) return { ...to, bytes }
    const share = (bytes - from.bytes) / (to.bytes - from.bytes)
    return { ...to, bytes, passes: from.passes + share * (to.passes - from.passes), stage: "stream" }
  }

  tell(n, playing) {
    const step = this.data.steps[n]
    this.say.setAttribute("aria-live", playing ? "off" : "polite")
    put(this.say, step.say)
    put(this.out, step.text)
    put(this.label, this.data.label)
    this.out.dataset.value = step.bytes
  }

  // `ms` is how long step n takes when it is played, 0 at rest; `whole` is the picture after everything.
  show(n, progress, stepBytes, ms, whole) {
    const { data, drawn } = this
    if (!drawn) return
    const at = this.place(n, progress, stepBytes)
    const { blocks } = data
    const over = at.passes >= blocks
    const done = Math.floor(at.passes)
    const part = at.passes - done
    const loaded = over ? blocks : done + (part > 0 || at.stage === "load" || at.stage === "stream" ? 1 : 0)
    const shares = { Q: loaded / blocks, O: done / blocks, again: at.passes / blocks }
    const stage = over || whole || n === 0 ? "" : at.stage
    const busy = { Q: stage === "load", O: stage === "leave", again: stage === "stream" }
    drawn.lanes.forEach(({ show }, k) => {
      const key = data.lines[k].again ? "again" : data.lines[k].tensor
      show(n === 0 ? 0 : shares[key], n === 0 || !shares[key] ? "to-come" : busy[key] ? "current" : "done")
    })
    const passes = n && ms ? data.steps[n].passes - data.steps[n - 1].passes : 0
    const blurred = passes * PASS_MS > ms && ms > 0
    const reach = data.causal ? Math.min(1, (done + 1) / blocks) : 1
    for (const name of ["Q", "K", "V", "O"]) {
      const matrix = drawn.matrices[name]
      const again = name === "K" || name === "V"
      const running = stage && (again ? stage === "stream" : true)
      const full = name === "O" ? (n === 0 ? 0 : shares.O) : 1
      matrix.fill.setAttribute("height", matrix.height * full)
      matrix.scan.setAttribute("y", matrix.y + matrix.height * (again ? part * reach : done / blocks))
      matrix.scan.setAttribute("class", running && !(again && blurred) ? "scan" : "scan off")
      matrix.node.setAttribute("class", `matrix ${matrix.kind}${full ? "" : " empty"}${running && again && blurred ? " glow" : ""}`)
    }
    drawn.held.forEach(({ node, stages }) => node.setAttribute("class", `held ${stages.includes(stage) ? "current" : ""}`))
    drawn.cells.forEach((cell, k) => cell.setAttribute("class", k === 0 && stage ? "cell lit" : "cell"))
    const count = (value) => value.toLocaleString("en")
    const running = this.words.stream_pass.replace("{i}", count(Math.min(blocks, done + 1))).replace("{blocks}", count(blocks))
    put(drawn.pass, n === 0 ? "" : over || whole ? data.passes : running)
    drawn.moved?.setAttribute("width", (drawn.long * at.bytes) / data.total)
  }

  // The scene in the frame that the trips are drawn in: nothing is as thick here as it is not there.
  draw(frame, data) {
    const { unit, line, width, height, chip, size, pad } = frame
    const svg = s("svg", { class: frame.css, role: "img", "aria-label": this.data.spoken, viewBox: `0 0 ${width} ${height}`, width, height })
    const text = (x, y, css, ...words) => {
      const node = s("text", { x, y, class: css }, ...words)
      svg.append(node)
      return node
    }
    drawBoxes(svg, frame, data)
    const rows = data.memory.map((row) => ({ ...row, ghost: true, amount: data.nothing, note: this.words.never }))
    const matrices = drawMemory(svg, frame.store, unit, size, rows)
    for (const row of rows) {
      const ghost = matrices[row.square]
      ghost.fill.setAttribute("height", 0)
      ghost.node.setAttribute("class", "matrix ghost empty")
    }
    // the chip: what it holds of one pass, and the multiprocessor that holds it
    const held = this.data.held.map((item, k) => {
      const y = frame.hold + k * frame.holdStep
      const node = s("g", { class: "held" })
      const name = s("text", { x: chip.x + pad, y, class: "does" }, item.name)
      const amount = s("text", { x: chip.x + pad, y: y + line, class: "small" }, item.text)
      node.append(name, amount)
      svg.append(node)
      return { node, stages: item.stages }
    })
    const cells = drawCells(svg, frame.cells.x, frame.cells.y, size.chip, data.chip.pieces)
    text(chip.x + pad, frame.hold + this.data.held.length * frame.holdStep - 4 * unit, this.data.over ? "small over" : "small", this.data.room)
    const { lines } = this.data
    const { left, right, top, bottom } = frame.lanes
    const breaks = lines.filter((one, k) => k && one.again !== lines[k - 1].again).length
    const gap = 24 * unit
    const rowHeight = Math.min(44 * unit, (bottom - top - breaks * gap) / lines.length)
    let y = top
    let pass = null
    const lanes = lines.map((one, k) => {
      if (k && one.again !== lines[k - 1].again) y += gap
      if (one.again && !pass) pass = text((left + right) / 2, y - 2 * unit, "pass")
      const arrow = drawArrow(svg, {
        left,
        right,
        y,
        rowHeight,
        height: Math.max(1.5, (frame.thick * one.bytes) / frame.most),
        write: one.write,
        unit,
        name: one.name,
        amount: one.text,
        kind: one.spilled ? "spilled" : one.again ? "stream" : "plain",
        above: true,
      })
      y += rowHeight
      return arrow
    })
    pass.setAttribute("text-anchor", "middle")
    this.scene.replaceChildren(svg)
    this.drawn = { lanes, matrices, held, cells, pass }
  }

  // Its strip: as long as its bytes beside `most` bytes in `width` px, with a mark where each pass ends.
  drawStrip(bar, width, most, tall) {
    const long = (width * this.data.total) / most
    const svg = s("svg", { width, height: tall, "aria-hidden": "true" })
    const moved = s("rect", { class: "moved", x: 0, y: 0, width: 0, height: tall })
    svg.append(s("rect", { class: "whole", x: 0, y: 0, width: Math.max(long, 1), height: tall }), moved)
    const apart = long / Math.max(1, this.data.marks.length)
    if (apart >= 3)
      for (const mark of this.data.marks.slice(0, -1)) {
        const x = (long * mark) / this.data.total
        svg.append(s("line", { class: "mark", x1: x, x2: x, y1: 0, y2: tall }))
      }
    bar.replaceChildren(svg)
    Object.assign(this.drawn, { moved, long })
  }

  drawWaves(row, bar, width, most, tall) {
    const { waves } = this.data
    row.hidden = !waves
    if (!waves) return
    put(this.wavesOut, waves.text)
    this.wavesOut.dataset.value = waves.bytes
    const svg = s("svg", { width, height: tall, "aria-hidden": "true" })
    svg.append(s("rect", { class: "waves", x: 0, y: 0, width: Math.max(1, (width * waves.bytes) / most), height: tall }))
    bar.replaceChildren(svg)
  }
}
