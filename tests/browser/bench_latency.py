"""From a slider move to the changed readout, beside the smallest Panel page, in one run: prints, never fails.

    python -m tests.browser.bench_latency [--moves 40] [slug ...]

The time starts at the key press in the browser and ends when the browser has the changed readout in its DOM
(a MutationObserver's timestamp, so polling adds nothing). Also printed: the time from navigation to the first readout.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

from plates.registry import PLATES
from tests.browser.conftest import FLAGS, ROOT, free_port, serve

# Finds an element through shadow roots, presses nothing itself: it notes when the readouts' text last changed.
_WATCH = """() => {
  const all = (root, out = []) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.hasAttribute("data-readout")) out.push(e)
      if (e.shadowRoot) all(e.shadowRoot, out)
    }
    return out
  }
  window.__text = () => all(document).map((e) => e.dataset.readout + e.dataset.value).join()
  window.__move = (before) => new Promise((done) => {
    const start = performance.now()
    const look = () => {
      if (window.__text() !== before) done(performance.now() - start)
      else if (performance.now() - start > 5000) done(NaN)
      else setTimeout(look, 1)
    }
    look()
  })
}"""


def _moves(page, slider: str, moves: int) -> list[float]:
    page.evaluate(_WATCH)
    page.get_by_role("slider", name=slider).first.focus()
    times = []
    for i in range(moves):
        before = page.evaluate("window.__text()")
        waiting = page.evaluate_handle("(before) => ({ done: window.__move(before) })", before)
        page.keyboard.press("ArrowRight" if (i // 4) % 2 == 0 else "ArrowLeft")
        times.append(waiting.evaluate("(w) => w.done"))
        page.wait_for_timeout(150)
    return times


def main() -> None:
    """Print a line a page: first readout, median and p80 of the moves, and the ratio to the smallest page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slugs", nargs="*", default=[plate.slug for plate in PLATES])
    parser.add_argument("--moves", type=int, default=40)
    args = parser.parse_args()
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    log = Path(tempfile.mkdtemp())
    ports = free_port(), free_port()
    servers = [
        serve(ROOT / "tests" / "browser" / "smallest.py", ports[0], log / "smallest.txt"),
        serve(ROOT / "app.py", ports[1], log / "app.txt"),
    ]
    pages = [("smallest page", f"http://localhost:{ports[0]}/smallest", "n")]
    pages += [(slug, f"http://localhost:{ports[1]}/app?plate={slug}", None) for slug in args.slugs]
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            base = None
            print(f"{'page':<16}{'first readout':>16}{'median':>10}{'p80':>10}{'ratio':>8}")
            for name, url, slider in pages:
                page = browser.new_page(viewport={"width": 1400, "height": 1000})
                start = time.monotonic()
                page.goto(url)
                page.wait_for_selector("[data-readout]")
                first = time.monotonic() - start
                page.wait_for_timeout(1500)
                if slider is None:
                    names = [
                        s.get_attribute("aria-label")
                        for s in page.get_by_role("slider").all()
                        if s.is_visible()
                    ]
                    slider = next((n for n in ("N, tokens", "Br, rows of Q") if n in names), None)
                if slider is None:
                    print(f"{name:<16}{first:>14.2f} s   no shared slider on this plate")
                else:
                    times = sorted(_moves(page, slider, args.moves))
                    median, p80 = statistics.median(times), times[int(len(times) * 0.8)]
                    base = base or median
                    print(f"{name:<16}{first:>14.2f} s{median:>7.0f} ms{p80:>7.0f} ms{median / base:>7.2f}x")
                page.close()
            browser.close()
    finally:
        for server in servers:
            server.terminate()


if __name__ == "__main__":
    main()
