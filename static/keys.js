// Keys that no control has taken. Before anything is clicked they scroll the text, as on any page; while presenting
// they also play the picture and, on a tour, lead to the next stop, as the remote of a presenter sends them.
const SCROLLS = new Set(["PageDown", "PageUp", "ArrowDown", "ArrowUp", "Home", "End", " "])
const STOPS = { PageDown: "next", ArrowRight: "next", PageUp: "previous", ArrowLeft: "previous" }

// The page lies in nested shadow roots.
function find(selector, root = document) {
  const found = root.querySelector(selector)
  if (found) return found
  for (const node of root.querySelectorAll("*")) {
    const deeper = node.shadowRoot && find(selector, node.shadowRoot)
    if (deeper) return deeper
  }
  return null
}
const focused = () => {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return at
}
const inSight = (node) => {
  const box = node.getBoundingClientRect()
  return box.width > 0 && box.top < window.innerHeight && box.bottom > 0
}

export function render({ el }) {
  el.style.display = "none"
  const root = document.documentElement
  const presenting = () => root.classList.contains("presenting")
  const main = () => {
    const found = find(".main-content")
    if (found && !found.hasAttribute("tabindex")) {
      found.tabIndex = -1
      found.style.outline = "none"
    }
    return found
  }
  const idle = () => [null, document.body, root, main()].includes(focused())
  const player = () => find("[data-act=play]")
  // A control that was used last keeps the arrows; the page keys are the remote's whatever has the focus.
  const step = (event) => {
    const controls = "input, textarea, select, [role=slider], [role=combobox], [role=radio], [role=option], .transport *"
    const way = STOPS[event.key]
    if (!way || !presenting() || (event.key.startsWith("Arrow") && focused()?.matches(controls))) return false
    const link = find(`[data-tour=${way}]`)
    if (!link) return false
    event.preventDefault()
    event.stopPropagation()
    link.click()
    return true
  }
  const onPage = (event) => event.key.startsWith("Page") && !event.ctrlKey && !event.altKey && step(event)
  const onKey = (event) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return
    if (step(event) || !idle()) return
    const play = event.key === " " && !event.shiftKey && presenting() && player()
    if (play && inSight(play)) {
      event.preventDefault()
      play.click()
    } else if (SCROLLS.has(event.key)) main()?.focus({ preventScroll: true })
  }
  // Focus left on the button would give it the next Space. On a tour the arrows belong to the stops.
  const settle = () => {
    const keeper = !find("[data-tour]") && find(".transport .scrubber")
    const place = keeper && inSight(keeper) ? keeper : main()
    place?.focus({ preventScroll: true })
  }
  let before = presenting()
  const watch = new MutationObserver(() => {
    if (presenting() !== before) {
      before = presenting()
      if (before) settle()
    }
  })
  watch.observe(root, { attributes: true, attributeFilter: ["class"] })
  document.addEventListener("keydown", onPage, { capture: true })
  document.addEventListener("keydown", onKey)
  return () => {
    watch.disconnect()
    document.removeEventListener("keydown", onPage, { capture: true })
    document.removeEventListener("keydown", onKey)
  }
}
