"""No sequence of clicks breaks the page: walks by chance, the same for a seed, over all plates. See `random_walk`."""

from __future__ import annotations

import pytest

from tests.browser import random_walk
from tests.browser.server_log import tracebacks


@pytest.mark.parametrize(("seed", "steps"), [(4, 30), (11, 20)])
def test_no_sequence_of_clicks_breaks_the_page(watched, server_log, seed, steps):
    print(f"seed {seed}")
    walk = random_walk.Walk(watched, seed, server_log)
    walk.start()
    for _ in range(steps):
        walk.step()
    assert len(walk.done) == steps + 1


def test_a_walk_is_the_same_for_a_seed():
    class Page:
        url = ""

    class Watched:
        page = Page()

    first, again, other = (
        random_walk.Walk(Watched(), seed, random_walk.ROOT / "app.py").chance.random() for seed in (3, 3, 4)
    )
    assert first == again != other


def test_a_traceback_is_found_and_a_write_to_a_closed_tab_is_none():
    start = "2026-01-01 INFO fine\nTraceback (most recent call last):\n  File 'x', line 1, in f\n    g()\n"
    (found,) = tracebacks(start + "ValueError: bad\n2026-01-01 INFO fine\n")
    assert found.endswith("g()\nValueError: bad")
    assert not tracebacks(start + "tornado.websocket.WebSocketClosedError\n")
    assert not tracebacks("INFO fine\n")
