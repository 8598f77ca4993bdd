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
        a.innerHTML = `<i aria-hidden="true">${numeral}</i>${name}`
        if (slug === model.current) a.setAttribute("aria-current", "page")
        return a
      })
    )
    const now = nav.querySelector("[aria-current]")
    if (now) nav.scrollTo({ left: now.offsetLeft - nav.clientWidth / 2 + now.offsetWidth / 2 })
  }

  const root = document.documentElement
  const controls = tool(model.words.controls, () => {
    controls.setAttribute("aria-expanded", root.classList.toggle("controls-open"))
  })
  controls.className = "narrow"
  controls.setAttribute("aria-expanded", root.classList.contains("controls-open"))
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
  const [code, tag, name] = model.words.language.split("|")
  const language = document.createElement("a")
  language.lang = language.hreflang = tag
  language.textContent = name
  const aim = () => {
    window.dispatchEvent(new Event("atlas:settle"))
    const query = new URLSearchParams(window.location.search)
    query.set("lang", code)
    language.href = window.location.pathname + "?" + query
  }
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
  draw()
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
}
