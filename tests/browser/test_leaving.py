"""A tab closed in the middle of something: its session goes, its work stops, and the server rests."""

from __future__ import annotations

import json
import time
import urllib.request

import pytest
from playwright.sync_api import expect

from tests.browser.bench_sessions import COUNTED, ask
from tests.browser.conftest import PATIENCE, opened_context
from tests.browser.server_log import tracebacks
from tests.served import ROOT, free_port, serve

RESTS = 0.2  # CPU seconds in two seconds: a tenth of what a callback that never stops would take


@pytest.fixture(scope="module")
def counted(tmp_path_factory):
    """The port of a server that tells what it holds, with an empty cache of compiled kernels."""
    folder = tmp_path_factory.mktemp("counted")
    port = free_port()
    process = serve(ROOT / "app.py", port, folder / "log.txt", COUNTED, XDG_CACHE_HOME=str(folder / "cache"))
    yield port
    process.terminate()
    process.wait(20)
    assert not tracebacks((folder / "log.txt").read_text())


def cpu(port: int) -> float:
    """Return the CPU seconds of the server and its children."""
    with urllib.request.urlopen(f"http://localhost:{port}/held?cpu", timeout=60) as answer:
        return json.load(answer)["cpu"]


def play(page) -> None:
    """Press the plate's Play."""
    page.get_by_role("button", name="Play").first.click()
    expect(page.get_by_role("button", name="Pause").first).to_be_visible()
    page.wait_for_timeout(600)


def run(page) -> None:
    """Run on the CPU and leave while the run is under way."""
    page.get_by_role("button", name="Run").click()
    page.wait_for_selector(".state-running")


def compile_(page) -> None:
    """Ask for a tile that no table has, and leave while it is compiled."""
    page.wait_for_selector(".compiled .spin, .compiled .verdict")


def drag(page) -> None:
    """Hold an arrow key."""
    page.get_by_role("slider", name="N, tokens").focus()
    for _ in range(15):
        page.keyboard.down("ArrowRight")


@pytest.mark.parametrize(
    ("query", "act"),
    [
        ("?plate=softmax&sN=64&sBr=4&sBc=4&step=0", play),
        ("?plate=memory&step=0", play),
        ("?plate=wall&step=0", play),
        ("?plate=traffic&N=32", drag),
        ("?plate=sparsity&N=32", drag),
        ("?plate=machine", run),
        ("?plate=tiles&d=40&Br=48&Bc=80", compile_),
    ],
    ids=lambda value: value.split("&")[0].partition("=")[2] if isinstance(value, str) else value.__name__,
)
def test_what_a_reader_started_ends_with_the_tab(counted, chromium, query, act):
    with opened_context(chromium) as context:
        page = context.new_page()
        page.goto(f"http://localhost:{counted}/app{query}")
        page.wait_for_selector("[data-readout]")
        page.wait_for_timeout(500)
        act(page)
    end = time.monotonic() + PATIENCE
    while (found := ask(counted))["pages"] or found["sessions"]:
        assert time.monotonic() < end, f"{PATIENCE:.0f} s after the tab was closed the server holds {found}"
        time.sleep(0.3)
    while True:
        before = cpu(counted)
        time.sleep(2)
        spent = cpu(counted) - before
        if spent < RESTS:
            break
        assert time.monotonic() < end, f"nobody is there, and two seconds took {spent:.2f} s of CPU"
    after = ask(counted)
    assert after["pages"] == after["sessions"] == after["plates"] == 0, after
