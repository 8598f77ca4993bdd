// The N x N score matrix cut in tiles: Q blocks on the left, K,V blocks on top, O blocks on the right.
const STATES = ["skipped", "to-come", "current", "done"]

class TileMap {
  constructor(figure, words) {
    this.words = words
    this.box = figure.appendChild(h("div", { class: "drawing" }))
    this.legend = figure.appendChild(h("ul", { class: "legend" }))
    this.legend.innerHTML = STATES.slice()
      .reverse()
      .map((state) => `<li data-state="${state}"><svg width="18" height="14" aria-hidden="true">` +
        `${rect(1, 1, 16, 12, "tile " + state)}${state === "skipped" ? rect(1, 1, 16, 12, "hatch") : ""}` +
        `</svg>${escape(words[state])}</li>`)
      .join("")
    this.noKey = this.legend.appendChild(h("li", { "data-state": "blind" }))
    this.noKey.innerHTML = `<svg width="18" height="14" aria-hidden="true">${rect(1, 3, 16, 8, "blind")}</svg>${escape(words.blind)}`
    figure.appendChild(h("p", { class: "note" }, words.map_note))
  }

  layout(trace, width, unit) {
    this.trace = trace
    const side = Math.min(width - 84 * unit, 330 * unit)
    const left = 44 * unit
    const top = 38 * unit
    const cell = side / trace.N
    const [Tr, Tc] = [trace.kinds.length, trace.kinds[0].length]
    const span = (block, size) => [block * size, Math.min(size, trace.N - block * size)]
    const parts = []
    const bar = 12 * unit
    for (let i = 0; i < Tr; i++) {
      const [start, length] = span(i, trace.Br)
      const [y, tall] = [top + start * cell + 1, length * cell - 2]
      parts.push(rect(left - bar - 5 * unit, y, bar, tall, "q-block", `--n:${i}`))
      parts.push(rect(left + side + 5 * unit, y, bar, tall, "o-block"))
      parts.push(rect(left + side + 5 * unit, y, bar, tall, "o-fill"))
      if (length * cell >= 13 * unit)
        parts.push(text(left - bar - 9 * unit, y + tall / 2 + 4 * unit, String(i + 1), "small", "end"))
    }
    for (let j = 0; j < Tc; j++) {
      const [start, length] = span(j, trace.Bc)
      const x = left + start * cell + 1
      parts.push(rect(x, top - bar - 5 * unit, length * cell - 2, bar, "k-block"))
      if (length * cell >= 16 * unit)
        parts.push(text(x + length * cell / 2 - 1, top - bar - 9 * unit, String(j + 1), "small", "middle"))
    }
    for (let i = 0; i < Tr; i++)
      for (let j = 0; j < Tc; j++) {
        const [row, tall] = span(i, trace.Br)
        const [key, wide] = span(j, trace.Bc)
        const place = [left + key * cell + 0.5, top + row * cell + 0.5, wide * cell - 1, tall * cell - 1]
        parts.push(rect(...place, "tile"))
        if (trace.kinds[i][j] === 0) parts.push(rect(...place, "hatch"))
      }
    if (trace.causal) {
      let stairs = `M${left} ${top}`
      for (let r = 0; r < trace.N; r++)
        stairs += `H${(left + (r + 1) * cell).toFixed(1)}V${(top + (r + 1) * cell).toFixed(1)}`
      parts.push(`<path d="${stairs}" class="diagonal"/>`)
    }
    this.noKey.hidden = !trace.blind.length
    for (const row of trace.blind)
      parts.push(rect(left, top + row * cell, side, Math.max(2, cell), "blind"))
    parts.push(rect(0, 0, 0, 0, "halo"))
    const middle = top + side + 17 * unit
    parts.push(text(left - bar / 2 - 5 * unit, middle, "Q", "axis", "middle"))
    parts.push(text(left + side + bar / 2 + 5 * unit, middle, "O", "axis", "middle"))
    parts.push(text(left - 7 * unit, top - 7 * unit, "K, V", "axis", "end"))
    this.box.innerHTML = svg(left + side + 40 * unit, top + side + 22 * unit, parts.join(""), this.words.map)
    const all = (cls) => [...this.box.querySelectorAll("rect." + cls)]
    this.tiles = all("tile")
    this.q = all("q-block")
    this.k = all("k-block")
    this.o = all("o-fill")
    this.oBlocks = all("o-block")
    this.halo = this.box.querySelector(".halo")
    this.picture = this.box.firstChild
    this.drawn = { unit }
  }

  show(step) {
    const { trace } = this
    const Tc = trace.kinds[0].length
    let current = null
    trace.visit_order.forEach((row, i) =>
      row.forEach((order, j) => {
        const state = order < 0 ? 0 : order < step.done ? 3 : order === step.current ? 2 : 1
        const tile = this.tiles[i * Tc + j]
        attribute(tile, "class", "tile " + STATES[state])
        if (state === 2) current = tile
      })
    )
    for (const name of ["x", "y", "width", "height"])
      attribute(this.halo, name, current ? current.getAttribute(name) : 0)
    this.q.forEach((node, i) => attribute(node, "class", "q-block" + (step.chip[0] && i === step.visit.i ? " here" : "")))
    this.k.forEach((node, j) => attribute(node, "class", "k-block" + (step.chip[2] && j === step.visit.j ? " here" : "")))
    this.o.forEach((node, i) => {
      // An output block fills from the top as its tiles are absorbed; it is whole when the last one is.
      const visits = trace.blocks[i].visits
      const absorbed = visits.filter((visit) => visit.number < step.done || (visit.number === step.current && step.phase >= 4))
      const frame = this.oBlocks[i]
      attribute(node, "height", (frame.getAttribute("height") * absorbed.length) / Math.max(1, visits.length))
      attribute(node, "class", "o-fill" + (absorbed.length === visits.length ? " whole" : ""))
    })
    attribute(
      this.picture,
      "aria-label",
      fill(this.words.map_now, { done: step.done, visited: trace.visits.length, i: step.visit.i + 1, j: step.visit.j + 1 })
    )
  }
}
