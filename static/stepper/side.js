// Beside the drawings: the pseudocode, the chip with what it holds, and the two HBM meters.
class CodeView {
  constructor(figure, words) {
    this.words = words
    this.list = figure.appendChild(h("ol", { class: "code" }))
  }

  layout(trace) {
    this.trace = trace
    this.lines = trace.listing.map(({ line, indent, text }) => {
      const note = h("small")
      const item = h("li", { "data-line": line, style: `--indent:${indent}` }, h("code", {}, text), note)
      return { line, item, note }
    })
    this.list.replaceChildren(...this.lines.map(({ item }) => item))
  }

  show(step) {
    const { trace } = this
    for (const { line, item, note } of this.lines) {
      const current = line === step.line
      if (current !== item.classList.contains("current")) item.classList.toggle("current", current)
      current ? attribute(item, "aria-current", "step") : item.removeAttribute("aria-current")
      if (line === "each-q") put(note, step.i >= 0 ? `i = ${step.i + 1} / ${trace.kinds.length}` : "")
      if (line === "each-kv") put(note, step.j >= 0 ? `j = ${step.j + 1} / ${trace.kinds[0].length}` : "")
    }
  }
}

const TENSORS = ["q", "o", "k", "v", "s", "statistics"]

class MemoryView {
  constructor(figure, words) {
    this.words = words
    const meter = (name, label) => {
      const fillBar = h("i")
      const bar = h("div", { class: "meter", role: "progressbar", "aria-label": label, "aria-valuemin": 0 }, fillBar)
      const value = h("b", { "data-readout": `hbm-${name}` })
      const total = h("span")
      const now = h("em")
      hbm.append(h("div", { class: "meter-row" }, h("span", {}, label), h("span", { class: "amount" }, value, total), bar, now))
      return { bar, fillBar, value, total, now }
    }
    const hbm = h("div", { class: "hbm" }, h("h4", {}, words.hbm))
    this.read = meter("read", words.read)
    this.written = meter("written", words.written)
    this.held = h("b", { "data-readout": "chip-bytes" })
    this.most = h("span")
    this.slots = TENSORS.map((tensor) => {
      const value = h("b")
      const bar = h("i")
      const slot = h("li", { "data-tensor": tensor }, h("span", {}, words["tensor_" + tensor]), h("div", { class: "slot" }, bar), value)
      return { tensor, slot, bar, value, name: slot.firstChild }
    })
    const chip = h("div", { class: "chip" }, h("h4", {}, words.chip), h("p", { class: "held" }, this.held, this.most), h("ul", {}, ...this.slots.map(({ slot }) => slot)))
    figure.append(h("div", { class: "memories" }, hbm, chip))
  }

  layout(trace) {
    this.trace = trace
    this.biggest = Math.max(...TENSORS.map((_, k) => Math.max(...trace.steps.chip.map((held) => held[k]))))
    put(this.most, " " + fill(this.words.of_most, { most: bytes(trace.chip_total) }))
    for (const [meter, total] of [[this.read, trace.read_total], [this.written, trace.written_total]]) {
      put(meter.total, " " + fill(this.words.of_total, { total: bytes(total) }))
      attribute(meter.bar, "aria-valuemax", total)
    }
  }

  show(step) {
    const { trace, words } = this
    for (const [meter, value, total, now] of [
      [this.read, step.read, trace.read_total, step.readNow],
      [this.written, step.written, trace.written_total, step.writtenNow],
    ]) {
      put(meter.value, bytes(value))
      meter.value.dataset.value = value
      meter.fillBar.style.width = `${(100 * value) / total}%`
      attribute(meter.bar, "aria-valuenow", value)
      put(meter.now, now ? "+ " + bytes(now) : "")
    }
    const held = step.chip.reduce((sum, part) => sum + part, 0)
    put(this.held, bytes(held))
    this.held.dataset.value = held
    this.slots.forEach(({ tensor, slot, bar, value, name }, k) => {
      const size = step.chip[k]
      if (slot.classList.contains("in") !== size > 0) slot.classList.toggle("in", size > 0)
      bar.style.width = `${(100 * size) / this.biggest}%`
      put(value, size ? bytes(size) : "—")
      if (tensor === "s") put(name, step.phase >= 3 && size ? words.tensor_p : words.tensor_s)
    })
  }
}
