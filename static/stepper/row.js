// One query row, followed: its scores against m, and what α does to all that it has accumulated.
class RowView {
  constructor(figure, words, pick) {
    this.words = words
    this.select = h("select", { "aria-label": words.follow, onchange: () => pick(this.select.value) })
    this.title = figure.querySelector("h3")
    figure.firstChild.append(this.select)
    this.line = figure.appendChild(h("div", { class: "drawing" }))
    this.alpha = h("b", { "data-readout": "rescale" })
    this.rule = h("span")
    figure.appendChild(h("p", { class: "alpha" }, this.rule, this.alpha))
    const lane = (cls, label) => {
      const parts = { name: h("span", { class: "lane-name" }, label), track: h("div", { class: "track" }), value: h("b") }
      lanes.append(h("div", { class: "lane " + cls }, parts.name, parts.track, parts.value))
      return parts
    }
    const bar = (track, cls) => track.appendChild(h("i", { class: cls }))
    const lanes = figure.appendChild(h("div", { class: "lanes", role: "img" }))
    this.lanes = lanes
    this.old = lane("lane-old", words.lane_old)
    this.old.bar = bar(this.old.track, "kept")
    this.wedge = bar(lanes.appendChild(h("div", { class: "wedge" })), "funnel")
    this.shrunk = lane("lane-shrunk", words.lane_shrunk)
    this.shrunk.ghost = bar(this.shrunk.track, "ghost")
    this.shrunk.bar = bar(this.shrunk.track, "kept")
    this.fall = bar(lanes.appendChild(h("div", { class: "wedge" })), "funnel")
    this.sum = lane("lane-sum", words.lane_sum)
    this.sum.bar = bar(this.sum.track, "kept")
    this.sum.added = bar(this.sum.track, "added")
    this.output = figure.appendChild(h("div", { class: "drawing" }))
  }

  layout(trace, width, unit) {
    this.trace = trace
    this.width = width
    this.unit = unit
    this.drawn = null
    const rows = Math.min(trace.Br, trace.N)
    const chosen = this.select.value || "auto"
    this.select.innerHTML =
      `<option value="auto">${escape(this.words.auto)}</option>` +
      Array.from({ length: rows }, (_, r) => `<option value="${r}">${escape(fill(this.words.row_of_block, { r: r + 1 }))}</option>`).join("")
    this.select.value = [...this.select.options].some((option) => option.value === chosen) ? chosen : "auto"
  }

  show(step, row, alphaVisit) {
    const { visit, block, phase } = step
    put(this.title, fill(this.words.title_row, { row: visit.row + row + 1 }))
    this.showAlpha(alphaVisit, row, step)
    const key = [visit.number, row, phase].join()
    if (key === this.drawn) return
    this.drawn = key
    this.line.innerHTML = this.scoreLine(visit, block, row, phase)
    this.showLanes(visit, block, row, phase)
    this.output.innerHTML = this.outputs(visit, block, row, phase)
  }

  // The readout keeps the factor that was applied last, until the next tile has one.
  showAlpha(visit, row, step) {
    if (!visit) {
      put(this.alpha, this.words.none_yet)
      this.alpha.dataset.value = ""
      put(this.rule, "α = exp(m − m′): ")
      return
    }
    const r = Math.min(row, visit.alpha.length - 1)
    const [before, after] = [visit.m[0][r], visit.m[1][r]]
    const subtracted = after !== null && after < 0 ? `(${score(after)})` : score(after)
    const stale = visit !== step.visit || step.phase < 2
    put(this.rule, (stale ? this.words.stale + " " : "") + `α = exp(m − m′) = exp(${score(before)} − ${subtracted}) = `)
    if (after === null) put(this.rule, this.words.alpha_blind + " ")
    put(this.alpha, number(visit.alpha[r]))
    this.alpha.dataset.value = visit.alpha[r]
    this.alpha.parentNode.classList.toggle("stale", stale)
  }

  scoreLine(visit, block, row, phase) {
    const { unit, width, words } = this
    const [low, high] = block.scores[row]
    const pad = Math.max((high - low) * 0.08, 0.4)
    const [left, right] = [16 * unit, width - 16 * unit]
    const x = (value) => left + ((value - low + pad) / (high - low + 2 * pad)) * (right - left)
    const axis = 52 * unit
    const parts = [`<line x1="${left}" x2="${right}" y1="${axis}" y2="${axis}" class="rule"/>`]
    for (const earlier of block.visits.slice(0, visit.nth))
      for (const s of earlier.s[row])
        if (s !== null) parts.push(`<circle cx="${x(s).toFixed(1)}" cy="${axis}" r="${3 * unit}" class="seen"/>`)
    const [before, after] = [visit.m[0][row], visit.m[1][row]]
    if (phase >= 1)
      for (const s of visit.s[row])
        if (s !== null) parts.push(`<circle cx="${x(s).toFixed(1)}" cy="${axis}" r="${5 * unit}" class="fresh"/>`)
    // Labels stay inside the drawing, whatever their number.
    const label = (value, y, words, cls) => {
      const place = Math.max(46 * unit, Math.min(width - 46 * unit, x(value)))
      return text(place, y, words, cls, "middle")
    }
    const marker = (value, sign, cls) => {
      const [tip, base] = [axis + sign * 8 * unit, axis + sign * 19 * unit]
      const at = x(value)
      return `<path d="M${at} ${tip}L${at - 7 * unit} ${base}L${at + 7 * unit} ${base}Z" class="${cls}"/>`
    }
    if (before === null) parts.push(text(left, 20 * unit, "m = −∞", "number"))
    else parts.push(marker(before, -1, "m-old"), label(before, 26 * unit, "m = " + score(before), "number"))
    if (phase >= 2) {
      if (after === null) parts.push(text(left, 90 * unit, "m′ = −∞", "number strong"))
      else parts.push(marker(after, 1, "m-new"), label(after, 88 * unit, "m′ = " + score(after), "number strong"))
      if (before !== null && after > before && x(after) - x(before) > 12 * unit)
        parts.push(
          `<path d="M${x(before).toFixed(1)} ${34 * unit}H${(x(after) - 8 * unit).toFixed(1)}" class="arrow"/>` +
          `<path d="M${x(after).toFixed(1)} ${34 * unit}l${-9 * unit} ${-5 * unit}v${10 * unit}Z" class="arrow-head"/>`
        )
    }
    const said = fill(words.line_now, { m: score(before), m_new: phase >= 2 ? score(after) : "…" })
    return svg(width, Math.round(98 * unit), parts.join(""), said)
  }

  showLanes(visit, block, row, phase) {
    const [old, scaled, added, sum] = visit.l.map((part) => part[row])
    const full = block.l[row][1] || 1
    const wide = (value) => `${((100 * value) / full).toFixed(2)}%`
    const on = (parts, lit) => parts.track.parentNode.classList.toggle("off", !lit)
    on(this.old, true)
    on(this.shrunk, phase >= 2)
    on(this.sum, phase >= 3)
    this.old.bar.style.width = wide(old)
    put(this.old.value, number(old))
    this.shrunk.ghost.style.width = phase >= 2 && scaled !== old ? wide(old) : "0%"
    this.shrunk.ghost.hidden = scaled === old
    // Before α is known the second bar still has the old length: the shrink is then seen as a motion.
    this.shrunk.bar.style.width = phase >= 2 ? wide(scaled) : wide(old)
    put(this.shrunk.value, phase >= 2 ? number(scaled) : "")
    const trapezium = (node, top, bottom, lit) => {
      node.style.clipPath = `polygon(0 0, ${wide(top)} 0, ${wide(bottom)} 100%, 0 100%)`
      node.parentNode.classList.toggle("off", !lit)
    }
    trapezium(this.wedge, old, scaled, phase >= 2)
    trapezium(this.fall, scaled, scaled, phase >= 3)
    this.sum.bar.style.width = phase >= 3 ? wide(scaled) : "0%"
    this.sum.added.style.width = phase >= 3 ? wide(added) : "0%"
    this.sum.track.classList.toggle("pending", phase === 3)
    put(this.sum.value, phase >= 4 ? number(sum) : phase === 3 ? `+ ${number(added)}` : "")
    attribute(
      this.lanes,
      "aria-label",
      fill(this.words.lanes_now, { l: number(old), scaled: number(scaled), added: number(added), sum: number(sum) })
    )
  }

  // Three small bar charts on one scale: O so far, α·O, and α·O with P V on top.
  outputs(visit, block, row, phase) {
    const { unit, width, words, trace } = this
    const [old, scaled, added, after] = visit.o.map((part) => part[row])
    const full = block.o[row][1] || 1
    const gap = 18 * unit
    const chart = (width - 2 * gap) / 3
    const [top, tall] = [22 * unit, 76 * unit]
    const zero = top + tall / 2
    const y = (value) => zero - (value / full) * (tall / 2 - 2)
    const step = chart / old.length
    const parts = []
    const column = (x, from, to, cls) => rect(x, Math.min(y(from), y(to)), step * 0.72, Math.abs(y(from) - y(to)), cls)
    const titles = [words.o_old, words.o_shrunk, words.o_sum]
    titles.forEach((title, k) => {
      const x0 = k * (chart + gap)
      const lit = k === 0 || (k === 1 ? phase >= 2 : phase >= 4)
      parts.push(text(x0, 13 * unit, title, lit ? "number" : "number dim"))
      parts.push(`<line x1="${x0}" x2="${x0 + chart}" y1="${zero}" y2="${zero}" class="rule"/>`)
      if (!lit) return
      old.forEach((value, c) => {
        const x = x0 + c * step + step * 0.14
        if (k === 0) parts.push(column(x, 0, value, "kept"))
        if (k === 1) {
          if (scaled[c] !== value) parts.push(column(x, 0, value, "ghost"))
          parts.push(column(x, 0, scaled[c], "kept"))
        }
        if (k === 2) {
          parts.push(column(x, 0, scaled[c], "kept"), column(x, scaled[c], scaled[c] + added[c], "added"))
          parts.push(`<line x1="${x - 1}" x2="${x + step * 0.72 + 1}" y1="${y(after[c])}" y2="${y(after[c])}" class="tip"/>`)
        }
      })
    })
    const note = trace.columns < trace.d ? fill(words.columns, { shown: trace.columns, d: trace.d }) : words.columns_all
    return svg(width, Math.round(top + tall + 4 * unit), parts.join(""), note)
  }
}
