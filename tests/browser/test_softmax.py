"""The step-through as a reader uses it: transport, keys, play, pause, links, both sides in step."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.sync_api import expect

from plates.softmax import Small
from tests.tile_states import states
from workshop import traffic
from workshop.problem import Problem, Tile
from workshop.score_patterns import PATTERNS, make
from workshop.trace import ORDERS, trace

# Collects the step readout's every value from now on.
WATCH = """() => {
  const find = (root) => {
    const hit = root.querySelector("[data-readout=step]")
    if (hit) return hit
    for (const node of root.querySelectorAll("*")) {
      const below = node.shadowRoot && find(node.shadowRoot)
      if (below) return below
    }
  }
  const node = find(document)
  window.seen = [Number(node.dataset.value)]
  new MutationObserver(() => {
    const now = Number(node.dataset.value)
    if (now !== window.seen.at(-1)) window.seen.push(now)
  }).observe(node, { attributes: true })
}"""


def small(**changes):
    """The trace that the plate plays with these settings."""
    given = {
        name: Small.param[name].default for name in ("sN", "sd", "sBr", "sBc", "pattern", "order")
    } | changes
    inputs = make(given["pattern"], given["sN"], given["sd"])
    return trace(inputs, given["sBr"], given["sBc"], causal=bool(given.get("causal")), order=given["order"])


def player(page):
    """The step-through's element, focused."""
    stepper = page.locator("section.stepper")
    stepper.focus()
    return stepper


def step_of(watched) -> int:
    return int(watched.value("step"))


def last_step(run) -> int:
    return len(run.steps) - 1


def test_opens_on_the_rescale_with_the_models_numbers(watched):
    watched.open("?plate=softmax")
    run = small()
    assert step_of(watched) == run.highlight and int(watched.value("steps")) == last_step(run)
    visit = run.visits[run.steps[run.highlight].visit]
    row = run.focus_rows[visit.i]
    assert float(watched.value("rescale")) == visit.update.alpha[row]
    assert float(watched.value("error-max")) == run.error_max <= 1e-12
    page = watched.page
    expect(page.locator(".say")).to_contain_text(f"Row {visit.row + row + 1}: ℓ = ")
    expect(page.locator("h3", has_text=f"Row {visit.row + row + 1}, followed")).to_be_visible()


def test_transport_buttons(watched):
    page = watched.open("?plate=softmax&step=20")
    end = last_step(small())
    for name, expected in (
        ("Forward one step", 21),
        ("Back one step", 20),
        ("First step", 0),
        ("Last step", end),
        ("Back one step", end - 1),
    ):
        page.get_by_role("button", name=name).click()
        assert step_of(watched) == expected
    page.get_by_role("button", name="First step").click()
    expect(page.get_by_role("button", name="Back one step")).to_be_disabled()


def test_keys_step_jump_and_play(watched):
    page = watched.open("?plate=softmax&step=20")
    player(page)
    for key, expected in (("ArrowRight", 21), ("ArrowLeft", 20), ("End", last_step(small())), ("Home", 0)):
        page.keyboard.press(key)
        assert step_of(watched) == expected
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_the_scrubber_is_a_named_slider_and_keeps_its_place(watched):
    page = watched.open("?plate=softmax&step=3")
    scrubber = page.get_by_role("slider", name="Step", exact=True)
    scrubber.fill("57")
    assert step_of(watched) == 57
    page.wait_for_url(re.compile(r"[?&]step=57(&|$)"))
    assert scrubber.input_value() == "57"
    assert scrubber.get_attribute("aria-valuetext") == f"step 57 of {last_step(small())}"


def test_by_tile_rests_where_the_trace_says(watched):
    page = watched.open("?plate=softmax&step=0")
    run = small()
    stops = [n for n, step in enumerate(run.steps) if step.stop]
    page.locator("label", has_text="by tile").click()
    player(page)
    for expected in stops[1:6]:
        page.keyboard.press("ArrowRight")
        assert step_of(watched) == expected
    page.keyboard.press("ArrowLeft")
    assert step_of(watched) == stops[4]


def test_a_play_skips_no_step_asks_no_server_and_stops_at_once(watched):
    frames = []
    watched.page.on("websocket", lambda socket: socket.on("framesent", lambda data: frames.append(data)))
    page = watched.open("?plate=softmax&step=0&sN=64&sBr=4&sBc=4")
    page.wait_for_timeout(800)
    page.get_by_role("combobox", name="Speed").select_option(label="40 steps/s")
    page.evaluate(WATCH)
    sent = len(frames)
    player(page)
    page.keyboard.press("Space")
    page.wait_for_function("window.seen.length > 60")
    assert len(frames) == sent, "the play talks to the server"
    expect(page.locator(".say")).to_have_attribute("aria-live", "off")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator(".say")).to_have_attribute("aria-live", "polite")
    rested = step_of(watched)
    page.wait_for_url(re.compile(rf"[?&]step={rested}(&|$)"))
    page.wait_for_timeout(400)
    assert step_of(watched) == rested
    seen = page.evaluate("window.seen")
    assert seen == list(range(rested + 1))


def test_pausing_takes_effect_within_the_step(watched):
    page = watched.open("?plate=softmax&step=0&sN=64&sBr=4&sBc=4")
    page.get_by_role("combobox", name="Speed").select_option(label="40 steps/s")
    page.evaluate(WATCH)
    page.get_by_role("button", name="Play").click()
    page.wait_for_function("window.seen.length > 30")
    after = page.get_by_role("button", name="Pause").evaluate(
        "async (b) => { b.click(); const n = window.seen.length;"
        " await new Promise((done) => setTimeout(done, 500)); return window.seen.length - n }"
    )
    assert after <= 1


def test_a_play_ends_at_the_end(watched):
    page = watched.open("?plate=softmax&step=80")
    page.get_by_role("combobox", name="Speed").select_option(label="40 steps/s")
    page.get_by_role("button", name="Play").click()
    watched.wait_value("step", last_step(small()))
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    expect(page.locator(".say")).to_contain_text("the largest difference is")


def test_meters_end_at_the_ledger(watched):
    page = watched.open("?plate=softmax&sN=50&sBr=16&sBc=12&dtype=fp32")
    for order, causal in itertools.product(ORDERS, (0, 1)):
        watched.follow(f"?order={order}&causal={causal}")
        # a new play opens on its own best step
        watched.wait_value("step", small(sN=50, sBr=16, sBc=12, order=order, causal=causal).highlight)
        player(page)
        page.keyboard.press("End")
        problem = Problem(N=50, d=8, H=1, dtype="fp32", causal=bool(causal))
        tile = Tile(Br=16, Bc=12)
        if order == "query-outer":
            ledger = traffic.ledger("tiled", problem, tile, training=True)
        else:
            ledger = traffic.ledger("algorithm_1", problem, tile, blocks=(16, 12))
        assert int(watched.value("hbm-read")) == ledger.reads * 4
        assert int(watched.value("hbm-written")) == ledger.writes * 4
        assert int(watched.value("chip-bytes")) == 0
        for meter in page.get_by_role("progressbar").all():
            assert meter.get_attribute("aria-valuenow") == meter.get_attribute("aria-valuemax")
        page.wait_for_timeout(500)  # a step is told to the server once the reader rests


def test_every_step_of_every_pattern_is_written_in_numbers(watched):
    page = watched.open("?plate=softmax&sN=10&sBr=4&sBc=5&causal=1")
    for pattern in PATTERNS:
        watched.follow(f"?pattern={pattern}&step=0")
        watched.wait_value("step", 0)
        stepper = player(page)
        for _ in range(int(watched.value("steps"))):
            page.keyboard.press("ArrowRight")
            shown = stepper.evaluate("(node) => node.innerHTML")
            bad = re.search(r"NaN(?!\.)|undefined|null|Infinity", shown)
            place = f"{pattern}, step {step_of(watched)}"
            assert not bad, f"{place}: …{shown[max(0, bad.start() - 80) : bad.end() + 40]}…"
        page.wait_for_timeout(500)  # a step is told to the server once the reader rests


def test_the_grid_shows_each_tile_in_its_state(watched):
    page = watched.open("?plate=softmax&sN=40&sBr=16&sBc=12&causal=1&step=20")
    run = small(sN=40, sBr=16, sBc=12, causal=True)
    names = ["skipped", "to-come", "current", "done"]
    tiles = page.locator(".panel-map .drawing rect.tile")
    for step in (0, 20, 33, last_step(run)):
        page.get_by_role("slider", name="Step", exact=True).fill(str(step))
        classes = tiles.evaluate_all("(nodes) => nodes.map((n) => n.getAttribute('class'))")
        assert classes == [f"tile {names[state]}" for state in states(run, step).ravel()]


def test_python_moves_the_player(watched):
    page = watched.open("?plate=softmax&step=30")
    assert step_of(watched) == 30
    page.locator("section.prose-try a", has_text="Falling maxima").click()
    watched.wait_value("step", small(pattern="falling").highlight)
    assert float(watched.value("rescale")) == 1.0


def test_a_step_past_the_end_shows_the_last(watched):
    watched.open("?plate=softmax&step=99999")
    assert step_of(watched) == last_step(small())


def test_controls_make_a_new_play(watched):
    page = watched.open("?plate=softmax")
    box = page.get_by_role("textbox", name="N, tokens: type a value")
    box.fill("20")
    box.press("Enter")
    watched.wait_value("steps", last_step(small(sN=20)))
    page.get_by_role("button", name="K, V outside").click()
    run = small(sN=20, order="key-outer")
    watched.wait_value("steps", last_step(run))
    page.wait_for_url(re.compile(r"order=key-outer"))
    assert int(watched.value("softmax-traffic")) == run.bytes_read + run.bytes_written


def test_a_row_can_be_followed(watched):
    page = watched.open("?plate=softmax&step=11")
    run = small()
    visit = run.visits[run.steps[11].visit]
    page.get_by_role("combobox", name="Row to follow").select_option("2")
    expect(page.locator("h3", has_text="Row 3, followed")).to_be_visible()
    assert float(watched.value("rescale")) == visit.update.alpha[2]
    page.locator(".panel-carry [data-row='4']").click()
    expect(page.locator("h3", has_text="Row 5, followed")).to_be_visible()


def test_reduced_motion_is_respected(watched):
    watched.page.emulate_media(reduced_motion="reduce")
    page = watched.open("?plate=softmax")
    expect(page.locator("section.stepper")).not_to_have_class(re.compile("moving"))
    page.emulate_media(reduced_motion="no-preference")
    expect(page.locator("section.stepper")).to_have_class(re.compile("moving"))


def test_the_theme_and_the_width_keep_the_step(watched):
    page = watched.open("?plate=softmax&step=42")
    page.get_by_role("button", name="Dark").click()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".panel-tile svg").first).to_be_visible()
    page.wait_for_function("document.documentElement.dataset.atlas === 'dark'")
    assert step_of(watched) == 42


# Texts and buttons of the step-through that reach beyond its box.
OUTSIDE = """(root) => {
  const edge = root.getBoundingClientRect()
  return [...root.querySelectorAll("svg text, b, span, code, small, button, select, p")]
    .filter((n) => n.getClientRects().length && !n.closest(".patterns, .sr-only"))
    .map((n) => [n.getBoundingClientRect(), n])
    .filter(([r]) => r.right > edge.right + 2 || r.left < edge.left - 2)
    .map(([r, n]) => `${n.textContent.slice(0, 30)}: ${r.left.toFixed(0)} to ${r.right.toFixed(0)}`)
}"""


@pytest.mark.parametrize(
    "query", ["", "&sN=64&sd=64&sBr=64&sBc=64", "&pattern=extreme&sN=9&causal=1", "&pattern=huge"]
)
def test_nothing_is_cut_off(watched, query):
    page = watched.open(f"?plate=softmax{query}")
    for width in (1400, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(400)
        wide = page.locator("section.stepper").evaluate(OUTSIDE)
        assert not wide, (width, wide)
