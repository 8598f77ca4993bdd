"""From slider release to the compiler's verdict, and another reader's slider meanwhile: prints, never fails.

    python -m tests.browser.bench_compile_page [--moves 8]

Three numbers: a tile of the shipped table, a tile that has to be compiled (a head size that the table lacks), and
the readout of a second reader on another plate, moved while the first one's kernel compiles. Times are the browser's
own: from the key press to the changed element in its DOM.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.browser.conftest import FLAGS, ROOT, free_port, serve
from workshop.kernels.compile_table import stale

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

_VERDICT = """(before) => {
  const find = (root) => {
    for (const e of root.querySelectorAll("*")) {
      if (e.classList && e.classList.contains("verdict") && e.closest(".compiled")) return e
      const inner = e.shadowRoot && find(e.shadowRoot)
      if (inner) return inner
    }
  }
  window.__said = () => { const e = find(document); return e ? e.textContent : "" }
  window.__answer = (before) => new Promise((done) => {
    const start = performance.now()
    const look = () => {
      const now = window.__said()
      if (now && now !== before) done(performance.now() - start)
      else if (performance.now() - start > 60000) done(NaN)
      else setTimeout(look, 5)
    }
    look()
  })
}"""


def _line(name: str, times: list[float]) -> None:
    lost = sum(t != t for t in times)
    times = sorted(t for t in times if t == t) or [float("nan")]
    p80 = times[min(len(times) - 1, int(len(times) * 0.8))]
    print(
        f"{name:<44}{statistics.median(times):>9.0f} ms{p80:>9.0f} ms{times[-1]:>9.0f} ms{len(times):>6}"
        + (f", {lost} without an answer" if lost else "")
    )


def main() -> None:
    """Print a line a case: median, p80 and most."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=8)
    args = parser.parse_args()
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    folder = Path(tempfile.mkdtemp())
    port = free_port()
    # a cache of its own, so that what is compiled is really compiled
    server = serve(ROOT / "app.py", port, folder / "app.txt", XDG_CACHE_HOME=str(folder / "cache"))
    url = f"http://localhost:{port}/app"
    print("the shipped table:", *(stale() or ["complete and current"]))
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
            size = {"width": 1400, "height": 1000}
            reader, other = (browser.new_context(viewport=size).new_page() for _ in range(2))
            reader.goto(f"{url}?plate=tiles&Br=64&Bc=64&d=128")
            other.goto(f"{url}?plate=traffic")
            for page in (reader, other):
                page.wait_for_selector("[data-readout]")
                page.evaluate(_WATCH)
            reader.evaluate(_VERDICT)
            reader.wait_for_selector('[data-readout="compile-shared"]', timeout=90_000)
            print(f"{'from release to':<44}{'median':>12}{'p80':>12}{'most':>12}{'n':>6}")
            quick = []
            for k in range(args.moves):  # 64, 96 (compiled as 128), 64, ...: lines of the table
                waiting = _verdict(reader, "Bc, rows of K, V", "ArrowLeft" if k % 2 else "ArrowRight")
                quick.append(waiting.evaluate("(w) => w.done"))
                reader.wait_for_timeout(300)
            _line("verdict, tile of the table", quick)
            slow, moved = [], []
            for k in range(args.moves):
                # 40 and 80, 96 and 160 ...: head sizes that the table lacks
                reader.goto(
                    f"{url}?plate=tiles&Br=64&Bc=64&d={(32, 80, 40, 96, 160, 192)[k % 6]}&causal={k // 6}"
                )
                reader.wait_for_selector('[data-readout="compile-shared"]', timeout=90_000)
                reader.evaluate(_VERDICT)
                waiting = _verdict(reader, "Bc, rows of K, V", "ArrowRight")
                for move in range(4):
                    moved.append(_slide(other, "ArrowRight" if move % 2 else "ArrowLeft"))
                slow.append(waiting.evaluate("(w) => w.done"))
                reader.wait_for_timeout(300)
            _line("verdict, tile to compile", slow)
            _line("another reader's readout meanwhile", moved)
            browser.close()
    finally:
        server.terminate()


def _press(page, slider: str, key: str, watch: str, now: str):
    """Press a key on a slider; returns a handle whose ``done`` is the time until ``now()`` differs."""
    page.get_by_role("slider", name=slider).first.focus()
    before = page.evaluate(f"window.{now}()")
    waiting = page.evaluate_handle(f"(before) => ({{ done: window.{watch}(before) }})", before)
    page.keyboard.press(key)
    return waiting


def _verdict(page, slider: str, key: str):
    return _press(page, slider, key, "__answer", "__said")


def _slide(page, key: str) -> float:
    took = _press(page, "N, tokens", key, "__move", "__text").evaluate("(w) => w.done")
    page.wait_for_timeout(120)
    return took


if __name__ == "__main__":
    main()
