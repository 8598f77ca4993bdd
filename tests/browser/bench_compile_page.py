"""From slider release to the compiler's verdict, and another reader's slider meanwhile: prints, never fails.

    python -m tests.browser.bench_compile_page [--moves 8]

Three numbers: a tile of the shipped table, a tile that has to be compiled (a head size that the table lacks), and
the readout of a second reader on another plate, moved while the first one's kernel compiles. Times are the browser's
own: from the key press to the changed element in its DOM.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from tests.browser.bench_latency import WATCH, move
from tests.browser.conftest import launched
from tests.served import ROOT, free_port, serve
from workshop.kernels.compile_table import stale

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
      else if (performance.now() - start > 60000) done(null)
      else setTimeout(look, 5)
    }
    look()
  })
}"""


def _line(name: str, found: list[float | None]) -> None:
    times = sorted(t for t in found if t is not None)
    lost = len(found) - len(times)
    times = times or [float("nan")]
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
    folder = Path(tempfile.mkdtemp())
    port = free_port()
    # a cache of its own, so that what is compiled is really compiled
    server = serve(ROOT / "app.py", port, folder / "app.txt", XDG_CACHE_HOME=str(folder / "cache"))
    url = f"http://localhost:{port}/app"
    print("the shipped table:", *(stale() or ["complete and current"]))
    try:
        with launched() as browser:
            size = {"width": 1400, "height": 1000}
            reader, other = (browser.new_context(viewport=size).new_page() for _ in range(2))
            reader.goto(f"{url}?plate=tiles&Br=64&Bc=64&d=128")
            other.goto(f"{url}?plate=traffic")
            for page in (reader, other):
                page.wait_for_selector("[data-readout]")
            other.evaluate(WATCH)
            other.get_by_role("slider", name="N, tokens").first.focus()
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
                for turn in range(4):
                    moved.append(move(other, "ArrowRight" if turn % 2 else "ArrowLeft"))
                    other.wait_for_timeout(120)
                slow.append(waiting.evaluate("(w) => w.done"))
                reader.wait_for_timeout(300)
            _line("verdict, tile to compile", slow)
            _line("another reader's readout meanwhile", moved)
    finally:
        server.terminate()


def _verdict(page, slider: str, key: str):
    """Press a key on a slider; returns a handle whose ``done`` is the ms until another verdict is there, or null."""
    page.get_by_role("slider", name=slider).first.focus()
    before = page.evaluate("window.__said()")
    waiting = page.evaluate_handle("(before) => ({ done: window.__answer(before) })", before)
    page.keyboard.press(key)
    return waiting


if __name__ == "__main__":
    main()
