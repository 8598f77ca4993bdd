// One query over a cache cut in pieces: scores, partial results, their factors, and the merge. Numbers come from the server.
const W = 960
const digits = { minimumSignificantDigits: 3, maximumSignificantDigits: 3 }
const number = (v) =>
  v === null ? "−∞" : v === 0 || v === 1 ? String(v) : v.toLocaleString("en-US", digits).replace("-", "−")
const say = (text, values) => text.replace(/\{(\w+)\}/g, (_, key) => values[key])

export function render({ model, el }) {
  const words = model.words
  const root = document.createElement("div")
  root.className = "split"
  root.innerHTML = `<div class="sheet" tabindex="0" role="application"></div><p class="said" role="status"></p>`
  el.append(root)
  const sheet = root.querySelector(".sheet")
  const said = root.querySelector(".said")
  let at = 0

  function draw() {
    const p = model.play
    if (!p || !p.scores) return
    at = Math.min(at, p.pieces.length - 1)
    const narrow = sheet.clientWidth < 560
    const w = narrow ? 480 : W
    const n = p.scores.length
    const left = narrow ? 4 : 150
    const gap = p.pieces.length > 32 ? 1 : p.pieces.length > 12 ? 3 : 8
    const width = (w - left - gap * (p.pieces.length - 1)) / p.pieces.length
    const start = (i) => left + i * (width + gap)
    const low = Math.min(...p.scores)
    const high = Math.max(...p.scores)
    const rows = narrow ? [26, 168, 268, 368, 474, 566] : [8, 128, 214, 300, 388, 456]
    const tall = 84
    const level = (v) => rows[0] + tall - ((v - low) / (high - low || 1)) * (tall - 10)
    const most = Math.max(...p.pieces.map((piece) => piece.l), 1e-300)
    const labelled = width >= (narrow ? 52 : 58)
    const out = []
    const name = (i, title, note) => {
      const y = narrow ? rows[i] - 8 : rows[i] + 22
      out.push(`<text class="name" x="${narrow ? 4 : 0}" y="${y}">${title}</text>`)
      if (!narrow) note.split("|").forEach((line, k) => out.push(`<text class="note" x="0" y="${y + 19 + 17 * k}">${line}</text>`))
    }
    name(0, words.row_scores, words.note_scores)
    name(1, words.row_partial, words.note_partial)
    name(2, words.row_scaled, words.note_scaled)
    name(3, words.row_o, words.note_o)
    name(4, words.row_merged, words.note_merged)
    name(5, words.row_output, words.note_output)
    const largest = Math.max(...p.pieces.flatMap((piece) => piece.o.map(Math.abs)), 1e-300)
    const signed = (values, x, wide, middle, scale, css) => {
      const step = wide / values.length
      return values.map((v, k) => {
        const h = Math.abs(v) * scale
        return `<rect class="${css}" x="${(x + k * step + step * 0.12).toFixed(2)}" y="${(v > 0 ? middle - h : middle).toFixed(2)}" width="${(step * 0.76).toFixed(2)}" height="${h.toFixed(2)}"/>`
      }).join("")
    }
    let shares = left
    p.pieces.forEach((piece, i) => {
      const x = start(i)
      const on = i === at ? " here" : ""
      const keys = piece.to - piece.from
      out.push(`<rect class="ground${on}" x="${x}" y="${rows[0]}" width="${width}" height="${tall}"/>`)
      for (let k = piece.from; k < piece.to; k++) {
        const kx = x + ((k - piece.from + 0.5) / keys) * width
        out.push(`<path class="score" d="M${kx.toFixed(1)} ${rows[0] + tall}V${level(p.scores[k]).toFixed(1)}"/>`)
      }
      if (piece.m !== null) out.push(`<path class="peak" d="M${x} ${level(piece.m).toFixed(1)}h${width}"/>`)
      const bar = (y, value, css) => {
        const h = Math.max(value > 0 ? 1.5 : 0, (value / most) * 44)
        out.push(`<rect class="${css}" x="${x}" y="${y + 48 - h}" width="${width}" height="${h}"/><path class="base" d="M${x} ${y + 48}h${width}"/>`)
      }
      bar(rows[1], piece.l, "part")
      out.push(`<path class="ghost" d="M${x} ${rows[2] + 48 - (piece.l / most) * 44}h${width}V${rows[2] + 48}h${-width}z"/>`)
      bar(rows[2], piece.l * piece.alpha, "scaled")
      out.push(signed(piece.o, x, width, rows[3] + 32, 28 / largest, "part-o"), `<path class="base" d="M${x} ${rows[3] + 32}h${width}"/>`)
      if (labelled) {
        out.push(`<text class="value" x="${x + width / 2}" y="${rows[0] + tall + 18}" text-anchor="middle">m ${number(piece.m)}</text>`)
        out.push(`<text class="value" x="${x + width / 2}" y="${rows[1] + 66}" text-anchor="middle">l ${number(piece.l)}</text>`)
        out.push(`<text class="value" x="${x + width / 2}" y="${rows[2] + 66}" text-anchor="middle">α ${number(piece.alpha)}</text>`)
      }
      const share = piece.share * (w - left)
      out.push(`<rect class="share ${i % 2 ? "odd" : "even"}${on}" x="${shares}" y="${rows[4] + 2}" width="${share}" height="32"/>`)
      if (share > 34) out.push(`<text class="inside" x="${shares + share / 2}" y="${rows[4] + 23}" text-anchor="middle">${i + 1}</text>`)
      if (on) out.push(`<path class="drop" d="M${x} ${rows[3] + 64}L${shares} ${rows[4]}M${x + width} ${rows[3] + 64}L${shares + share} ${rows[4]}"/>`)
      shares += share
      out.push(`<rect class="touch" data-piece="${i}" x="${x - gap / 2}" y="${rows[0]}" width="${width + gap}" height="${rows[4] - rows[0]}"/>`)
    })
    const peak = 26 / Math.max(...p.full.map(Math.abs), 1e-300)
    out.push(signed(p.output, left, w - left, rows[5] + 32, peak, "scaled"), signed(p.full, left, w - left, rows[5] + 32, peak, "truth"))
    out.push(`<path class="base" d="M${left} ${rows[5] + 32}H${w}"/>`)
    sheet.innerHTML = `<svg viewBox="0 0 ${w} ${rows[5] + 66}" aria-hidden="true">${out.join("")}</svg>`
    sheet.setAttribute("aria-label", say(words.label, { pieces: p.pieces.length, keys: n }))
    tell()
  }
  function tell() {
    const piece = model.play.pieces[at]
    const values = {
      i: at + 1, of: model.play.pieces.length, from: piece.from, to: piece.to - 1, m: number(piece.m), l: number(piece.l),
      alpha: number(piece.alpha), share: (piece.share * 100).toLocaleString("en-US", { maximumSignificantDigits: 3 }),
    }
    said.textContent = say(piece.to > piece.from ? words.piece : words.piece_empty, values)
  }
  const pick = (i) => {
    at = Math.max(0, Math.min(model.play.pieces.length - 1, i))
    draw()
  }
  for (const name of ["pointermove", "pointerdown"])
    sheet.addEventListener(name, (event) => {
      const found = event.target.dataset && event.target.dataset.piece
      if (found !== undefined && +found !== at) pick(+found)
    })
  sheet.addEventListener("keydown", (event) => {
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: Infinity }[event.key]
    if (to === undefined) return
    event.preventDefault()
    pick(to)
  })
  new ResizeObserver(() => requestAnimationFrame(draw)).observe(sheet)
  draw()
  model.on("play", draw)
}
