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

  // marks and names last, each moved off those already there
  const taken = []
  const label = (text, px, py, anchor, kind, style = "") => {
    const w = text.length * 7.1
    let ax = anchor
    if (ax === "start" && px + w > frame.right + 10) ax = "end"
    if (ax === "end" && px - w < frame.left) ax = "start"
    let cx = ax === "start" ? px : ax === "end" ? px - w : px - w / 2
    const shift = cx < frame.left ? frame.left - cx : cx + w > width ? width - cx - w : 0
    cx += shift
    let cy = clamp(py, frame.top + 10, frame.bottom - 6)
    const hit = (v) => taken.some((t) => cx < t.x + t.w && t.x < cx + w && Math.abs(t.y - v) < 17)
    for (let k = 1; hit(cy) && k < 16; k += 1) {
      const v = py + (k % 2 ? -1 : 1) * Math.ceil(k / 2) * 9
      if (v > frame.top + 8 && v < frame.bottom - 4) cy = v
    }
    taken.push({ x: cx, y: cy, w })
    svg.append(draw("text", { class: `halo ${kind}`, x: px + shift, y: cy, "text-anchor": ax, style }, text))
  }
  const end = (points) => points[Math.floor(points.length * 0.97)]
  if (option.value !== null) {
    const at = card.guesses === "x" ? x(option.value) : clamp(y(option.value), frame.top, frame.bottom)
    const line =
      card.guesses === "x"
        ? { x1: at, x2: at, y1: frame.top, y2: frame.bottom }
        : { x1: frame.left, x2: frame.right, y1: at, y2: at }
    svg.append(draw("line", { class: "guess", ...line }))
    const text = words.mark.replace("{text}", option.text)
    if (card.guesses === "x") label(text, at + 6, frame.bottom - 12, "start", "guessed")
    else label(text, frame.left + 6, at - 6, "start", "guessed")
  }
  if (card.answer) {
    const [ax, ay] = [x(card.answer.x), y(card.answer.y)]
    svg.append(draw("circle", { class: "dot", cx: ax, cy: ay, r: 6.5 }))
    taken.push({ x: ax - 8, y: ay, w: 16 })
    label(card.answer.text, ax - 11, ay - 9, "end", "model")
  }
  if (card.level) label(card.level.text, frame.left + 5, y(card.level.y) - 6, "start", "")
  for (const { name, points, role } of card.curves) {
    const [a, b] = end(points)
    label(name, x(a), y(b) - 10, "end", "name", `--c: var(--${role})`)
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
        },
      })
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
      const after = []
      if (open) {
        const why = make("p", {}, make("span", { class: "verdict" }, card.options[at].verdict), " ")
        why.append(make("span", { html: card.why }))
        if (card.link) why.append(" ", make("a", { href: card.link.href }, words.see.replace("{name}", card.link.name)))
        after.push(why)
      }
      root.replaceChildren(
        make("p", { class: "question", html: card.html }),
        ...(note ? [make("p", { class: "muted" }, note)] : []),
        make("div", { class: "spacer" }),
        make("label", { for: `guess-${card.slug}` }, words.guess, out),
        range,
        picture,
        ...after,
        make("div", { class: "row" }, button)
      )
      note = ""
      fit()
      if (focus) button.focus({ preventScroll: true })
    }
    show(false)
    return { sign: card.sign, root, fit, opened: () => open }
  }

  function update() {
    for (const card of model.cards) {
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
