// What the played pictures share: elements, and a transport of buttons, scrubber, keys and a clock in the browser's frames.
const NS = "http://www.w3.org/2000/svg"
const ICONS = {
  first: "M6 5v14M20 5 9 12l11 7z",
  back: "M17 5 7 12l10 7z",
  play: "M7 4l13 8-13 8z",
  pause: "M7 4h4v16H7zM14 4h4v16h-4z",
  forward: "M7 5l10 7-10 7z",
  last: "M18 5v14M4 5l11 7-11 7z",
}

const fillIn = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
    else node.setAttribute(name, value)
  }
  node.append(...children)
  return node
}
const h = (tag, attributes = {}, ...children) => fillIn(document.createElement(tag), attributes, children)
const s = (tag, attributes = {}, ...children) => fillIn(document.createElementNS(NS, tag), attributes, children)
const put = (node, text) => {
  if (node.textContent !== text) node.textContent = text
}
const clamp = (value, low, high) => Math.max(low, Math.min(high, value))

// Plays steps 0 to `last`. `lasts(n)` is how many ms step n takes on the screen, `show()` draws, `commit(n)` tells
// the step at rest. It stands still until somebody presses play.
class Transport {
  constructor(words, root, { lasts, show, commit }) {
    Object.assign(this, { words, root, lasts, show, commit, n: 0, last: 0, progress: 1, playing: false })
    this.still = window.matchMedia("(prefers-reduced-motion: reduce)")
    const button = (name, act) => h("button", { type: "button", "aria-label": words[name], title: words[name], "data-act": name, onclick: act })
    this.buttons = {
      first: button("first", () => this.rest(0)),
      back: button("back", () => this.rest(this.n - 1)),
      play: button("play", () => this.toggle()),
      forward: button("forward", () => this.rest(this.n + 1)),
      last: button("last", () => this.rest(this.last)),
    }
    for (const name of Object.keys(this.buttons)) this.icon(name, name)
    this.scrubber = h("input", { type: "range", min: 0, value: 0, step: 1, class: "scrubber", "aria-label": words.scrubber })
    this.scrubber.addEventListener("input", () => this.rest(Number(this.scrubber.value)))
    this.stepOut = h("b", { "data-readout": "step" })
    this.stepsOut = h("b", { "data-readout": "steps" })
    const count = h("span", { class: "count" }, words.step, " ", this.stepOut, " ", words.of, " ", this.stepsOut)
    this.node = h(
      "div",
      { class: "transport", role: "group", "aria-label": words.transport },
      h("div", { class: "buttons" }, ...Object.values(this.buttons)),
      h("div", { class: "scrub" }, this.scrubber, count)
    )
    root.addEventListener("keydown", (event) => this.key(event))
  }

  icon(button, name) {
    this.buttons[button].innerHTML = `<svg viewBox="0 0 24 24" width="22" height="22" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`
  }

  // A new play of so many steps, standing on one.
  load(last, n) {
    this.halt()
    this.last = last
    this.n = clamp(n, 0, last)
    this.scrubber.max = last
    put(this.stepsOut, String(last))
    this.stepsOut.dataset.value = last
  }

  halt() {
    this.playing = false
    cancelAnimationFrame(this.frame)
    this.progress = 1
    this.icon("play", "play")
    for (const name of ["aria-label", "title"]) this.buttons.play.setAttribute(name, this.words.play)
  }

  tell() {
    const spoken = this.words.step_of.replace("{n}", this.n).replace("{last}", this.last)
    put(this.stepOut, String(this.n))
    this.stepOut.dataset.value = this.n
    this.scrubber.value = this.n
    this.scrubber.style.setProperty("--at", this.n / Math.max(1, this.last))
    if (this.scrubber.getAttribute("aria-valuetext") !== spoken) this.scrubber.setAttribute("aria-valuetext", spoken)
    this.buttons.first.disabled = this.buttons.back.disabled = this.n === 0
    this.buttons.last.disabled = this.buttons.forward.disabled = this.n === this.last
    this.root.dataset.step = this.n
  }

  draw() {
    this.tell()
    this.show()
  }

  // A held arrow key or a drag sends its last step, not each one.
  settle() {
    clearTimeout(this.pending)
    this.pending = setTimeout(() => this.flush(), 120)
  }

  // The step that waits to be told, at once: before a link or Back, which are about what comes after it.
  flush() {
    if (!this.pending) return
    clearTimeout(this.pending)
    this.pending = 0
    this.playing || this.commit(this.n)
  }

  stop() {
    this.halt()
    this.draw()
    this.settle()
  }

  rest(to) {
    this.n = clamp(to, 0, this.last)
    this.stop()
  }

  // Stand on a step that Python chose.
  jump(to) {
    if (this.playing || to === this.n) return
    this.n = clamp(to, 0, this.last)
    this.draw()
  }

  toggle() {
    if (this.playing) return this.stop()
    if (this.n >= this.last) this.n = 0
    this.playing = true
    this.icon("play", "pause")
    for (const name of ["aria-label", "title"]) this.buttons.play.setAttribute(name, this.words.pause)
    this.n += 1
    this.progress = 0
    let began = performance.now()
    const tick = (now) => {
      if (!this.playing) return
      let part = clamp((now - began) / this.lasts(this.n), 0, 1)
      if (part >= 1) {
        if (this.n >= this.last) return this.stop()
        this.n += 1
        began = now
        part = 0
      }
      // who wants no motion sees each step whole, for as long as it would have taken
      this.progress = this.still.matches ? 1 : part
      this.draw()
      this.frame = requestAnimationFrame(tick)
    }
    this.frame = requestAnimationFrame(tick)
  }

  key(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const act = {
      " ": event.target.closest("button") ? null : () => this.toggle(),
      ArrowRight: () => this.rest(this.n + 1),
      ArrowLeft: () => this.rest(this.n - 1),
      Home: () => this.rest(0),
      End: () => this.rest(this.last),
    }[event.key]
    if (!act) return
    event.preventDefault()
    act()
  }

  remove() {
    this.playing = false
    cancelAnimationFrame(this.frame)
    clearTimeout(this.pending)
  }
}

// Ties a play to its page until it is removed: data and steps from Python, the width of `watched`, presenting.
function tie(model, player, watched, load, layout) {
  model.on("data", load)
  model.on("step", () => player.jump(model.step))
  const observer = new ResizeObserver(() => layout())
  observer.observe(watched)
  const presenting = new MutationObserver(() => layout())
  presenting.observe(document.documentElement, { attributes: true, attributeFilter: ["class"] })
  const flush = () => player.flush()
  window.addEventListener("atlas:settle", flush)
  model.on("remove", () => {
    window.removeEventListener("atlas:settle", flush)
    player.remove()
    observer.disconnect()
    presenting.disconnect()
  })
  load()
}
