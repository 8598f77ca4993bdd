"""On a machine without torch and triton the page is served, every plate works, and what is missing is said."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from plates.registry import PLATES
from tests.browser.conftest import Watched, opened_context
from tests.served import ROOT, free_port, serve

# What such a machine's import system does: it finds nothing.
BLOCK = """
import importlib.machinery as machinery

find = machinery.PathFinder.find_spec


def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] in ("torch", "triton") else find(name, path, target)


machinery.PathFinder.find_spec = staticmethod(find_spec)
"""


@pytest.fixture(scope="module")
def bare_server(tmp_path_factory):
    """The address of an app whose Python has neither torch nor triton, and its log."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "sitecustomize.py").write_text(BLOCK)
    port = free_port()
    log = folder / "log.txt"
    process = serve(ROOT / "app.py", port, log, PYTHONPATH=f"{folder}:{ROOT}")
    yield f"http://localhost:{port}/app", log
    process.kill()
    process.wait(20)


def test_every_plate_works_and_says_what_is_missing(bare_server, chromium):
    address, log = bare_server
    with opened_context(chromium) as context:
        walk_through(Watched(context.new_page(), address))
    assert "Traceback" not in log.read_text(), log.read_text()[-3000:]


def walk_through(found: Watched) -> None:
    """Go through all plates in one page."""
    page = found.open()
    for plate in PLATES:
        found.follow(f"?plate={plate.slug}")
        expect(page.locator("nav a[aria-current=page]")).to_have_attribute("href", f"?plate={plate.slug}")
        expect(page.locator("[data-readout]").first).to_be_attached()
        if plate.slug in ("machine", "softmax"):
            expect(page.get_by_text("PyTorch is not installed on this server").first).to_be_attached()
        found.silent()
