// A mask under a grid of tiles. Data and counts come from the server; this file only draws, and takes what is painted.
const GRID = 16
const W = 600
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

const decode = (code) => {
  const bits = [...code].flatMap((c) => [5, 4, 3, 2, 1, 0].map((n) => (ALPHABET.indexOf(c) >> n) & 1))
  return Array.from({ length: GRID * GRID }, (_, i) => bits[i] || 0)
}
const encode = (bits) => {
  let code = ""
  for (let i = 0; i < bits.length; i += 6)
    code += ALPHABET[[0, 1, 2, 3, 4, 5].reduce((n, k) => n * 2 + (bits[i + k] || 0), 0)]
  return code
}
const number = (n) => Math.round(n).toLocaleString("en-US")
const say = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key])

export function render({ model, el }) {
  const words = model.words
  let picture = JSON.parse(model.picture)
  const figure = document.createElement("div")
  figure.className = "mask"
  figure.innerHTML = `<div class="sheet" tabindex="0"></div><div class="aside"><p class="counted"></p><ul class="key"></ul><p class="said"></p><div class="left"></div>
    <p class="sr-only" role="status"></p><div class="paint" hidden><p class="how"></p><div class="buttons"></div></div></div>`
  el.append(figure)
  const sheet = figure.querySelector(".sheet")
  const key = figure.querySelector(".key")
  const said = figure.querySelector(".said")
  const status = figure.querySelector("[role=status]")
  const paint = figure.querySelector(".paint")
  figure.querySelector(".how").textContent = words.how

  let cells = decode(model.code)
  let cursor = [0, 0]
  let tile = null
  let brush = null
  let timer = 0
  let box = { q0: 0, q1: 1, k0: 0, k1: 1, w: W, h: W }

  const x = (k) => ((k - box.k0) / (box.k1 - box.k0)) * box.w
  const y = (q) => ((q - box.q0) / (box.q1 - box.q0)) * box.h
  const rect = (q0, q1, k0, k1) =>
    `M${x(k0).toFixed(2)} ${y(q0).toFixed(2)}H${x(k1).toFixed(2)}V${y(q1).toFixed(2)}H${x(k0).toFixed(2)}z`
  const cellRect = (p, c) => {
    const n = box.q1
    return rect((p * n) / GRID, ((p + 1) * n) / GRID, (c * n) / GRID, ((c + 1) * n) / GRID)
  }

  function draw() {
    const p = picture
    if (!p || !p.live) return
    const ratio = Math.min(1, Math.max(0.3, (p.q1 - p.q0) / (p.k1 - p.k0)))
    box = { q0: p.q0, q1: p.q1, k0: p.k0, k1: p.k1, w: W, h: W * ratio }
    const paths = ["", "", ""]
    const edges = []
    p.live.forEach((row, i) => {
      const q0 = p.q0 + i * p.Br
      const q1 = Math.min(q0 + p.Br, p.q1)
      row.forEach((_, j) => {
        const k0 = p.k0 + j * p.Bc
        paths[p.kinds[i][j]] += rect(q0, q1, k0, Math.min(k0 + p.Bc, p.k1))
      })
      edges.push(`M0 ${y(q1).toFixed(2)}H${box.w}`)
    })
    p.live[0].forEach((_, j) => edges.push(`M${x(Math.min(p.k0 + (j + 1) * p.Bc, p.k1)).toFixed(2)} 0V${box.h}`))
    const live = [...p.bands, ...p.columns].map((b) => rect(...b)).join("")
    const grid = p.painted
      ? Array.from({ length: GRID - 1 }, (_, n) => {
          const at = ((n + 1) * p.q1) / GRID
          return `M0 ${y(at)}H${box.w}M${x(at)} 0V${box.h}`
        }).join("")
      : ""
    const id = (name) => `${name}-${p.theme}`
    sheet.innerHTML = `<svg viewBox="-46 -30 ${box.w + 48} ${box.h + 32}" role="img" aria-label="${words.picture}">
      <defs>
        <pattern id="${id("waste")}" width="7" height="7" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="7" height="7" class="waste-ground"/><path d="M0 0V7" class="waste-line"/></pattern>
        <clipPath id="${id("partly")}"><path d="${paths[1] || "M0 0"}"/></clipPath>
      </defs>
      <rect width="${box.w}" height="${box.h}" class="skipped"/>
      <path d="${paths[1]}" fill="url(#${id("waste")})"/>
      <path d="${live}" class="live" clip-path="url(#${id("partly")})"/>
      <path d="${paths[2]}" class="full"/>
      <path d="${edges.join("")}" class="edge"/>
      <path d="${paths[1]}${paths[2]}" class="visited"/>
      <path d="${grid}" class="cells"/>
      <path class="pending"/><path class="cursor"/><path class="tile"/>
      <rect width="${box.w}" height="${box.h}" class="frame"/>
      <text x="0" y="-10">${words.keys} ${number(p.k0)}</text>
      <text x="${box.w}" y="-10" text-anchor="end">${number(p.k1)}</text>
      <text transform="translate(-10 0) rotate(-90)" text-anchor="end">${words.queries} ${number(p.q0)}</text>
      <text transform="translate(-10 ${box.h}) rotate(-90)" text-anchor="start">${number(p.q1)}</text>
    </svg>`
    figure.querySelector(".counted").textContent = p.counted
    key.innerHTML = [
      ["full", words.full, p.counts[2]],
      ["partly", words.partly, p.counts[1]],
      ["skipped", words.skipped, p.counts[0]],
    ]
      .map(([kind, name, n]) => `<li><i class="swatch ${kind}"></i><span>${name}</span><b>${number(n)}</b></li>`)
      .join("")
    figure.querySelector(".left").innerHTML =
      `<h3>${words.shares_title}</h3>` +
      p.shares
        .map(({ label, value, share, role }) => `<div style="--c: var(--${role}); --share: ${share}"><span>${label}</span><b>${value}</b><i></i></div>`)
        .join("")
    sheet.classList.toggle("painting", !!p.painted)
    paint.hidden = !p.painted
    sheet.setAttribute("role", "application")
    sheet.setAttribute("aria-label", p.painted ? words.label_paint : words.label)
    point()
  }

  function point() {
    const p = picture
    const mark = sheet.querySelector(".tile")
    const held = sheet.querySelector(".cursor")
    if (!mark) return
    held.setAttribute("d", p.painted ? cellRect(...cursor) : "")
    if (!tile || tile[0] >= p.live.length || tile[1] >= p.live[0].length) {
      mark.setAttribute("d", "")
      said.textContent = p.painted ? "" : words.hover
      return
    }
    const [i, j] = tile
    const q0 = p.q0 + i * p.Br
    const k0 = p.k0 + j * p.Bc
    const q1 = Math.min(q0 + p.Br, p.q1)
    const k1 = Math.min(k0 + p.Bc, p.k1)
    mark.setAttribute("d", rect(q0, q1, k0, k1))
    said.textContent = say(words[["tile_skipped", "tile_partly", "tile_full"][p.kinds[i][j]]], {
      q0: number(q0), q1: number(q1 - 1), k0: number(k0), k1: number(k1 - 1),
      live: number(p.live[i][j]), size: number((q1 - q0) * (k1 - k0)),
    })
  }

  const at = (event) => {
    const svg = sheet.querySelector("svg")
    if (!svg) return null
    const p = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse())
    if (p.x < 0 || p.y < 0 || p.x >= box.w || p.y >= box.h) return null
    return [box.q0 + (p.y / box.h) * (box.q1 - box.q0), box.k0 + (p.x / box.w) * (box.k1 - box.k0)]
  }
  const send = () => {
    clearTimeout(timer)
    timer = setTimeout(() => (model.code = encode(cells)), 90)
  }
  const put = (p, c, on) => {
    if (cells[p * GRID + c] === on) return
    cells[p * GRID + c] = on
    const pending = sheet.querySelector(".pending")
    pending.setAttribute("d", (pending.getAttribute("d") || "") + cellRect(p, c))
    status.textContent = say(on ? words.on : words.off, { row: p + 1, column: c + 1 })
    send()
  }
  const cellAt = (where) => where.map((t) => Math.min(GRID - 1, Math.floor((t * GRID) / box.q1)))

  sheet.addEventListener("pointermove", (event) => {
    const where = at(event)
    tile = where && [
      Math.floor((where[0] - box.q0) / picture.Br), Math.floor((where[1] - box.k0) / picture.Bc),
    ]
    if (where && brush !== null) {
      cursor = cellAt(where)
      put(...cursor, brush)
    }
    point()
  })
  sheet.addEventListener("pointerleave", () => {
    tile = null
    point()
  })
  sheet.addEventListener("pointerdown", (event) => {
    const where = at(event)
    if (!where || !picture.painted || event.button) return
    event.preventDefault()
    sheet.focus({ preventScroll: true })
    sheet.setPointerCapture(event.pointerId)
    cursor = cellAt(where)
    brush = cells[cursor[0] * GRID + cursor[1]] ? 0 : 1
    put(...cursor, brush)
    point()
  })
  for (const name of ["pointerup", "pointercancel"]) sheet.addEventListener(name, () => (brush = null))
  sheet.addEventListener("keydown", (event) => {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key]
    const painted = picture.painted
    const size = painted ? [GRID, GRID] : [picture.live.length, picture.live[0].length]
    if (step) {
      const from = painted ? cursor : tile || [0, 0]
      const to = [0, 1].map((n) => Math.min(size[n] - 1, Math.max(0, from[n] + step[n])))
      if (painted) {
        if (event.shiftKey) put(...to, cells[from[0] * GRID + from[1]])
        cursor = to
        status.textContent = say(words.cell, {
          row: to[0] + 1, column: to[1] + 1, state: cells[to[0] * GRID + to[1]] ? words.seen : words.hidden,
        })
      } else tile = to
      point()
      if (!painted) status.textContent = said.textContent
    } else if (painted && (event.key === " " || event.key === "Enter")) put(...cursor, cells[cursor[0] * GRID + cursor[1]] ? 0 : 1)
    else return
    event.preventDefault()
    event.stopPropagation()
  })
  for (const [name, make] of [
    ["start", () => decode(model.opening)],
    ["none", () => Array(GRID * GRID).fill(0)],
    ["all", () => Array(GRID * GRID).fill(1)],
    ["invert", () => cells.map((bit) => 1 - bit)],
  ]) {
    const button = document.createElement("button")
    button.type = "button"
    button.textContent = words[`button_${name}`]
    button.addEventListener("click", () => {
      cells = make()
      send()
    })
    figure.querySelector(".buttons").append(button)
  }
  draw()
  model.on("picture", () => {
    picture = JSON.parse(model.picture)
    draw()
  })
  model.on("code", () => {
    cells = decode(model.code)
    point()
  })
}
