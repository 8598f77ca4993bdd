// The glossary: a list to search; the term that the address names is marked and brought into view.
export function render({ model, el }) {
  const words = model.words
  const make = (tag, text = "", name = "") => {
    const node = document.createElement(tag)
    if (text) node.textContent = text
    if (name) node.className = name
    return node
  }
  const find = make("div", "", "find")
  const label = make("label", words.find)
  const input = make("input")
  input.type = "search"
  input.id = "find-term"
  input.autocomplete = "off"
  label.htmlFor = input.id
  const found = make("span", "", "muted")
  found.setAttribute("role", "status")
  find.append(label, input, found)
  const list = make("dl")
  el.append(find, list)
  let rows = []

  function filter() {
    const sought = input.value.trim().toLocaleLowerCase()
    let count = 0
    for (const { node, text } of rows) {
      node.hidden = Boolean(sought) && !text.includes(sought)
      if (!node.hidden) count += 1
    }
    found.textContent = sought ? words.found.replace("{count}", count) : ""
  }

  function draw() {
    rows = JSON.parse(model.entries).map((entry) => {
      const node = make("div")
      node.dataset.term = entry.key
      const dt = make("dt")
      dt.append(make("span", entry.term))
      if (entry.link) {
        const a = make("a", entry.link.name)
        a.href = entry.link.href
        a.setAttribute("aria-label", words.see.replace("{name}", entry.link.name))
        dt.append(a)
      }
      const dd = make("dd")
      dd.innerHTML = entry.html
      node.append(dt, dd)
      return { node, key: entry.key, text: `${entry.term} ${entry.plain}`.toLocaleLowerCase() }
    })
    list.replaceChildren(...rows.map((row) => row.node))
    filter()
  }

  let timer = 0
  function show() {
    clearTimeout(timer)
    for (const { node, key } of rows) node.classList.toggle("named", key === model.term)
    const row = rows.find((one) => one.key === model.term)
    if (!row) return
    input.value = ""
    filter()
    // after the page itself went to its top for a new plate, and after the pictures above have their size
    const go = (left) => {
      if (!row.node.isConnected) return
      row.node.scrollIntoView({ block: "center" })
      if (left) timer = setTimeout(() => go(left - 1), 300)
    }
    timer = setTimeout(() => go(2), 120)
  }

  input.addEventListener("input", filter)
  draw()
  show()
  model.on("entries", () => {
    draw()
    show()
  })
  model.on("term", show)
  model.on("remove", () => clearTimeout(timer))
}
