// The address bar and in-page links: one owner of history. Python says what the address is; the browser says
// when a reader follows a link such as ?plate=tiles or presses Back.
const plain = (event) =>
  event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey

// The page scrolls inside a shadow root: walk out of ours until one holds the scroller.
function scroller(el) {
  for (let root = el.getRootNode(); root; root = root.host?.getRootNode()) {
    const found = root.querySelector(".main-content")
    if (found) return found
  }
}

export function render({ model, el }) {
  el.style.display = "none"
  const go = (kind, search) => model.send_msg({ kind, search, pops })

  // Back can be pressed faster than a plate is shown. Each answer names the press it knows of; an older one would
  // write the address of one entry over another. One question is under way at a time, and always about the newest.
  let pops = 0
  let sent = 0
  let answered = 0
  const ask = () => {
    sent = pops
    go("back", window.location.search)
  }

  // Browsers throttle replaceState, and a dragged slider changes the address at every step: write it at rest.
  let pending = null
  let timer = 0
  const address = (search) => window.location.pathname + search
  const settle = () => {
    clearTimeout(timer)
    if (pending !== null && pending !== window.location.search) window.history.replaceState(null, "", address(pending))
    pending = null
  }

  // A control drawn by React hears nothing between its first drawing and its listening: what arrives then is lost to
  // it, and its box would show an old number until the next move. Tell it again; who knows it already does nothing.
  let reminders = []
  const remind = () => {
    for (const doc of window.Bokeh?.documents ?? [])
      for (const { data } of doc._all_models.values())
        for (const name of ["value", "value_input"]) data?.properties?.[name]?.change.emit()
  }
  let heard = false
  let knocking = 0
  const remindLater = () => {
    reminders.forEach(clearTimeout)
    reminders = [300, 1000, 3000, 9000].map((ms) => setTimeout(remind, ms))
  }

  const onClick = (event) => {
    if (event.defaultPrevented || !plain(event)) return
    for (const node of event.composedPath()) {
      if (node instanceof Element && node.matches("a[href^='?']")) {
        event.preventDefault()
        window.dispatchEvent(new Event("atlas:settle"))
        if (sent < pops) ask()
        go("follow", node.getAttribute("href"))
        return
      }
    }
  }
  const onPop = () => {
    clearTimeout(timer)
    pending = null // before the players tell their steps: what they change is no longer this entry's
    window.dispatchEvent(new Event("atlas:settle"))
    pops += 1
    if (answered >= sent) ask()
  }
  document.addEventListener("click", onClick)
  window.addEventListener("popstate", onPop)
  window.addEventListener("atlas:settle", settle)

  model.on("msg:custom", ({ search, push, title, theme, lang, top, leave, pops: known }) => {
    if (leave) {
      settle()
      window.location.assign(address(leave))
      return
    }
    heard = true
    remindLater()
    answered = Math.max(answered, known)
    if (known < pops) {
      if (answered >= sent && sent < pops) ask()
      return
    }
    document.title = title
    document.documentElement.dataset.atlas = theme
    document.documentElement.lang = lang
    if (push) {
      settle()
      if (search !== window.location.search) window.history.pushState(null, "", address(search))
    } else {
      pending = search
      clearTimeout(timer)
      timer = setTimeout(settle, 200)
    }
    if (top) {
      scroller(el)?.scrollTo({ top: 0 })
    }
  })
  model.on("remove", () => {
    clearTimeout(knocking)
    reminders.forEach(clearTimeout)
    document.removeEventListener("click", onClick)
    window.removeEventListener("popstate", onPop)
    window.removeEventListener("atlas:settle", settle)
  })
  // An answer that comes before this component is connected is lost: knock until one is heard.
  const knock = () => {
    if (heard) return
    go("ready", window.location.search)
    knocking = setTimeout(knock, 250)
  }
  knock()
}
