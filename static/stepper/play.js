// The trace as the drawings want it, and the clock that steps through it.

// How far a step is inside its tile: 0 loading, 1 scores, 2 maximum, 3 weights, 4 updated, 5 afterwards.
const PHASE = { start: 0, "load-q": 0, "load-kv": 0, scores: 1, maximum: 2, weights: 3, update: 4, store: 5, compare: 5 }

// Index what the drawings look up: earlier tiles of a Q block, and scales that hold still while it is played.
function prepare(trace) {
  const blocks = trace.kinds.map((kinds, i) => ({
    i,
    row: i * trace.Br,
    rows: Math.min(trace.Br, trace.N - i * trace.Br),
    visits: [],
  }))
  trace.visits.forEach((visit, number) => {
    visit.number = number
    visit.nth = blocks[visit.i].visits.length
    blocks[visit.i].visits.push(visit)
  })
  for (const block of blocks) {
    const most = (pick) =>
      Array.from({ length: block.rows }, (_, r) => {
        const values = block.visits.flatMap((visit) => pick(visit, r)).filter((value) => value !== null)
        return values.length ? [Math.min(...values), Math.max(...values)] : [0, 0]
      })
    block.scores = most((visit, r) => visit.s[r])
    block.l = most((visit, r) => [visit.l[0][r], visit.l[3][r]])
    block.o = most((visit, r) => visit.o.flatMap((part) => part[r].map(Math.abs)))
  }
  let latest = null
  const alphaAt = trace.steps.line.map((line, n) => {
    if (line === "maximum") latest = trace.steps.visit[n]
    return latest
  })
  return { ...trace, blocks, alphaAt, last: trace.steps.line.length - 1 }
}

// One step of a trace, with its tile and Q block at hand.
function at(trace, n) {
  const steps = trace.steps
  const shown = steps.visit[n] >= 0 ? steps.visit[n] : n === 0 ? 0 : trace.visits.length - 1
  const visit = trace.visits[shown]
  return {
    n,
    line: steps.line[n],
    i: steps.i[n],
    j: steps.j[n],
    done: steps.done[n],
    current: steps.visit[n],
    read: steps.read[n],
    written: steps.written[n],
    readNow: steps.read[n] - (n ? steps.read[n - 1] : 0),
    writtenNow: steps.written[n] - (n ? steps.written[n - 1] : 0),
    chip: steps.chip[n],
    say: steps.say[n],
    visit,
    block: trace.blocks[visit.i],
    phase: PHASE[steps.line[n]],
  }
}

// Steps on in the browser's own frames, so that a hidden tab stands still and no step is skipped.
class Clock {
  constructor(advance, changed) {
    this.advance = advance // takes one step; returns false at the end
    this.changed = changed
    this.playing = false
    this.speed = 5
  }

  start() {
    if (this.playing) return
    this.playing = true
    this.due = performance.now()
    const frame = (now) => {
      if (!this.playing) return
      if (now >= this.due) {
        const period = 1000 / this.speed
        this.due = Math.max(this.due + period, now - period)
        if (!this.advance()) return this.stop()
      }
      this.handle = requestAnimationFrame(frame)
    }
    this.handle = requestAnimationFrame(frame)
    this.changed()
  }

  stop() {
    if (!this.playing) return
    this.playing = false
    cancelAnimationFrame(this.handle)
    this.changed()
  }
}
