"""How long a reader waits for an answer while a class opens the link: prints, never fails.

    python -m tests.browser.bench_burst [--readers 8] [slug ...]

For each plate: what one page costs the server, how long a reader of another page waits for a number that follows a key,
and the longest such wait while so many pages are asked for at once; in seconds and in pages.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from playwright.sync_api import Page

from tests.browser.conftest import launched
from tests.served import ROOT, free_port, serve

COUNTED = ("--plugins", "tests.browser.counting")
_VALUE = """async (before) => {
  const deep = (root) => {
    const found = root.querySelector("[data-readout=traffic-standard]")
    if (found) return found
    for (const e of root.querySelectorAll("*")) {
      const inner = e.shadowRoot && deep(e.shadowRoot)
      if (inner) return inner
    }
  }
  for (;;) {
    const value = deep(document).dataset.value
    if (value !== before) return value
    await new Promise(requestAnimationFrame)
  }
}"""


def _get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=300) as answer:
        return answer.read()


class Reader:
    """Somebody who is there already, and moves a slider to and fro."""

    def __init__(self, page: Page, address: str) -> None:
        self._page, self._key = page, "ArrowRight"
        page.goto(f"{address}?plate=traffic")
        page.get_by_role("slider", name="N, tokens").focus()
        self._value = page.evaluate(_VALUE, "")
        page.wait_for_timeout(3000)

    def wait(self) -> float:
        """Move the slider one stop; return after how many seconds the number had followed."""
        start = time.perf_counter()
        self._page.keyboard.press(self._key)
        self._value = self._page.evaluate(_VALUE, self._value)
        self._key = "ArrowLeft" if self._key == "ArrowRight" else "ArrowRight"
        return time.perf_counter() - start


def main() -> None:
    """Print a line a plate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slugs", nargs="*", default=["wall", "softmax"])
    parser.add_argument("--readers", type=int, default=8)
    args = parser.parse_args()
    port = free_port()
    address = f"http://localhost:{port}/app"
    server = serve(ROOT / "app.py", port, Path(tempfile.mkdtemp()) / "log.txt", COUNTED)

    def cpu() -> float:
        return json.loads(_get(f"http://localhost:{port}/held?cpu"))["cpu"]

    try:
        with launched() as browser, ThreadPoolExecutor(args.readers) as threads:
            reader = Reader(browser.new_page(), address)
            print(
                f"{'plate':<12}{'page, CPU s':>12}{'page, s':>10}{'quiet, s':>10}{'burst, s':>10}{'pages':>8}"
            )
            for slug in args.slugs:
                url = f"{address}?plate={slug}"
                _get(url)  # the first fills the caches
                before, start = cpu(), time.perf_counter()
                _get(url)
                page, spent = time.perf_counter() - start, cpu() - before
                quiet = max(reader.wait() for _ in range(10))
                asked = [threads.submit(_get, url) for _ in range(args.readers)]
                waits = []
                while not all(one.done() for one in asked):
                    waits.append(reader.wait())
                row = f"{slug:<12}{spent:>12.2f}{page:>10.2f}{quiet:>10.2f}{max(waits):>10.2f}"
                print(f"{row}{max(waits) / page:>8.1f}", flush=True)
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main()
