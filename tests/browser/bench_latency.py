"""From a slider move to the changed readout, beside the smallest Panel page, in one run: prints, never fails.

    python -m tests.browser.bench_latency [--moves 40] [slug ...]

The time starts at the key press in the browser and ends when the browser has the changed readout in its DOM
(a MutationObserver's timestamp, so polling adds nothing). Also printed: the time from navigation to the first readout.
Each page is moved with the first of its sliders that changes a readout; the line names it where it is an unusual one.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from plates.registry import PLATES
from tests.browser.conftest import launched
from tests.served import ROOT, free_port, serve

# Listens to the shadow roots that hold the readouts and to nothing else: asking the whole page again and again would
# keep a large page busier than a small one, and be measured with it.
WATCH = """() => {
  const all = (root, out = []) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.hasAttribute("data-readout")) out.push(e)
      if (e.shadowRoot) all(e.shadowRoot, out)
    }
    return out
  }
  const roots = [...new Set(all(document).map((e) => e.getRootNode()))]
  const read = () => roots.flatMap((r) => [...r.querySelectorAll("[data-readout]")])
    .map((e) => e.dataset.readout + e.dataset.value).join()
  window.__move = () => new Promise((done) => {
    let before = read()
    let start = null
    const end = (took) => { observer.disconnect(); clearTimeout(timer); done(took) }
    const observer = new MutationObserver(() => {
      if (start === null) before = read()  // a late answer to the move before
      else if (read() !== before) end(performance.now() - start)
    })
    const timer = setTimeout(() => end(null), 5000)
    window.addEventListener("keydown", () => { start = performance.now() }, { capture: true, once: true })
    for (const root of roots)
      observer.observe(root, { subtree: true, childList: true, characterData: true, attributes: true })
  })
}"""
_FIRST_TRIED = ("N, tokens", "Br, rows of Q")


def move(page, key: str) -> float | None:
    """Press ``key``; return ms until a readout changed, None if none did within 5 s."""
    waiting = page.evaluate_handle("() => ({ done: window.__move() })")
    page.keyboard.press(key)
    return waiting.evaluate("(w) => w.done")


def _moves(page, slider: str, moves: int) -> list[float]:
    """Times of the moves that changed a readout, in ms."""
    page.evaluate(WATCH)
    page.get_by_role("slider", name=slider).first.focus()
    times = []
    for i in range(moves):
        times.append(move(page, "ArrowRight" if (i // 4) % 2 == 0 else "ArrowLeft"))
        page.wait_for_timeout(150)
    return [one for one in times if one is not None]


def _choose(page) -> str | None:
    """The first slider on the page that moves a readout, those that most plates share before others."""
    page.evaluate(WATCH)
    there = [s for s in page.get_by_role("slider").all() if s.is_visible()]
    names = list(dict.fromkeys(filter(None, (s.get_attribute("aria-label") for s in there))))
    for name in sorted(names, key=lambda n: n not in _FIRST_TRIED):
        page.get_by_role("slider", name=name).first.focus()
        moved = move(page, "ArrowRight")
        move(page, "ArrowLeft")
        if moved is not None:
            return name
    return None


def main() -> None:
    """Print a line a page: first readout, median and p80 of the moves, and the ratio to the smallest page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slugs", nargs="*", default=[plate.slug for plate in PLATES])
    parser.add_argument("--moves", type=int, default=40)
    args = parser.parse_args()
    log = Path(tempfile.mkdtemp())
    ports = free_port(), free_port()
    servers = [
        serve(ROOT / "tests" / "browser" / "smallest.py", ports[0], log / "smallest.txt"),
        serve(ROOT / "app.py", ports[1], log / "app.txt"),
    ]
    pages = [("smallest page", f"http://localhost:{ports[0]}/smallest", "n")]
    pages += [(slug, f"http://localhost:{ports[1]}/app?plate={slug}", None) for slug in args.slugs]
    try:
        with launched() as browser:
            base = None
            print(f"{'page':<16}{'first readout':>16}{'median':>10}{'p80':>10}{'ratio':>8}")
            for name, url, slider in pages:
                page = browser.new_page(viewport={"width": 1400, "height": 1000})
                start = time.monotonic()
                page.goto(url)
                page.wait_for_selector("[data-readout]")
                first = time.monotonic() - start
                page.wait_for_timeout(1500)
                slider = slider or _choose(page)
                if slider is None:
                    print(f"{name:<16}{first:>14.2f} s   no slider of this plate moves a readout")
                else:
                    times = sorted(_moves(page, slider, args.moves))
                    median, p80 = statistics.median(times), times[int(len(times) * 0.8)]
                    base = base or median
                    still = args.moves - len(times)
                    moved = "" if slider in ("n", *_FIRST_TRIED) else f"   {slider}"
                    moved += f"   {still} of {args.moves} moves changed no readout" if still else ""
                    print(
                        f"{name:<16}{first:>14.2f} s{median:>7.0f} ms{p80:>7.0f} ms{median / base:>7.2f}x{moved}"
                    )
                page.close()
    finally:
        for server in servers:
            server.terminate()


if __name__ == "__main__":
    main()
