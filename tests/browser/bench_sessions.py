"""What readers who come and go leave behind in the server: prints, never fails.

    python -m tests.browser.bench_sessions [--sessions 30] [--every 10] [slug ...]

Each reader opens a plate in a tab of its own, moves its first slider, goes to the next plate and closes the tab. After
every ten, once their sessions have expired, one line: bytes resident, objects, and how many pages, documents, sessions,
threads and child processes there are. A server that keeps nothing prints lines that stop growing; the first ten fill
the caches of the models.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import urllib.request
from pathlib import Path

from plates.registry import PLATES
from tests.browser.conftest import launched
from tests.served import ROOT, free_port, serve
from workshop import units

#: ``panel serve`` options: count on request; sessions end half a second after their tab.
COUNTED = [
    *("--plugins", "tests.browser.counting"),
    *("--unused-session-lifetime", "500", "--check-unused-sessions", "250"),
]
_COLUMNS = ("pages", "documents", "sessions", "threads", "children")


def ask(port: int) -> dict[str, float]:
    """Return what the server on ``port`` holds."""
    with urllib.request.urlopen(f"http://localhost:{port}/held", timeout=60) as answer:
        return json.load(answer)


def _line(readers: int, found: dict[str, float]) -> None:
    counts = "".join(f"{found[name]:>11}" for name in _COLUMNS)
    print(
        f"{readers:>7}{units.bytes_(found['rss']):>12}{units.count(found['objects']):>12}{counts}", flush=True
    )


def _visit(browser, port: int, slug: str, then: str) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.goto(f"http://localhost:{port}/app?plate={slug}")
    page.wait_for_selector("[data-readout]")
    sliders = [slider for slider in page.get_by_role("slider").all() if slider.is_visible()]
    if sliders:
        sliders[0].focus()
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(200)
    page.locator(f"nav a[href='?plate={then}']").first.click()
    page.locator(f"nav a[href='?plate={then}'][aria-current=page]").wait_for()
    page.wait_for_timeout(300)
    page.close()


def main() -> None:
    """Print a line before the first reader and after every few."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("slugs", nargs="*", default=[plate.slug for plate in PLATES])
    parser.add_argument("--sessions", type=int, default=30)
    parser.add_argument("--every", type=int, default=10)
    args = parser.parse_args()
    port = free_port()
    server = serve(ROOT / "app.py", port, Path(tempfile.mkdtemp()) / "log.txt", COUNTED)
    try:
        with launched() as browser:
            print(
                f"{'readers':>7}{'resident':>12}{'objects':>12}" + "".join(f"{name:>11}" for name in _COLUMNS)
            )
            time.sleep(1.5)
            _line(0, ask(port))
            for k in range(args.sessions):
                slug, then = args.slugs[k % len(args.slugs)], args.slugs[(k + 1) % len(args.slugs)]
                _visit(browser, port, slug, then)
                if (k + 1) % args.every == 0:
                    time.sleep(2.5)
                    _line(k + 1, ask(port))
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main()
