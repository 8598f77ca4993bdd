// The schedule: one row a unit, one block a task. Positions come from Python as shares of the time shown.
export function render({ model, el }) {
  const box = document.createElement("div")
  el.append(box)

  const make = (tag, name, text = "") => {
    const node = document.createElement(tag)
    if (name) node.className = name
    if (text) node.textContent = text
    return node
  }

  // a block says its name where the whole name has room with air around it, its number where only that has, or nothing
  function fit() {
    for (const task of box.querySelectorAll(".task")) {
      const name = task.firstChild
      const room = (text) => {
        name.textContent = text
        return name.offsetWidth + 12 <= task.clientWidth
      }
      name.style.visibility = room(name.dataset.long) || room(name.dataset.short) ? "" : "hidden"
    }
  }

  function draw() {
    const { lanes, ticks, axis } = JSON.parse(model.picture)
    const grid = make("div", "lanes")
    grid.setAttribute("aria-hidden", "true") // the caption says in words what is shown
    for (const lane of lanes) {
      const track = make("div", "track")
      for (const task of lane.tasks) {
        const block = make("div", `task ${task.kind}${task.part ? " b" : ""}${task.cut ? " cut" : ""}${task.to - task.from < 0.006 ? " thin" : ""}`)
        block.style.left = `${100 * task.from}%`
        block.style.width = `${100 * (task.to - task.from)}%`
        block.title = task.title
        const name = make("span", "", task.text)
        Object.assign(name.dataset, { long: task.text, short: task.short })
        block.append(name)
        track.append(block)
      }
      const row = make("div", "lane")
      row.append(make("div", "name", lane.name), track, make("div", "busy", lane.busy))
      grid.append(row)
    }
    const scale = make("div", "axis")
    for (const { at, text } of ticks) {
      const tick = make("span", "", text)
      tick.style.left = `${100 * at}%`
      if (at < 0.97) scale.append(tick)
    }
    grid.append(make("div", "blank"), scale, make("div", "blank"))
    box.replaceChildren(grid, make("p", "unit", axis))
    requestAnimationFrame(fit)
  }
  draw()
  model.on("picture", draw)
  const observer = new ResizeObserver(fit)
  observer.observe(box)
  model.on("remove", () => observer.disconnect())
}
