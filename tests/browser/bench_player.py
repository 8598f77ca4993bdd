"""How fast the step-through plays: steps a second asked for and shown, and the worst gap between two steps.

Run by hand: ``python -m tests.browser.bench_player``. Not a test: a busy machine is not a fault.
"""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

from tests.browser.conftest import launched
from tests.browser.test_softmax import WATCH
from tests.served import ROOT, free_port, serve

CASES = (
    "sN=32&sBr=8&sBc=8",
    "sN=64&sBr=4&sBc=4&sd=64",
    "sN=64&sBr=16&sBc=16&sd=64",
    "sN=64&sBr=64&sBc=4&sd=64",
)
TIMED = WATCH.replace("window.seen = [", "window.times = []; window.seen = [").replace(
    "window.seen.push(now)", "window.times.push(performance.now()), window.seen.push(now)"
)


def main() -> None:
    """Print one line a case."""
    port = free_port()
    server = serve(ROOT / "app.py", port, Path(tempfile.mkdtemp()) / "log.txt")
    try:
        with launched() as browser:
            for case in CASES:
                page = browser.new_page(viewport={"width": 1400, "height": 1000})
                page.goto(f"http://localhost:{port}/app?plate=softmax&step=0&{case}")
                page.wait_for_selector("[data-readout=step]")
                page.wait_for_timeout(800)
                for speed in ("20", "40"):
                    page.get_by_role("button", name="First step").click(force=True) if speed == "40" else None
                    page.get_by_role("combobox", name="Speed").select_option(speed)
                    page.evaluate(TIMED)
                    page.get_by_role("button", name="Play").click()
                    page.wait_for_timeout(2500)
                    times = page.evaluate("window.times")
                    if page.get_by_role("button", name="Pause").count():
                        page.get_by_role("button", name="Pause").click()
                    gaps = [b - a for a, b in itertools.pairwise(times)]
                    rate = 1000 * len(gaps) / (times[-1] - times[0])
                    print(f"{case:28} asked {speed:>2}/s  shown {rate:5.1f}/s  worst gap {max(gaps):5.0f} ms")
                page.close()
    finally:
        server.terminate()
        server.wait(20)


if __name__ == "__main__":
    main()
