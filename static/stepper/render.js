// The step-through: lays the views out, wires transport and keys, and tells Python the step at rest.
const SPEEDS = [1, 2, 5, 10, 20, 40]
const ICONS = {
  first: "M6 5v14M20 5 9 12l11 7z",
  back: "M17 5 7 12l10 7z",
  play: "M7 4l13 8-13 8z",
  pause: "M7 4h4v16H7zM14 4h4v16h-4z",
  forward: "M7 5l10 7-10 7z",
  last: "M18 5v14M4 5l11 7-11 7z",
}

export function render({ model, el }) {
  const words = model.words
  const root = h("section", { class: "stepper", tabindex: 0, role: "group", "aria-label": words.label })
  const patterns = h("div", { class: "patterns", "aria-hidden": "true" })
  patterns.innerHTML =
    `<svg width="0" height="0"><defs>` +
    `<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="6" class="hatch-line"/></pattern>` +
    `<pattern id="added" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect width="5" height="5" class="added-ground"/><line x1="0" y1="0" x2="0" y2="5" class="added-line"/></pattern>` +
    `<pattern id="minus" width="4" height="4" patternUnits="userSpaceOnUse"><rect width="4" height="4" class="minus-ground"/><line x1="0" y1="1" x2="4" y2="1" class="minus-line"/></pattern>` +
    `</defs></svg>`

  const icon = (name) => `<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`
  const button = (name, act) => {
    const node = h("button", { type: "button", "aria-label": words[name], title: words[name], "data-act": name, onclick: act })
    node.innerHTML = icon(name)
    return node
  }
  const buttons = {
    first: button("first", () => rest(0)),
    back: button("back", () => rest(neighbour(-1))),
    play: button("play", () => toggle()),
    forward: button("forward", () => rest(neighbour(+1))),
    last: button("last", () => rest(trace.last)),
  }
  const scrubber = h("input", { type: "range", min: 0, value: 0, step: 1, "aria-label": words.scrubber, class: "scrubber" })
  const stepOut = h("b", { "data-readout": "step" })
  const stepsOut = h("b", { "data-readout": "steps" })
  const speed = h("select", { "aria-label": words.speed })
  speed.innerHTML = SPEEDS.map((n) => `<option value="${n}">${escape(fill(words.per_second, { n }))}</option>`).join("")
  const grain = h("fieldset", { class: "grain" }, h("legend", { class: "sr-only" }, words.grain))
  for (const choice of ["line", "tile"]) {
    const radio = h("input", { type: "radio", name: "grain", value: choice, checked: choice === "line", onchange: () => (byTile = choice === "tile") })
    grain.append(h("label", {}, radio, h("span", {}, words["by_" + choice])))
  }
  const transport = h(
    "div",
    { class: "transport", role: "group", "aria-label": words.transport },
    h("div", { class: "buttons" }, ...Object.values(buttons)),
    h("div", { class: "scrub" }, scrubber, h("span", { class: "count" }, words.step, " ", stepOut, " ", words.of, " ", stepsOut)),
    h("div", { class: "options" }, grain, h("label", { class: "speed" }, h("span", { class: "sr-only" }, words.speed), speed))
  )
  const say = h("p", { class: "say", "aria-live": "polite" })
  const figures = {}
  const figure = (name) => (figures[name] = h("figure", { class: "panel panel-" + name }, h("figcaption", {}, h("h3", {}, words["title_" + name]))))
  const board = h("div", { class: "board" }, ...["map", "row", "code", "tile", "memory", "carry"].map(figure))
  const errorOut = h("b", { "data-readout": "error-max" })
  const end = h("p", { class: "end" }, h("span", {}, words.error), errorOut, h("small", {}, words.error_note))
  root.append(patterns, transport, say, board)
  el.append(root)

  const pick = (choice) => {
    views.row.select.value = choice
    follow = choice === "auto" ? null : Number(choice)
    draw()
  }
  const views = {
    map: new TileMap(figures.map, words),
    row: new RowView(figures.row, words, pick),
    code: new CodeView(figures.code, words),
    tile: new TileView(figures.tile, words, pick),
    memory: new MemoryView(figures.memory, words),
    carry: new CarryView(figures.carry, words, pick),
  }
  figures.carry.append(end)

  let trace = null
  let n = 0
  let byTile = false
  let follow = null
  let sent = model.step
  const still = window.matchMedia("(prefers-reduced-motion: reduce)")
  const clock = new Clock(
    () => {
      if (n >= trace.last) return false
      n = neighbour(+1)
      draw()
      return n < trace.last
    },
    () => {
      buttons.play.innerHTML = icon(clock.playing ? "pause" : "play")
      for (const name of ["aria-label", "title"]) buttons.play.setAttribute(name, clock.playing ? words.pause : words.play)
      // A screen reader hears the sentence of a step at rest, not twenty a second.
      say.setAttribute("aria-live", clock.playing ? "off" : "polite")
      motion()
      if (!clock.playing) {
        draw()
        commit()
      }
    }
  )

  // The next step in a direction: the next line, or the next whole tile.
  function neighbour(direction) {
    let to = n + direction
    if (byTile) while (to > 0 && to < trace.last && !trace.steps.stop[to]) to += direction
    return Math.max(0, Math.min(trace.last, to))
  }

  // Bars move only when there is time to watch them.
  function motion() {
    root.classList.toggle("moving", !still.matches && (!clock.playing || clock.speed <= 5))
  }

  let pending = 0
  function commit() {
    clearTimeout(pending)
    // A held arrow key or a drag sends its last step, not each one.
    pending = setTimeout(flush, 120)
  }

  // The step that waits to be told, at once: before a link or Back, which are about what comes after it.
  function flush() {
    if (!pending) return
    clearTimeout(pending)
    pending = 0
    if (clock.playing || n === sent) return
    sent = n
    model.step = n
  }

  // Stop, stand on a step, and let Python know.
  function rest(to) {
    n = Math.max(0, Math.min(trace.last, to))
    if (clock.playing) clock.stop()
    else {
      draw()
      commit()
    }
  }

  function toggle() {
    if (clock.playing) return clock.stop()
    if (n >= trace.last) n = 0
    clock.start()
  }

  function draw() {
    const step = at(trace, n)
    const row = Math.min(follow ?? step.visit.focus, step.block.rows - 1)
    put(say, step.say)
    put(stepOut, String(n))
    stepOut.dataset.value = n
    scrubber.value = n
    scrubber.style.setProperty("--at", n / Math.max(1, trace.last))
    attribute(scrubber, "aria-valuetext", fill(words.step_of, { n, last: trace.last }))
    buttons.first.disabled = buttons.back.disabled = n === 0
    buttons.last.disabled = buttons.forward.disabled = n === trace.last
    views.map.show(step)
    views.row.show(step, row, trace.alphaAt[n] === null ? null : trace.visits[trace.alphaAt[n]])
    views.code.show(step)
    views.tile.show(step, row)
    views.memory.show(step)
    views.carry.show(step, row)
    end.classList.toggle("now", step.line === "compare")
    root.dataset.line = step.line
  }

  // Measures the panels and draws everything anew; only a new trace, width or text size needs it.
  let measured = ""
  function layout(anew = false) {
    if (!root.clientWidth || !trace) return
    const unit = parseFloat(getComputedStyle(root).fontSize) / 15
    const size = [unit, ...Object.values(figures).map((node) => node.clientWidth)].join()
    if (size === measured && !anew) return
    measured = size
    for (const [name, view] of Object.entries(views)) view.layout(trace, Math.floor(figures[name].clientWidth), unit)
    draw()
  }

  function load() {
    clock.stop()
    trace = prepare(JSON.parse(model.trace))
    n = Math.max(0, Math.min(trace.last, model.step))
    sent = model.step
    scrubber.max = trace.last
    put(stepsOut, String(trace.last))
    stepsOut.dataset.value = trace.last
    put(errorOut, number(trace.error_max, 2))
    errorOut.dataset.value = trace.error_max
    layout(true)
    if (n !== sent) commit()
  }

  scrubber.addEventListener("input", () => rest(Number(scrubber.value)))
  speed.addEventListener("change", () => {
    clock.speed = Number(speed.value)
    motion()
  })
  root.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const target = event.target
    const native = target.closest("select, input[type=radio]")
    if (native) return
    const act = {
      " ": target.closest("button") ? null : toggle,
      ArrowRight: () => rest(neighbour(+1)),
      ArrowLeft: () => rest(neighbour(-1)),
      Home: () => rest(0),
      End: () => rest(trace.last),
    }[event.key]
    if (!act) return
    event.preventDefault()
    act()
  })
  model.on("trace", load)
  model.on("step", () => {
    if (model.step === sent || !trace) return
    sent = model.step
    n = Math.max(0, Math.min(trace.last, model.step))
    clock.playing ? clock.stop() : draw()
  })
  speed.value = String(clock.speed)
  still.addEventListener("change", motion)
  motion()
  load()
  const seen = new ResizeObserver(() => layout())
  seen.observe(board)
  const present = () => layout()
  window.addEventListener("resize", present)
  window.addEventListener("atlas:settle", flush)
  model.on("remove", () => {
    clock.stop()
    clearTimeout(pending)
    seen.disconnect()
    window.removeEventListener("resize", present)
    window.removeEventListener("atlas:settle", flush)
    still.removeEventListener("change", motion)
  })
}
