// Numbers as text and markup: formatting only, no maths of the model.
const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹"

// Three significant digits, with a true minus sign and 1.23×10⁻⁵ for the very small.
function number(value, digits = 3) {
  if (value === null || value === undefined) return "−∞"
  if (value === 0) return "0"
  if (Number.isInteger(value) && Math.abs(value) < 1000) return String(value).replace("-", "−")
  const text = Number(value).toPrecision(digits)
  const [mantissa, exponent] = (Math.abs(value) < 1e-3 ? Number(value).toExponential(digits - 1) : text).split("e")
  if (exponent === undefined) return mantissa.replace("-", "−")
  const power = exponent.replace("+", "").replace("-", "⁻").replace(/\d/g, (d) => SUPERSCRIPT[d])
  return mantissa.replace("-", "−") + "×10" + power
}

// A score with so many decimals; whole numbers from 1,000 on; −∞ for a masked one.
function score(value, decimals = 3) {
  if (value === null || value === undefined) return "−∞"
  if (Math.abs(value) >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0 }).replace("-", "−")
  const text = value.toFixed(decimals)
  return (Number(text) === 0 ? text.replace("-", "") : text).replace("-", "−")
}

const bytes = (value) => value.toLocaleString("en") + " B"

const escape = (text) => String(text).replace(/[&<>"]/g, (c) => "&#" + c.charCodeAt(0) + ";")

// Fill {name} in a template of words.
const fill = (template, facts) => template.replace(/\{(\w+)\}/g, (_, name) => facts[name])

function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value)
  }
  node.append(...children)
  return node
}

// Write only what changed: a play at full speed touches few nodes.
function put(node, text) {
  if (node.textContent !== text) node.textContent = text
}

function attribute(node, name, value) {
  if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value)
}

const svg = (width, height, body, label) =>
  `<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" ` +
  `aria-label="${escape(label)}">${body}</svg>`

const text = (x, y, words, cls = "", anchor = "start") =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" class="${cls}">${escape(words)}</text>`

const rect = (x, y, width, height, cls, style = "") =>
  `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${Math.max(0, width).toFixed(1)}" ` +
  `height="${Math.max(0, height).toFixed(1)}" class="${cls}"${style ? ` style="${style}"` : ""}/>`

// How wide words will be in the font of a node, at a size in px; every digit counts as a 0, as tabular figures do.
const pen = document.createElement("canvas").getContext("2d")
function breadth(said, node, size) {
  pen.font = `${size}px ${getComputedStyle(node).fontFamily}`
  return pen.measureText(said.replace(/\d/g, "0")).width
}

// Many small cells as few paths: one for every class and shade, because thousands of nodes a step are too many.
class Shades {
  constructor(levels = 24) {
    this.levels = levels
    this.paths = new Map()
  }

  // level from 0 to 1; the faintest is still seen.
  add(x, y, width, height, cls, level) {
    const shade = Math.round(Math.max(0, Math.min(1, level)) * this.levels)
    const key = `${cls}|${shade}`
    const cell = `M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${(-width).toFixed(1)}z`
    const path = this.paths.get(key)
    path ? path.push(cell) : this.paths.set(key, [cell])
  }

  markup(strongest) {
    return [...this.paths]
      .map(([key, cells]) => {
        const [cls, shade] = key.split("|")
        const opacity = 0.04 + (strongest * shade) / this.levels
        return `<path d="${cells.join("")}" class="${cls}" fill-opacity="${opacity.toFixed(3)}"/>`
      })
      .join("")
  }
}
