// The bar: the plates as real links (middle click and Copy link work), Present, Copy link, theme.
export function render({ model, el }) {
  const nav = document.createElement("nav")
  nav.setAttribute("aria-label", model.words.plates)
  const tools = document.createElement("div")
  tools.className = "tools"
  const said = document.createElement("span")
  said.className = "sr-only"
  said.setAttribute("role", "status")

  const tool = (name, act) => {
    const button = document.createElement("button")
    button.type = "button"
    button.textContent = name
    button.addEventListener("click", act)
    tools.append(button)
    return button
  }
  const draw = () => {
    nav.replaceChildren(
      ...model.plates.map(({ slug, name, numeral }) => {
        const a = document.createElement("a")
        a.href = "?plate=" + slug
        a.setAttribute("aria-label", name)
        a.title = name
        a.innerHTML = `<i aria-hidden="true">${numeral}</i><span>${name}</span>`
        if (slug === model.current) a.setAttribute("aria-current", "page")
        return a
      })
    )
    reveal()
  }
  // The plate on show stands inside the strip, as near its middle as the strip's ends allow.
  const fade = () => {
    nav.classList.toggle("more-before", nav.scrollLeft > 1)
    nav.classList.toggle("more-after", nav.scrollLeft + nav.clientWidth < nav.scrollWidth - 1)
  }
  const reveal = () =>
    requestAnimationFrame(() => {
      const now = nav.querySelector("[aria-current]")
      if (now) {
        const [item, strip] = [now.getBoundingClientRect(), nav.getBoundingClientRect()]
        nav.scrollLeft += item.left + item.width / 2 - strip.left - strip.width / 2
      }
      fade()
    })
  nav.addEventListener("scroll", fade, { passive: true })

  const root = document.documentElement
  const closeButton = (node) => {
    const found = node.querySelector('[data-act="close-controls"]')
    if (found) return found
    for (const inner of node.querySelectorAll("*")) {
      const deeper = inner.shadowRoot && closeButton(inner.shadowRoot)
      if (deeper) return deeper
    }
    return null
  }
  const closer = (event) => event.composedPath().find((node) => node.dataset?.act === "close-controls")
  const sheet = (open) => {
    controls.setAttribute("aria-expanded", root.classList.toggle("controls-open", open))
  }
  const controls = tool(model.words.controls, () => {
    sheet()
    if (root.classList.contains("controls-open")) requestAnimationFrame(() => closeButton(document)?.focus())
  })
  controls.className = "narrow"
  sheet(root.classList.contains("controls-open"))
  const close = () => {
    sheet(false)
    controls.focus()
  }
  const onClick = (event) => closer(event) && close()
  const onKey = (event) => {
    const narrow = controls.offsetParent !== null
    if (event.key === "Escape" && narrow && root.classList.contains("controls-open") && !event.defaultPrevented) close()
  }
  document.addEventListener("click", onClick)
  document.addEventListener("keydown", onKey)
  const tours = document.createElement("details")
  const name = document.createElement("summary")
  name.textContent = model.words.tours
  const list = document.createElement("div")
  list.append(
    ...model.tours.map((tour) => {
      const a = document.createElement("a")
      a.href = tour.href
      a.textContent = tour.name
      return a
    })
  )
  tours.append(name, list)
  tools.append(tours)
  // a click anywhere, on one of its links too, and Escape close it
  const away = (event) => {
    if (!event.composedPath().includes(name)) tours.open = false
  }
  const escape = (event) => {
    if (event.key !== "Escape" || !tours.open) return
    event.preventDefault()
    tours.open = false
    name.focus()
  }
  document.addEventListener("click", away)
  tours.addEventListener("keydown", escape)
  const present = tool(model.words.present, () => {
    model.presenting = !model.presenting
  })
  const stage = () => {
    root.classList.toggle("presenting", model.presenting)
    present.setAttribute("aria-pressed", model.presenting)
    window.dispatchEvent(new Event("resize"))
  }
  const copy = tool(model.words.copy, async () => {
    window.dispatchEvent(new Event("atlas:settle"))
    try {
      await navigator.clipboard.writeText(window.location.href)
      copy.textContent = model.words.copied
    } catch {
      copy.textContent = model.words.not_copied
    }
    said.textContent = copy.textContent
    setTimeout(() => (copy.textContent = model.words.copy), 2000)
  })
  // The other language: a real link, so that it opens in a tab of its own too. Its address is the view at that moment.
  const [code, tag, spelled] = model.words.language.split("|")
  const language = document.createElement("a")
  language.lang = language.hreflang = tag
  language.textContent = spelled
  const aim = () => {
    window.dispatchEvent(new Event("atlas:settle"))
    const query = new URLSearchParams(window.location.search)
    query.set("lang", code)
    language.href = window.location.pathname + "?" + query
  }
  for (const node of [copy, language]) node.classList.add("rest")
  aim()
  for (const event of ["pointerenter", "pointerdown", "focus", "click"]) language.addEventListener(event, aim)
  tools.append(language)
  const theme = tool("", () => {
    model.theme = model.theme === "dark" ? "light" : "dark"
  })
  const dress = () => {
    root.dataset.atlas = model.theme
    theme.textContent = model.theme === "dark" ? model.words.light : model.words.dark
  }
  dress()
  stage()
  model.on("presenting", stage)
  model.on("current", draw)
  model.on("plates", draw)
  model.on("theme", dress)
  const row = document.createElement("div")
  row.className = "row"
  row.append(nav, tools, said)
  el.append(row)
  draw()
  const watch = new ResizeObserver(reveal)
  watch.observe(nav)
  return () => {
    watch.disconnect()
    document.removeEventListener("click", onClick)
    document.removeEventListener("click", away)
    document.removeEventListener("keydown", onKey)
  }
}
