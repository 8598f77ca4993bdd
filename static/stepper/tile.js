// The tile on the chip: S and P as heat maps (numbers where they fit), and m, α, l, O of all its rows.
class TileView {
  constructor(figure, words, pick) {
    this.words = words
    this.pair = figure.appendChild(h("div", { class: "pair" }))
    this.s = this.pair.appendChild(h("div", { class: "drawing" }))
    this.p = this.pair.appendChild(h("div", { class: "drawing" }))
    figure.addEventListener("click", (event) => {
      const row = event.target.closest?.("[data-row]")
      if (row) pick(row.dataset.row)
    })
  }

  // Side by side where both hold their numbers so, else one over the other; a tile of many cells shows none.
  layout(trace, width, unit) {
    Object.assign(this, { trace, unit, left: 24 * unit, drawn: {} })
    const [rows, keys] = [Math.min(trace.Br, trace.N), Math.min(trace.Bc, trace.N)]
    const rest = width - 10 * unit - 2 * (this.left + 2)
    // Beside S, P needs no numbers of its rows: its cells have the room.
    const shared = rest + this.left - 1
    const most = (width - this.left - 2) / keys
    // What a cell needs for its widest number: a score may need more than a weight, by its minus sign.
    const weight = breadth("0.00", this.pair, 12 * unit) + 4 * unit
    const sizes = rows <= 8 && keys <= 8 ? [2, 1].map((decimals) => [decimals, this.widest(decimals) + 5 * unit]) : []
    const beside = sizes.find(([, score]) => keys * (score + weight) <= shared)
    const alone = sizes.find(([, score]) => Math.max(score, weight) <= most)
    const even = (each) => ({ s: each, p: each })
    if (beside) {
      const room = shared / keys - beside[1] - weight
      this.cell = { s: beside[1] + room / 3, p: weight + (2 * room) / 3 }
    } else this.cell = even(alone || width < 440 * unit ? most : rest / 2 / keys)
    for (const which of ["s", "p"]) this.cell[which] = Math.min(this.cell[which], 46 * unit)
    this.decimals = (beside || alone || [0])[0]
    this.gutter = { s: this.left, p: beside ? 1 : this.left }
    const cells = (which) => this.gutter[which] + keys * this.cell[which] + 2
    const stacked = !beside && (alone || width < 440 * unit)
    const spare = stacked ? 0 : (width - 10 * unit - cells("s") - cells("p")) / 2
    this.width = stacked ? { s: width, p: width } : { s: Math.floor(cells("s") + spare), p: Math.floor(cells("p") + spare) }
  }

  // Of all scores of the play, written with so many decimals.
  widest(decimals) {
    const shapes = new Set(["−∞"])
    for (const visit of this.trace.visits)
      for (const line of visit.s)
        for (const value of line) if (value !== null) shapes.add(this.brief(value, decimals).replace(/\d/g, "0"))
    return Math.max(...[...shapes].map((shape) => breadth(shape, this.pair, 12 * this.unit)))
  }

  show(step, row) {
    const { visit, phase } = step
    const [low, high] = this.trace.score_range
    const range = { low: score(low, 2), high: score(high, 2) }
    this.heat("s", visit, row, phase >= 1, this.words.s_title, fill(this.words.s_note, range), (s) => (s - low) / (high - low || 1))
    this.heat("p", visit, row, phase >= 3, this.words.p_title, this.words.p_note, (p) => p)
  }

  heat(which, visit, row, lit, title, note, level) {
    const key = [visit.number, row, lit].join()
    if (this.drawn[which] === key) return
    this.drawn[which] = key
    const { unit, trace } = this
    const left = this.gutter[which]
    const values = visit[which]
    const [rows, keys] = [Math.min(trace.Br, trace.N), Math.min(trace.Bc, trace.N)]
    const top = 40 * unit
    const cell = this.cell[which]
    const numbered = this.decimals > 0
    const tall = numbered ? 25 * unit : Math.min(cell, Math.max(3.2 * unit, (200 * unit) / rows))
    const parts = [text(0, 14 * unit, title, "heading")]
    const every = Math.max(1, Math.ceil((26 * unit) / cell))
    for (let c = 0; c < values[0].length; c += every) {
      const key = String(visit.key + c + 1)
      // The last narrow column's number would reach past the drawing.
      const last = left + keys * cell - breadth(key, this.pair, 12 * unit) / 2
      parts.push(text(Math.min(left + (c + 0.5) * cell, last), top - 6 * unit, key, "small", "middle"))
    }
    const step = Math.max(1, Math.ceil((13 * unit) / tall))
    const shades = new Shades()
    const labels = []
    const rowsHit = []
    values.forEach((line, r) => {
      const y = top + r * tall
      const here = r === row
      if (left > 1 && (here || (r % step === 0 && Math.abs(r - row) >= step)))
        labels.push(text(left - 4 * unit, y + tall / 2 + 4 * unit, String(visit.row + r + 1), here ? "small here" : "small", "end"))
      line.forEach((value, c) => {
        const x = left + c * cell
        const place = [x + 0.5, y + 0.5, cell - 1, tall - 1]
        const masked = visit.s[r][c] === null
        if (!lit || masked) {
          shades.add(...place, "empty", 1)
          if (lit) shades.add(...place, "hatch", 1)
        } else shades.add(...place, "cell", level(value))
        if (!lit || !numbered) return
        const said = masked ? (which === "s" ? "−∞" : "0") : which === "s" ? this.brief(value, this.decimals) : this.weight(value)
        labels.push(text(x + cell / 2, y + tall / 2 + 4.5 * unit, said, "value", "middle"))
      })
      rowsHit.push(`<g data-row="${r}">${rect(left, y, line.length * cell, tall, "hit")}</g>`)
      if (here) rowsHit.push(rect(left - 1, y - 1, line.length * cell + 2, tall + 2, "followed"))
    })
    parts.push(shades.markup(numbered ? 0.5 : 0.92), ...labels, ...rowsHit)
    const foot = top + rows * tall + 17 * unit
    parts.push(text(left, foot, lit ? note : this.words.not_yet, "small"))
    this[which].innerHTML = svg(this.width[which], Math.ceil(foot + 6 * unit), parts.join(""), `${title}. ${note}`)
  }

  // A score in a cell, four or five signs wide.
  brief(value, decimals) {
    const size = Math.abs(value)
    return size >= 1000 ? score(value / 1000, 0) + "k" : score(value, size >= 10 ? Math.max(0, decimals - 1) : decimals)
  }

  // A weight in a cell: two decimals, and ≈0 rather than 0.00 for what is small but not masked.
  weight(value) {
    return value > 0 && value < 0.005 ? "≈0" : value.toFixed(2)
  }
}

// All rows of the Q block: m before and after, α as a bar, l, and O with signed bars.
class CarryView {
  constructor(figure, words, pick) {
    this.words = words
    this.box = figure.appendChild(h("div", { class: "drawing" }))
    figure.addEventListener("click", (event) => {
      const row = event.target.closest?.("[data-row]")
      if (row) pick(row.dataset.row)
    })
  }

  layout(trace, width, unit) {
    this.trace = trace
    this.width = width
    this.unit = unit
    this.drawn = null
  }

  show(step, row) {
    const { visit, block, phase } = step
    const key = [visit.number, row, Math.min(phase, 4)].join()
    if (this.drawn === key) return
    this.drawn = key
    const { unit, width, trace, words } = this
    const rows = Math.min(trace.Br, trace.N)
    const tall = rows <= 8 ? 25 * unit : rows <= 16 ? 17 * unit : Math.max(4 * unit, (270 * unit) / rows)
    const numbered = tall >= 15 * unit
    const roomy = width >= 480 * unit
    const top = 40 * unit
    const wide = { row: 26, m: numbered && roomy ? 72 : 0, m_new: numbered ? 72 : 0, alpha: numbered ? (roomy ? 120 : 104) : 90, l: numbered ? 58 : 0 }
    const x = {}
    let edge = 0
    for (const [name, size] of Object.entries(wide)) {
      x[name] = edge
      edge += size * unit
    }
    x.o = edge + 12 * unit
    const column = (width - x.o - 2) / trace.columns
    const full = Math.max(...block.o.map((range) => range[1])) || 1
    const parts = []
    const head = (name, label) => wide[name] && parts.push(text(x[name] + wide[name] * unit - 10 * unit, top - 9 * unit, label, "small", "end"))
    head("m", "m")
    head("m_new", "m′")
    head("l", phase >= 4 ? "l′" : "l")
    parts.push(text(x.alpha + 4 * unit, top - 9 * unit, "α", "small"))
    parts.push(text(x.o, top - 9 * unit, (phase >= 4 ? "O′" : "O") + (roomy ? ", " + words.o_undivided : ""), "small"))
    const stride = Math.max(1, Math.ceil((13 * unit) / tall))
    const shades = new Shades()
    const [l, o] = phase >= 4 ? [visit.l[3], visit.o[3]] : [visit.l[0], visit.o[0]]
    visit.alpha.forEach((alpha, r) => {
      const y = top + r * tall
      const base = y + tall / 2 + 4.5 * unit
      const here = r === row
      const line = [rect(0, y, width, tall, here ? "band here" : "band")]
      if (here || (r % stride === 0 && Math.abs(r - row) >= stride))
        line.push(text(wide.row * unit - 6 * unit, base, String(visit.row + r + 1), here ? "small here" : "small", "end"))
      const cell = (name, words, cls = "number") => wide[name] && line.push(text(x[name] + wide[name] * unit - 10 * unit, base, words, cls, "end"))
      cell("m", score(visit.m[0][r], 2))
      cell("m_new", phase >= 2 ? score(visit.m[1][r], 2) : "·", phase >= 2 && visit.m[1][r] !== visit.m[0][r] ? "number strong" : "number")
      cell("l", number(l[r]))
      const track = (numbered ? wide.alpha - 62 : wide.alpha - 8) * unit
      line.push(rect(x.alpha + 4 * unit, y + tall * 0.2, track, tall * 0.6, "alpha-track"))
      if (phase >= 2) {
        line.push(rect(x.alpha + 4 * unit, y + tall * 0.2, alpha * track, tall * 0.6, "alpha-bar"))
        if (numbered) line.push(text(x.alpha + track + 10 * unit, base, alpha > 0 && alpha < 1e-3 ? "≈0" : number(alpha), "number"))
      }
      o[r].forEach((value, c) => {
        const cellX = x.o + c * column
        // Too flat for bars: shade by size, stripes for minus.
        if (!numbered) return shades.add(cellX, y + 0.3, column * 0.94, tall - 0.6, value >= 0 ? "kept" : "minus", Math.abs(value) / full)
        const half = tall / 2 - 1
        const size = Math.max(value ? 0.8 : 0, (Math.abs(value) / full) * half)
        line.push(rect(cellX + column * 0.12, value >= 0 ? y + tall / 2 - size : y + tall / 2, column * 0.76, size, value >= 0 ? "kept" : "minus"))
      })
      if (numbered) line.push(`<line x1="${x.o}" x2="${width}" y1="${y + tall / 2}" y2="${y + tall / 2}" class="rule"/>`)
      parts.push(`<g data-row="${r}">${line.join("")}</g>`)
    })
    parts.push(shades.markup(0.95))
    const note = trace.columns < trace.d ? fill(words.columns, { shown: trace.columns, d: trace.d }) : ""
    const foot = top + rows * tall + 16 * unit
    if (note) parts.push(text(x.o, foot, note, "small"))
    this.box.innerHTML = svg(Math.ceil(width), Math.ceil(foot + 4 * unit), parts.join(""), words.carry)
  }
}
