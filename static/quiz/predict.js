// Predict, then reveal: a slider for the guess, and the model's curve only after it. Axes, points and what is said
// of each guess come from Python; here they are only placed.
const KEY = "atlas-predict"
const NS = "http://www.w3.org/2000/svg"
const memory = (() => {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) || {}
  } catch {
    return {}
  }
})()

function keep() {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(memory))
  } catch {
    // a browser that forbids storage keeps the guesses only until the plate is left
  }
}

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "html") node.innerHTML = value
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
    else if (value === true) node.setAttribute(name, "")
    else if (value !== false && value !== null) node.setAttribute(name, value)
  }
  node.append(...children)
  return node
}

function draw(tag, attributes, text) {
  const node = document.createElementNS(NS, tag)
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value)
  if (text !== undefined) node.textContent = text
  return node
}

function plot(card, option, words, width, height) {
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" })
  const frame = { left: 62, right: width - 12, top: 12, bottom: height - 40 }
  const place = (axis, low, high) => (v) =>
    low + ((high - low) * Math.log(v / axis.low)) / Math.log(axis.high / axis.low)
  const x = place(card.x, frame.left, frame.right)
  const y = place(card.y, frame.bottom, frame.top)
  const clamp = (v, low, high) => Math.min(Math.max(v, low), high)

  for (const { v, text } of card.y.ticks) {
    svg.append(draw("line", { class: "grid", x1: frame.left, x2: frame.right, y1: y(v), y2: y(v) }))
    svg.append(draw("text", { x: frame.left - 7, y: y(v) + 4.5, "text-anchor": "end" }, text.replace(/ FLOP\/B$/, "")))
  }
  let free = -Infinity
  for (const { v, text } of card.x.ticks) {
    const at = x(v)
    const half = text.length * 3.7
    if (at - half < free || at + half > width + 4) continue
    svg.append(draw("text", { x: at, y: frame.bottom + 18, "text-anchor": "middle" }, text))
    free = at + half + 12
  }
  svg.append(draw("text", { x: (frame.left + frame.right) / 2, y: height - 4, "text-anchor": "middle" }, card.x.label))

  if (card.level) {
    const at = y(card.level.y)
    svg.append(draw("line", { class: "level", x1: frame.left, x2: frame.right, y1: at, y2: at }))
  }
  for (const { points, role } of card.curves) {
    const line = points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ")
    svg.append(draw("polyline", { class: "curve", points: line, style: `--c: var(--${role})` }))
  }

  // marks and names last, each where neither a curve nor another label is
  const paths = card.curves.map(({ points }) => points.map(([a, b]) => [x(a), y(b)]))
  if (card.level) paths.push([frame.left, frame.right].map((at) => [at, y(card.level.y)]))
  const upright = card.guesses === "x" && option.value !== null ? x(option.value) : null
  if (card.guesses === "y" && option.value !== null) {
    const at = clamp(y(option.value), frame.top, frame.bottom)
    paths.push([frame.left, frame.right].map((end) => [end, at]))
  }
  const taken = []
  const crossed = (left, right, middle) =>
    paths.some((path) =>
      path.some(([px, py], i) => {
        const [qx, qy] = path[Math.min(i + 1, path.length - 1)]
        if (qx < left || px > right) return false
        const at = (v) => (qx === px ? py : py + ((qy - py) * (clamp(v, px, qx) - px)) / (qx - px))
        const [a, b] = [at(left), at(right)]
        return Math.max(a, b) > middle - 10 && Math.min(a, b) < middle + 10
      })
    )
  const label = (text, px, py, anchor, kind, { style = "", aside = 0, reach = 26 } = {}) => {
    const w = text.length * 7.2
    const other = anchor === "start" ? "end" : "start"
    const spots = []
    for (let k = 0; k < reach; k += 1) {
      const dy = (k % 2 ? -1 : 1) * Math.ceil(k / 2) * 8
      for (const side of [anchor, other]) {
        const from = px + (side === anchor ? 0 : anchor === "start" ? -2 * aside : 2 * aside)
        const wanted = side === "start" ? from : from - w
        const left = clamp(wanted, frame.left, Math.max(frame.left, width - w))
        const cy = py + dy
        if (Math.abs(left - wanted) > 40 || cy < frame.top + 8 || cy > frame.bottom - 4) continue
        spots.push({ side, from: from + left - wanted, left, cy })
      }
    }
    const free = ({ left, cy }) =>
      !crossed(left, left + w, cy - 5) &&
      !(upright !== null && left < upright && upright < left + w) &&
      !taken.some((t) => left < t.x + t.w && t.x < left + w && Math.abs(t.y - cy) < 17)
    const best = spots.find(free) || spots[0] || { side: "end", from: width, left: width - w, cy: py }
    taken.push({ x: best.left, y: best.cy, w })
    svg.append(
      draw("text", { class: `halo ${kind}`, x: best.from, y: best.cy, "text-anchor": best.side, style }, text)
    )
  }
  const across = -(frame.right - frame.left - 10) / 2 // the other end of a level line
  const { answer, level } = card
  if (answer) taken.push({ x: x(answer.x) - 8, y: y(answer.y) + 5, w: 16 })
  for (const { name, points, role } of card.curves) {
    const [a, b] = points[Math.floor(points.length * 0.97)]
    label(name, x(a), y(b) - 10, "end", "name", { style: `--c: var(--${role})`, reach: 9 })
  }
  if (answer) {
    const [ax, ay] = [x(answer.x), y(answer.y)]
    svg.append(draw("circle", { class: "dot", cx: ax, cy: ay, r: 6.5 }))
    label(answer.text, ax + 11, ay + 15, "start", "model", { aside: 11 })
  }
  if (level) label(level.text, frame.left + 5, y(level.y) - 6, "start", "", { aside: across, reach: 7 })
  if (option.value !== null) {
    const at = upright ?? clamp(y(option.value), frame.top, frame.bottom)
    const line = upright !== null
      ? { x1: at, x2: at, y1: frame.top, y2: frame.bottom }
      : { x1: frame.left, x2: frame.right, y1: at, y2: at }
    svg.append(draw("line", { class: "guess", ...line }))
    const text = words.mark.replace("{text}", option.text)
    if (upright !== null) label(text, at + 6, frame.top + 10, "start", "guessed", { aside: 6, reach: 40 })
    else label(text, frame.left + 6, at - 6, "start", "guessed", { aside: across, reach: 7 })
  }
  return svg
}

export function render({ model, el }) {
  const words = model.words
  const box = make("div", { class: "cards" })
  const said = make("div", { class: "sr-only", role: "status" })
  el.append(box, said)
  const shown = new Map() // slug -> {sign, root, fit}

  function build(card, note) {
    const stored = memory[card.slug]
    const known = stored && stored.sign === card.sign
    const last = card.options.length - 1
    let at = stored ? Math.min(stored.at, last) : Math.floor(last / 3)
    let open = Boolean(known && stored.open)
    const root = make("section", { class: "card", "aria-label": card.title })
    let picture = null

    const fit = () => {
      if (!picture || !open) return
      const { clientWidth: w, clientHeight: h } = picture
      if (!w) return
      const svg = plot(card, card.options[at], words, w, h)
      svg.setAttribute("aria-label", `${card.options[at].verdict} ${strip(card.why)}`)
      picture.replaceChildren(svg)
    }
    const strip = (html) => make("div", { html }).textContent

    function show(focus) {
      const out = make("output", { for: `guess-${card.slug}` }, card.options[at].text)
      const range = make("input", {
        id: `guess-${card.slug}`,
        type: "range",
        min: 0,
        max: last,
        step: 1,
        value: at,
        "aria-valuetext": card.options[at].text,
        disabled: open,
        oninput: () => {
          at = Number(range.value)
          out.textContent = card.options[at].text
          range.setAttribute("aria-valuetext", card.options[at].text)
          fill()
        },
      })
      const fill = () => range.style.setProperty("--at", at / Math.max(1, last))
      fill()
      const button = make(
        "button",
        {
          type: "button",
          class: open ? "" : "main",
          onclick: () => {
            open = !open
            memory[card.slug] = { at, sign: card.sign, open }
            keep()
            show(true)
            said.textContent = open ? `${card.options[at].verdict} ${strip(card.why)}` : ""
          },
        },
        open ? words.again : words.reveal
      )
      picture = make("div", { class: open ? "plot" : "plot hidden" }, open ? "" : words.waiting)
      const after = make("div", {})
      if (open) {
        const why = make("p", {}, make("span", { class: "verdict" }, card.options[at].verdict), " ")
        why.append(make("span", { html: card.why }))
        if (card.link) why.append(" ", make("a", { href: card.link.href }, words.see.replace("{name}", card.link.name)))
        after.append(why)
      }
      const question = make("div", {}, make("p", { class: "question", html: card.html }))
      if (note) question.append(make("p", { class: "muted" }, note))
      const guess = make("div", {}, make("label", { for: `guess-${card.slug}` }, words.guess, out), range)
      root.replaceChildren(question, guess, picture, after, make("div", { class: "row" }, button))
      note = ""
      fit()
      if (focus) button.focus({ preventScroll: true })
    }
    show(false)
    return { sign: card.sign, root, fit, opened: () => open }
  }

  function update() {
    for (const card of JSON.parse(model.cards)) {
      const old = shown.get(card.slug)
      if (old && old.sign === card.sign) continue
      const fresh = build(card, old && old.opened() ? words.changed : "")
      shown.set(card.slug, fresh)
      if (old) old.root.replaceWith(fresh.root)
      else box.append(fresh.root)
      fresh.fit()
    }
  }
  update()
  model.on("cards", update)
  const observer = new ResizeObserver(() => shown.forEach((card) => card.fit()))
  observer.observe(box)
  model.on("remove", () => observer.disconnect())
}
