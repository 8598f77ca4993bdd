// The text of a tick: that of the nearest value, for the browser recomputes ticks in floating point. Where the texts of
// an x axis have no room, every second one is written, or every third; one that would leave the figure is not.
const values = axis.ticker.ticks
const texts = axis.tags
const nearest = values.reduce((best, v, i) => (Math.abs(v - tick) < Math.abs(values[best] - tick) ? i : best), 0)
if (!fig || fig.properties.inner_width.is_unset) return texts[nearest]
const w = fig.inner_width, { start, end } = fig.x_range
const value = (property) => property?.value ?? property
const pen = (globalThis.atlas_pen ??= document.createElement("canvas").getContext("2d"))
pen.font = `${value(axis.major_label_text_font_size)} ${value(axis.major_label_text_font)}`
const at = (v) => w * (log ? Math.log(v / start) / Math.log(end / start) : (v - start) / (end - start))
const shown = values.map((v, i) => ({ i, middle: at(v), half: pen.measureText(texts[i]).width / 2 }))
  .filter(({ middle }) => middle > -1 && middle < w + 1)
const apart = (few) => few.every((t, k) => !k || t.middle - t.half - few[k - 1].middle - few[k - 1].half >= 9)
let every = 1
while (every < shown.length && !apart(shown.filter((_, k) => k % every === 0))) every += 1
const written = shown.some((t, k) => t.i === nearest && k % every === 0 && t.middle + t.half <= w + room)
return written ? texts[nearest] : ""
