// The quiz: one question at a time, answered and explained here without asking the server.
// Answers are kept for the window (sessionStorage), each with the sign of the question it was given to: when the
// reader's settings change a question's numbers, its answer no longer counts.
const KEY = "atlas-quiz"

function load() {
  try {
    return JSON.parse(sessionStorage.getItem(KEY)) || {}
  } catch {
    return {}
  }
}

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "html") node.innerHTML = value
    else if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
    else if (value === true) node.setAttribute(name, "")
    else if (value !== false && value !== null) node.setAttribute(name, value)
  }
  node.append(...children)
  return node
}

export function render({ model, el }) {
  const saved = load()
  const state = { answers: saved.answers || {}, level: saved.level || null, at: saved.at || {} }
  const keep = () => {
    try {
      sessionStorage.setItem(KEY, JSON.stringify(state))
    } catch {
      // a browser that forbids storage keeps the answers only until the plate is left
    }
  }
  const say = (text, values = {}) => text.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "")
  const words = model.words
  let asked = JSON.parse(model.questions)
  const levels = () => [...new Set(asked.map((q) => q.level))]
  const of = (level) => asked.filter((q) => q.level === level)
  const given = (q) => (state.answers[q.slug]?.sign === q.sign ? state.answers[q.slug].key : null)
  const count = (list) => ({
    right: list.filter((q) => given(q) === q.right).length,
    done: list.filter((q) => given(q) !== null).length,
    all: list.length,
  })

  const heads = make("div", { class: "levels", role: "group", "aria-label": words.levels })
  const numbers = make("ol", { class: "numbers", "aria-label": words.questions })
  const card = make("div", { class: "sheet" })
  const said = make("div", { class: "sr-only", role: "status" })
  el.append(heads, numbers, card, said)

  const level = () => (levels().includes(state.level) ? state.level : levels()[0])
  const index = () => Math.min(state.at[level()] || 0, of(level()).length - 1)
  const current = () => of(level())[index()]

  // new numbers redraw the question on show only if they are its own, so that a half-made choice stays
  const sign = () => (asked.length ? `${current().slug}/${current().sign}` : null)
  let shown = null

  function go(at, focus = true) {
    state.at[level()] = at
    keep()
    draw()
    if (focus) card.querySelector("input:checked, input, .next")?.focus({ preventScroll: true })
  }

  function drawHeads() {
    const total = count(asked)
    heads.replaceChildren(
      ...levels().map((name) => {
        const { right, done, all } = count(of(name))
        return make(
          "button",
          {
            type: "button",
            "aria-pressed": String(name === level()),
            onclick: () => {
              state.level = name
              keep()
              draw()
              heads.querySelector("[aria-pressed=true]")?.focus()
            },
          },
          words[`level_${name}`],
          make("small", {}, done ? say(words.level_score, { right, done, all }) : say(words.level_size, { all }))
        )
      }),
      make(
        "div",
        { class: "total" },
        make("span", { class: "muted", html: say(words.score, total) }),
        make("button", { type: "button", onclick: restart, disabled: !total.done }, words.restart)
      )
    )
  }

  function drawNumbers() {
    numbers.replaceChildren(
      ...of(level()).map((q, i) => {
        const answer = given(q)
        const kind = answer === null ? "" : answer === q.right ? "yes" : "no"
        const state_word = words[`state_${kind || "open"}`]
        return make(
          "li",
          {},
          make(
            "button",
            {
              type: "button",
              class: kind,
              "aria-label": say(words.number, { at: i + 1, state: state_word }),
              "aria-current": i === index() ? "true" : null,
              onclick: () => go(i),
            },
            String(i + 1)
          )
        )
      })
    )
  }

  function drawCard() {
    const q = current()
    const answer = given(q)
    const checked = answer !== null
    const choices = q.choices.map((choice) => {
      const right = checked && choice.key === q.right
      const wrong = checked && choice.key === answer && !right
      return make(
        "label",
        { class: "choice" + (right ? " right" : wrong ? " wrong" : "") },
        make("input", {
          type: "radio",
          name: "choice",
          value: choice.key,
          checked: choice.key === answer,
          disabled: checked,
          onchange: () => (button.disabled = false),
        }),
        make("span", { html: choice.html }),
        ...(right || wrong ? [make("span", { class: "mark" }, right ? words.mark_right : words.mark_wrong)] : [])
      )
    })
    const field = make("fieldset", { class: checked ? "checked" : "" }, make("legend", { html: q.html }), ...choices)
    const button = make("button", { type: "submit", class: "main", disabled: true }, words.check)
    const last = index() === of(level()).length - 1
    const next = make(
      "button",
      { type: "button", class: checked ? "main next" : "next", onclick: forward },
      last ? words.next_level : words.next
    )
    const row = make("div", { class: "row" }, ...(checked ? [] : [button]), next)
    if (q.computed) row.append(make("span", { class: "muted" }, words.computed))
    const form = make(
      "form",
      {
        style: "display: contents",
        onsubmit: (event) => {
          event.preventDefault()
          const picked = form.querySelector("input:checked")
          if (picked) check(q, picked.value)
        },
      },
      field,
      ...(checked ? [explain(q, answer)] : []),
      row
    )
    card.replaceChildren(form)
  }

  function explain(q, answer) {
    const good = answer === q.right
    const remark = q.choices.find((choice) => choice.key === answer)?.remark
    const box = make("div", { class: "answer" })
    box.append(make("p", { class: "verdict " + (good ? "yes" : "no") }, good ? words.right : words.wrong))
    if (!good && remark) box.append(make("p", { html: remark }))
    const why = make("p", { html: q.why })
    if (q.link) {
      why.append(" ", make("a", { href: q.link.href }, say(words.see, { name: q.link.name })))
    }
    box.append(why)
    return box
  }

  function check(q, key) {
    state.answers[q.slug] = { key, sign: q.sign }
    keep()
    draw()
    said.textContent = card.querySelector(".answer").textContent
    card.querySelector(".next").focus({ preventScroll: true })
  }

  function forward() {
    const list = of(level())
    if (index() < list.length - 1) return go(index() + 1)
    const all = levels()
    state.level = all[(all.indexOf(level()) + 1) % all.length]
    go(Math.max(0, of(level()).findIndex((q) => given(q) === null)))
  }

  function restart() {
    state.answers = {}
    state.at = {}
    state.level = levels()[0]
    keep()
    draw()
    said.textContent = words.restarted
    card.querySelector("input")?.focus({ preventScroll: true })
  }

  function draw() {
    if (!asked.length) return
    drawHeads()
    drawNumbers()
    drawCard()
    shown = sign()
  }

  draw()
  model.on("questions", () => {
    asked = JSON.parse(model.questions)
    if (shown !== sign()) draw()
    else {
      drawHeads()
      drawNumbers()
    }
  })
}
