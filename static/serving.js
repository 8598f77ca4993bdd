// One query over a cache cut in pieces: scores, partial results, their factors, and the merge. Numbers come from the server.
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
  const pen = document.createElement("canvas").getContext("2d")
  let at = 0
  let play = JSON.parse(model.play)

  // Drawn in the page's own pixels, so that text keeps its size however narrow the picture is.
  function draw() {
    const p = play
    const w = sheet.clientWidth
    if (!p || !p.scores || !w) return
    at = Math.min(at, p.pieces.length - 1)
    const unit = parseFloat(getComputedStyle(root).fontSize) / 15
    const narrow = w < 640 * unit
    const left = narrow ? 1 : 168 * unit
    const right = w - 1
    const gap = p.pieces.length > 32 ? 1 : p.pieces.length > 12 ? 3 : 8
    const width = (right - left - gap * (p.pieces.length - 1)) / p.pieces.length
    const start = (i) => left + i * (width + gap)
    const low = Math.min(...p.scores)
    const high = Math.max(...p.scores)
    // Beside the rows where there is room, else over each; a bar's value stands under it.
    const head = narrow ? 42 * unit : 0
    const [tall, bar, value, space] = [84 * unit, 48 * unit, 24 * unit, 18 * unit]
    const heights = [tall + value, bar + value, bar + value, 64 * unit, 34 * unit, 64 * unit]
    const rows = []
    heights.reduce((y, height, i) => {
      rows[i] = y + head
      return rows[i] + height + space
    }, 2)
    const level = (v) => rows[0] + tall - ((v - low) / (high - low || 1)) * (tall - 10 * unit)
    const most = Math.max(...p.pieces.map((piece) => piece.l), 1e-300)
    const said = (piece) => [["m", piece.m], ["ℓ", piece.l], ["α", piece.alpha]].map(([name, v]) => `${name} ${number(v)}`)
    pen.font = `${13.5 * unit}px ${getComputedStyle(root).fontFamily}`
    const long = (words) => pen.measureText(words).width
    // Every piece says its numbers, or, where they would run into one another, the chosen one alone.
    const labelled = p.pieces.every((piece) => said(piece).every((words) => long(words) + 6 * unit <= width + gap))
    const out = []
    const names = []
    const name = (i, title, note) => {
      const lines = narrow ? [note.replace("|", /[一-鿿]/.test(note) ? "" : " ")] : note.split("|")
      const y = narrow ? rows[i] - 28 * unit : rows[i] + 20 * unit
      names.push(`<text class="name" x="${narrow ? 1 : 0}" y="${y}">${title}</text>`)
      lines.forEach((line, k) => names.push(`<text class="note" x="${narrow ? 1 : 0}" y="${y + (18 + 17 * k) * unit}">${line}</text>`))
    }
    for (const [i, row] of ["scores", "partial", "scaled", "o", "merged", "output"].entries())
      name(i, words["row_" + row], words["note_" + row])
    const largest = Math.max(...p.pieces.flatMap((piece) => piece.o.map(Math.abs)), 1e-300)
    const signed = (values, x, wide, middle, scale, css) => {
      const step = wide / values.length
      return values.map((v, k) => {
        const h = Math.abs(v) * scale
        return `<rect class="${css}" x="${(x + k * step + step * 0.12).toFixed(2)}" y="${(v > 0 ? middle - h : middle).toFixed(2)}" width="${(step * 0.76).toFixed(2)}" height="${h.toFixed(2)}"/>`
      }).join("")
    }
    const middle = (row) => rows[row] + 32 * unit
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
      const column = (y, value, css) => {
        const h = Math.max(value > 0 ? 1.5 : 0, (value / most) * (bar - 4 * unit))
        out.push(`<rect class="${css}" x="${x}" y="${y + bar - h}" width="${width}" height="${h}"/><path class="base" d="M${x} ${y + bar}h${width}"/>`)
      }
      column(rows[1], piece.l, "part")
      out.push(`<path class="ghost" d="M${x} ${rows[2] + bar - (piece.l / most) * (bar - 4 * unit)}h${width}V${rows[2] + bar}h${-width}z"/>`)
      column(rows[2], piece.l * piece.alpha, "scaled")
      out.push(signed(piece.o, x, width, middle(3), (28 * unit) / largest, "part-o"), `<path class="base" d="M${x} ${middle(3)}h${width}"/>`)
      if (labelled || on)
        said(piece).forEach((words, row) => {
          const half = long(words) / 2
          const centre = Math.max(left + half, Math.min(right - half, x + width / 2))
          const y = rows[row] + (row ? bar : tall) + 17 * unit
          out.push(`<text class="value" x="${centre.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="middle">${words}</text>`)
        })
      const share = piece.share * (right - left)
      out.push(`<rect class="share ${i % 2 ? "odd" : "even"}${on}" x="${shares}" y="${rows[4] + 2}" width="${share}" height="${32 * unit}"/>`)
      if (share > long(String(i + 1)) + 6 * unit)
        out.push(`<text class="inside" x="${shares + share / 2}" y="${rows[4] + 23 * unit}" text-anchor="middle">${i + 1}</text>`)
      if (on) {
        const from = rows[3] + 62 * unit
        out.push(`<path class="funnel" d="M${x} ${from}h${width}L${shares + share} ${rows[4] + 1}h${-share}z"/>`)
      }
      shares += share
      out.push(`<rect class="touch" data-piece="${i}" x="${x - gap / 2}" y="${rows[0]}" width="${width + gap}" height="${rows[4] - rows[0]}"/>`)
    })
    const peak = (26 * unit) / Math.max(...p.full.map(Math.abs), 1e-300)
    out.push(signed(p.output, left, right - left, middle(5), peak, "scaled"), signed(p.full, left, right - left, middle(5), peak, "truth"))
    out.push(`<path class="base" d="M${left} ${middle(5)}H${right}"/>`)
    const end = Math.ceil(rows[5] + heights[5] + 4)
    sheet.innerHTML = `<svg width="${w}" height="${end}" viewBox="0 0 ${w} ${end}" aria-hidden="true">${out.join("")}${names.join("")}</svg>`
    sheet.setAttribute("aria-label", say(words.label, { pieces: p.pieces.length, keys: p.scores.length }))
    tell()
  }
  function tell() {
    const piece = play.pieces[at]
    const values = {
      i: at + 1, of: play.pieces.length, from: piece.from, to: piece.to - 1, m: number(piece.m), l: number(piece.l),
      alpha: number(piece.alpha), share: (piece.share * 100).toLocaleString("en-US", { maximumSignificantDigits: 3 }),
    }
    said.textContent = say(piece.to > piece.from ? words.piece : words.piece_empty, values).replace(" %", "\u00a0%")
  }
  const pick = (i) => {
    at = Math.max(0, Math.min(play.pieces.length - 1, i))
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
  model.on("play", () => {
    play = JSON.parse(model.play)
    draw()
  })
}
