// The backward pass by recomputation: which tile, which line, what it costs. Keys outside, queries inside.
const PRODUCTS = ["", "①", "②", "③", "④", "⑤"]

const written = (value) => value.toFixed(2).replace(/^-0\.00$/, "0.00").replace("-", "−")

export function render({ model, el }) {
  const words = model.words
  const root = h("section", { class: "walk", tabindex: 0, role: "group", "aria-label": words.label })
  let data = null
  let drawn = null
  const player = new Transport(words, root, {
    lasts: () => 620,
    show: () => show(),
    commit: (n) => {
      if (n !== model.step) model.step = n
    },
  })
  const say = h("p", { class: "say", "aria-live": "polite" })
  const panel = (name) => h("figure", { class: "panel panel-" + name }, h("figcaption", {}, h("h3", {}, words["title_" + name])))
  const panels = Object.fromEntries(["map", "code", "tile"].map((name) => [name, panel(name)]))
  const map = h("div", { class: "map" })
  panels.map.append(map)
  const code = h("ol", { class: "code" })
  panels.code.append(code)
  const tileBox = h("div", { class: "tiles" })
  const meters = h("div", { class: "meters" })
  const readOut = h("b")
  const writtenOut = h("b")
  const errorOut = h("b", { "data-readout": "tile-error" })
  meters.append(
    h("div", {}, h("span", {}, words.read), readOut),
    h("div", {}, h("span", {}, words.written), writtenOut),
    h("div", { class: "gap" }, h("span", {}, words.error), errorOut)
  )
  panels.tile.append(h("div", {}, tileBox, h("p", { class: "minus" }, words.heat_minus)), meters)
  root.append(player.node, say, h("div", { class: "board" }, ...Object.values(panels)))
  el.append(root)

  const lines = {}
  for (const [line, product, depth] of words.code) {
    const item = h("li", { style: `--depth:${depth}` }, h("i", {}, product ? PRODUCTS[product] : ""), h("code", {}, words["code_" + line]))
    lines[line] = item
    code.append(item)
  }

  function layout() {
    const width = Math.floor(map.clientWidth)
    if (!width || !data) return
    const unit = parseFloat(getComputedStyle(root).fontSize) / 15
    const edge = 30 * unit
    const side = Math.min(width - 2.9 * edge, 280 * unit)
    const cell = side / data.N
    const left = 1.7 * edge
    const top = 1.6 * edge
    const svg = s("svg", { viewBox: `0 0 ${width} ${top + side + 1.6 * edge}`, width, height: top + side + 1.6 * edge, role: "img", "aria-label": words.map })
    const bar = (css, x, y, w, tall) => {
      const node = s("rect", { class: css, x, y, width: Math.max(1, w - 1.5), height: Math.max(1, tall - 1.5) })
      svg.append(node)
      return node
    }
    const name = (x, y, text, anchor = "middle") => svg.append(s("text", { x, y, class: "name", "text-anchor": anchor }, text))
    const columns = Math.ceil(data.N / data.Bc)
    const rows = Math.ceil(data.N / data.Br)
    drawn = { tiles: new Map(), keys: [], sums: [], queries: [], dq: [] }
    for (let j = 0; j < columns; j++) {
      const x = left + j * data.Bc * cell
      const w = Math.min(data.Bc, data.N - j * data.Bc) * cell
      drawn.keys.push(bar("block", x, top - 0.62 * edge, w, 0.44 * edge))
      drawn.sums.push(bar("block", x, top + side + 0.24 * edge, w, 0.44 * edge))
      for (let i = 0; i < rows; i++) {
        const y = top + i * data.Br * cell
        const tall = Math.min(data.Br, data.N - i * data.Br) * cell
        drawn.tiles.set(`${i},${j}`, bar("tile skipped", x, y, w, tall))
      }
    }
    for (let i = 0; i < rows; i++) {
      const y = top + i * data.Br * cell
      const tall = Math.min(data.Br, data.N - i * data.Br) * cell
      drawn.queries.push(bar("block", left - 0.62 * edge, y, 0.44 * edge, tall))
      const box = bar("block", left + side + 0.24 * edge, y, 0.44 * edge, tall)
      const fill = bar("part", left + side + 0.24 * edge, y, 0, tall)
      drawn.dq.push({ box, fill, width: 0.44 * edge - 1.5 })
    }
    name(left + side / 2, top - 0.95 * edge, "K, V")
    name(left + side / 2, top + side + 1.2 * edge, "dK, dV")
    name(left - 0.12 * edge, top - 0.28 * edge, "Q, dO", "end")
    name(left + side + 0.2 * edge, top - 0.28 * edge, "dQ", "start")
    map.replaceChildren(svg)
    drawTiles(unit)
    player.draw()
  }

  // Three small heat maps of the tile on the chip: P, dP and dS. A cell holds the widest number of the whole play;
  // where three such maps do not fit side by side they stand one over the other.
  function drawTiles(unit) {
    drawn.heat = {}
    tileBox.replaceChildren()
    const width = Math.max(200, tileBox.clientWidth)
    const pen = document.createElement("canvas").getContext("2d")
    const broad = (size) => {
      pen.font = `${size}px ${getComputedStyle(root).fontFamily}`
      const shapes = new Set(data.tiles.flatMap((tile) => ["p", "dp", "ds"].flatMap((name) => tile[name].flat().map(written))))
      return Math.max(...[...shapes].map((shape) => pen.measureText(shape.replace(/\d/g, "0")).width)) + 8 * unit
    }
    // As large as reads well, smaller where even one map alone would be too wide for it.
    const sizes = [14, 13, 12, 11.5].map((size) => size * unit)
    const font = sizes.find((size) => broad(size) * data.Bc <= width) || sizes.at(-1)
    const cell = Math.max(Math.min(52 * unit, (width - 3 * 20) / 3 / data.Bc), Math.min(broad(font), width / data.Bc))
    const tall = Math.min(cell, 34 * unit)
    for (const name of ["p", "dp", "ds"]) {
      const figure = h("div", { class: "heat" })
      const svg = s("svg", { width: data.Bc * cell, height: data.Br * tall, role: "img", "aria-label": words["heat_" + name] })
      const cells = []
      for (let r = 0; r < data.Br; r++)
        for (let c = 0; c < data.Bc; c++) {
          const rect = s("rect", { class: "cell", x: c * cell, y: r * tall, width: cell - 1, height: tall - 1 })
          const text = s("text", { class: "number", x: (c + 0.5) * cell - 0.5, y: (r + 0.5) * tall + font * 0.36, "text-anchor": "middle", style: `font-size:${font}px` })
          svg.append(rect, text)
          cells.push({ rect, text })
        }
      figure.append(h("span", {}, words["heat_" + name]), svg)
      tileBox.append(figure)
      drawn.heat[name] = { figure, cells }
    }
  }

  function show() {
    if (!data || !drawn) return
    const { n } = player
    const step = data.steps[n]
    const tile = step.tile >= 0 ? data.tiles[step.tile] : null
    put(say, step.say)
    say.setAttribute("aria-live", player.playing ? "off" : "polite")
    for (const [line, node] of Object.entries(lines)) {
      node.className = line === step.line ? "current" : ""
      if (line === step.line) node.setAttribute("aria-current", "step")
      else node.removeAttribute("aria-current")
    }
    const added = new Array(drawn.dq.length).fill(0)
    const total = new Array(drawn.dq.length).fill(0)
    data.tiles.forEach((item, number) => {
      const done = number < step.tile || (number === step.tile && step.rank >= data.after_dq)
      total[item.i] += 1
      if (done) added[item.i] += 1
      const state = number === step.tile ? "current" : number < step.tile ? "done" : "to-come"
      drawn.tiles.get(`${item.i},${item.j}`).setAttribute("class", "tile " + state)
    })
    drawn.keys.forEach((node, j) => node.setAttribute("class", "block " + (j === step.j ? "here" : "")))
    drawn.sums.forEach((node, j) => {
      const whole = j < step.j || (j === step.j && step.line === "store")
      node.setAttribute("class", "block " + (whole ? "whole" : j === step.j && step.rank >= 2 ? "here" : ""))
    })
    drawn.queries.forEach((node, i) => node.setAttribute("class", "block " + (i === step.i && step.rank >= 1 ? "here" : "")))
    drawn.dq.forEach(({ fill, width }, i) => {
      fill.setAttribute("width", Math.max(0, (width * added[i]) / Math.max(1, total[i])))
      fill.setAttribute("class", added[i] === total[i] ? "part full" : "part")
    })
    const known = { p: step.rank >= 3, dp: step.rank >= 5, ds: step.rank >= 6 }
    for (const [name, { figure, cells }] of Object.entries(drawn.heat)) {
      const values = tile && known[name] ? tile[name] : null
      figure.className = "heat" + (values ? "" : " empty")
      cells.forEach(({ rect, text }, k) => {
        const value = values?.[Math.floor(k / data.Bc)]?.[k % data.Bc]
        const shade = value === undefined ? 0 : Math.min(1, Math.abs(value) / data.largest[name])
        rect.setAttribute("style", value === undefined ? "" : `--shade:${(shade * 100).toFixed(0)}%`)
        rect.setAttribute("class", value === undefined ? "cell" : value < 0 ? "cell below" : "cell above")
        put(text, value === undefined ? "" : written(value))
      })
    }
    put(readOut, step.read_text)
    put(writtenOut, step.written_text)
    put(errorOut, tile ? tile.error_text : data.error_none)
    errorOut.dataset.value = tile ? tile.error : 0
  }

  tie(model, player, map, () => {
    data = JSON.parse(model.data)
    player.load(data.steps.length - 1, model.step)
    layout()
  }, layout)
}
