"""A reader who does anything in any order, the same for a seed, and what must hold after each thing done.

    python -m tests.browser.random_walk --seed 7 --steps 1000 [--plate softmax]

walks for longer than the tests do, on a server of its own, and prints what it did when something does not hold.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import param
from playwright.sync_api import Error, Page

from plates.registry import PLATES
from plates.settings import Settings
from tests.browser.conftest import PATIENCE, Watched, launched, opened_context
from tests.browser.server_log import tracebacks
from tests.served import ROOT, free_port, serve

TYPED = (
    *("1", "64", "128", "1,000", "777", "1e3", "2_048", "1048576", " 96 "),
    *("0", "-5", "1e99", "nan", "inf", "12.7", "many", "", "{0}", "<b>x</b>", "²", "9" * 400),
)
KEYS = ("ArrowRight", "ArrowLeft", "ArrowRight", "ArrowLeft", "PageUp", "PageDown", "Home", "End")
PICTURE_KEYS = (
    "ArrowRight",
    "ArrowLeft",
    "ArrowDown",
    "ArrowUp",
    " ",
    "Home",
    "End",
    "Enter",
    "Shift+ArrowRight",
)
WIDTHS = (390, 800, 1400)
PICTURES = "[role=application], section.wall, section.walk, .stepper"
UNKNOWN_YET = ("rescale",)  # a first tile shrinks nothing: there is no factor before the second

# Through all shadow roots: number controls as [name, box, thumb], readouts as [name, value], whether a plate failed.
LOOK = """() => {
  const found = { controls: [], readouts: [], alerts: [] }
  const inside = (root, wanted) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.matches(wanted)) return e
      const deeper = e.shadowRoot && inside(e.shadowRoot, wanted)
      if (deeper) return deeper
    }
  }
  const walk = (root) => {
    for (const e of root.querySelectorAll("*")) {
      const name = [...e.classList].find((c) => c.startsWith("control-"))
      if (name && e.shadowRoot && e.checkVisibility()) {
        const box = inside(e.shadowRoot, "input[type=text]")
        const thumb = inside(e.shadowRoot, "input[type=range]")
        if (box && thumb) found.controls.push([name.slice(8), box.value, thumb.getAttribute("aria-valuetext")])
      }
      if (e.dataset.readout) found.readouts.push([e.dataset.readout, e.dataset.value ?? ""])
      if (e.matches(".note[role=alert]")) found.alerts.push(e.textContent)
      if (e.shadowRoot) walk(e.shadowRoot)
    }
  }
  walk(document)
  found.current = inside(document, "nav a[aria-current=page]")?.getAttribute("href") ?? ""
  return found
}"""


def default(slug: str, name: str) -> object:
    """Return the default of a setting, or of the own state of the plate ``slug``."""
    if name in Settings.param:
        return Settings.param[name].default
    plate = next(plate for plate in PLATES if plate.slug == slug)
    own: param.Parameterized = plate(Settings()).local
    return own.param[name].default


class Walk:
    """One walk of one page.

    Parameters
    ----------
    watched: the page, already listened to.
    seed: of the walk; the same seed chooses the same as long as the page offers the same.
    log: the server's.
    """

    def __init__(self, watched: Watched, seed: int, log: Path) -> None:
        self.watched, self.page, self.log = watched, watched.page, log
        self.seed, self.done, self._defaults = seed, [], {}
        self.chance = random.Random(seed)
        self.logged = log.stat().st_size
        self.actions: list[tuple[int, Callable[[], str | None]]] = [
            (6, self.slide),
            (4, self.type),
            (3, self.choose),
            (2, self.switch),
            (7, self.button),
            (1, self.twice),
            (6, self.link),
            (3, self.history),
            (1, self.reload),
            (2, self.paint),
            (3, self.key),
            (1, self.resize),
        ]

    def start(self, slug: str | None = None) -> None:
        """Open a plate, by chance or the one named."""
        slug = slug or self.chance.choice(PLATES).slug
        self.done.append(f"open {slug}")
        self.watched.open(f"?plate={slug}")
        self.check()

    def step(self) -> None:
        """Do one thing and look whether all holds."""
        weights = [weight for weight, _ in self.actions]
        for _ in range(20):  # not every plate has everything
            action = self.chance.choices(self.actions, weights)[0][1]
            try:
                what = action()
            except Error as error:
                # covered by something, gone meanwhile, or another document came: a reader would shrug
                if not any(
                    word in str(error)
                    for word in ("intercepts pointer", "Timeout", "navigation", "not attached")
                ):
                    raise AssertionError(self.story(str(error))) from error
                what = f"{action.__name__}: nothing came of it"
            if what:
                self.done.append(what)
                break
        self.check()

    # What a reader does ---------------------------------------------------------------------------------

    def _one(self, selector: str):
        """Return one of the visible elements for ``selector`` by chance and a name for it, or None."""
        found = self.page.locator(selector).locator("visible=true")
        count = found.count()
        if not count:
            return None
        at = self.chance.randrange(count)
        return found.nth(at), f"{selector} {at + 1} of {count}"

    def slide(self) -> str | None:
        if not (one := self._one("input[type=range]")):
            return None
        one[0].focus(timeout=2000)
        keys = self.chance.choices(KEYS, k=self.chance.randint(1, 6))
        for key in keys:
            self.page.keyboard.press(key)
        return f"slider {one[1]}: {' '.join(keys)}"

    def type(self) -> str | None:
        if not (one := self._one("input[type=text], input[type=search]")):
            return None
        text = self.chance.choice(TYPED)
        one[0].fill(text, timeout=2000)
        self.page.keyboard.press(self.chance.choice(["Enter", "Tab"]))
        return f"type {text[:20]!r} into {one[1]}"

    def choose(self) -> str | None:
        if not (one := self._one("[role=combobox], select")):
            return None
        keys = ["ArrowDown"] * self.chance.randint(1, 4) + ["Enter"]
        one[0].focus(timeout=2000)
        for key in (["Enter"] if one[0].evaluate("e => e.tagName") != "SELECT" else []) + keys:
            self.page.keyboard.press(key)
        self.page.keyboard.press("Escape")
        return f"choose in {one[1]}: {len(keys) - 1} down"

    def switch(self) -> str | None:
        if not (one := self._one("input[type=checkbox]")):
            return None
        one[0].click(timeout=2000)
        return f"switch {one[1]}"

    def button(self) -> str | None:
        if not (one := self._one("button:not([disabled])")):
            return None
        name = one[0].get_attribute("aria-label", timeout=2000) or one[0].inner_text(timeout=2000)
        one[0].click(timeout=2000)
        return f"button {one[1]} ({name.strip()[:30]})"

    def twice(self) -> str | None:
        if not (one := self._one("button:not([disabled]), a[href^='?']")):
            return None
        name = one[0].get_attribute("aria-label", timeout=2000) or one[0].inner_text(timeout=2000)
        one[0].dblclick(timeout=2000)
        return f"twice {one[1]} ({name.strip()[:30]})"

    def link(self) -> str | None:
        if not (one := self._one("a[href^='?']")):
            return None
        target = one[0].get_attribute("href", timeout=2000)
        one[0].click(timeout=2000)
        return f"link {one[1]} ({target})"

    def history(self) -> str:
        moves = self.chance.choices((-1, -1, 1), k=self.chance.randint(1, 3))
        for move in moves:
            self.page.evaluate("(move) => history.go(move)", move)
            self.page.wait_for_timeout(self.chance.choice((0, 30, 200)))
            if self.page.url == "about:blank":
                break
        return f"history {moves}"

    def reload(self) -> str:
        self.page.reload()
        self.page.wait_for_selector("[data-readout]")
        return "reload"

    def paint(self) -> str | None:
        sheet = self.page.locator(".sheet svg .frame")
        if not sheet.count():
            return None
        sheet.first.scroll_into_view_if_needed(timeout=2000)
        box = sheet.first.bounding_box()
        if not box:
            return None
        places = [(self.chance.random(), self.chance.random()) for _ in range(3)]
        for at, (x, y) in enumerate(places):
            self.page.mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=4)
            if at == 0:
                self.page.mouse.down()
        self.page.mouse.up()
        return "paint"

    def key(self) -> str | None:
        if not (one := self._one(PICTURES)):
            return None
        one[0].focus(timeout=2000)
        keys = self.chance.choices(PICTURE_KEYS, k=self.chance.randint(1, 5))
        for key in keys:
            self.page.keyboard.press(key)
        return f"picture {one[1]}: {keys}"

    def resize(self) -> str:
        width = self.chance.choice(WIDTHS)
        self.page.set_viewport_size({"width": width, "height": 900})
        return f"{width} px"

    # What must hold -------------------------------------------------------------------------------------

    def _wrong(self) -> str:
        """Return what does not hold now, or nothing."""
        seen = self.page.evaluate(LOOK)
        fields = {k: v[-1] for k, v in parse_qs(urlsplit(self.page.url).query).items()}
        slug = fields.get("plate", "")
        if seen["alerts"]:
            return f"the page says {seen['alerts']}"
        if seen["current"] != f"?plate={slug}":
            return f"the bar is at {seen['current']!r}, the address at {slug!r}"
        if not seen["readouts"]:
            return "there is no readout"
        for name, value in seen["readouts"]:
            if value == "" and name in UNKNOWN_YET:
                continue
            if value == "" or re.fullmatch(r"-?nan|-?inf(inity)?|none|undefined", value, re.I):
                return f"readout {name} is {value!r}"
        for name, box, thumb in seen["controls"]:
            if (slug, name) not in self._defaults:
                self._defaults[slug, name] = default(slug, name)
            expected = f"{int(fields.get(name, self._defaults[slug, name])):,}"
            if not box == thumb == expected:
                return f"{name}: the address says {expected}, the box {box!r}, the slider {thumb!r}"
        return ""

    def check(self) -> None:
        """Wait until page, controls and address agree; then nothing may have been said, asked for or logged."""
        end, wrong = time.monotonic() + PATIENCE, "?"
        while wrong and time.monotonic() < end:
            self.page.wait_for_timeout(60)
            try:
                if self.page.url == "about:blank":  # Back, past the first page
                    self.page.go_forward()
                wrong = self._wrong()
            except Error as error:  # the page is changing
                wrong = str(error)
        with self.log.open("rb") as log:
            log.seek(self.logged)
            logged = tracebacks(log.read().decode("utf-8", "replace"))
        for what in (wrong, *self.watched.said, *self.watched.outside, *logged):
            assert not what, self.story(what)

    def story(self, wrong: str) -> str:
        """Return what went wrong, after what."""
        last = "\n  ".join(self.done[-25:])
        return f"seed {self.seed}, step {len(self.done) - 1}, {self.page.url}\n{wrong}\nafter\n  {last}"


def walk(page: Page, address: str, seed: int, steps: int, log: Path, slug: str | None = None) -> Walk:
    """Walk ``steps`` steps from a plate; raises AssertionError with the story at the first thing that does not hold."""
    found = Walk(Watched(page, address), seed, log)
    found.start(slug)
    for _ in range(steps):
        found.step()
    return found


def main() -> int:
    """Walk as asked; returns 1 where something did not hold."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds from --seed on")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--plate", default=None)
    args = parser.parse_args()
    port, log = free_port(), Path(tempfile.mkdtemp()) / "log.txt"
    server, failed = serve(ROOT / "app.py", port, log), 0
    try:
        with launched() as browser:
            for seed in range(args.seed, args.seed + args.seeds):
                start = time.monotonic()
                try:
                    with opened_context(browser) as context:
                        page, address = context.new_page(), f"http://localhost:{port}/app"
                        walk(page, address, seed, args.steps, log, args.plate)
                    print(f"seed {seed}: {args.steps} steps in {time.monotonic() - start:.0f} s", flush=True)
                except AssertionError as error:
                    failed = 1
                    print(error, flush=True)
    finally:
        server.terminate()
        server.wait(20)
    return failed


if __name__ == "__main__":
    sys.exit(main())
