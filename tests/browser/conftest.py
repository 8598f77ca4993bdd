"""A real server and a real Chromium for the browser tests; the page must stay silent and stay at home."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.served import ROOT, free_port, serve

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

DESKTOP = {"width": 1400, "height": 1000}

# Seconds that anything may take: for a loaded machine, as nothing here judges speed.
PATIENCE = 60.0
expect.set_options(timeout=PATIENCE * 1000)


@contextmanager
def launched() -> Iterator[Browser]:
    """A headless Chromium; a machine without one fails, it does not skip."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
    assert path, "no Chromium: install it or set CHROMIUM to its path (tests/run.sh does)"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def opened_context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser as if just installed: its own cache and history, and a desktop's window."""
    context = browser.new_context(viewport=DESKTOP, locale="en-GB")
    context.set_default_timeout(PATIENCE * 1000)
    yield context
    context.close()


@pytest.fixture(scope="session")
def server_log(tmp_path_factory) -> Path:
    """Where the server writes."""
    return tmp_path_factory.mktemp("server") / "log.txt"


@pytest.fixture(scope="session")
def server(server_log) -> str:
    """The address of the served app."""
    port = free_port()
    process = serve(ROOT / "app.py", port, server_log)
    yield f"http://localhost:{port}/app"
    process.terminate()
    process.wait(20)


@pytest.fixture(scope="module")
def chromium() -> Browser:
    """A browser that lasts a file, not a session: while Playwright runs, an event loop runs, and no other test could
    start its own."""
    with launched() as browser:
        yield browser


FOLLOW = """(query) => {
  const link = document.body.appendChild(document.createElement("a"))
  link.href = query
  link.click()
  link.remove()
}"""


def query(page: Page) -> dict[str, str]:
    """Return the query of the address bar."""
    return _query_of(page.url)


def _query_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))


def wait_query(page: Page, **expected: str) -> None:
    """Wait until the address bar carries ``expected``."""
    page.wait_for_url(lambda url: expected.items() <= _query_of(url).items())


class Watched:
    """A page whose console and requests are listened to."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.said: list[str] = []
        self.outside: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.said.append(f"pageerror: {error}"))
        page.on("request", self._on_request)

    def _on_console(self, message) -> None:
        if message.type in ("error", "warning"):
            self.said.append(f"{message.type}: {message.text}")

    def _on_request(self, request) -> None:
        home = self.address.rsplit("/", 1)[0]
        if not request.url.startswith((home, home.replace("http", "ws"), "data:", "blob:")):
            self.outside.append(request.url)

    def open(self, query: str = "") -> Page:
        """Open the app with ``query`` and wait until all of the page is there."""
        self.page.goto(self.address + query)
        self.page.wait_for_selector("[data-readout]")
        self.page.wait_for_selector(".plate")
        self.whole()
        return self.page

    def whole(self) -> None:
        """Wait until all of the plate is there."""
        expect(self.page.locator(".growing")).to_have_count(0)

    def follow(self, query: str) -> Page:
        """Follow a link of the page to other settings, without loading it anew, and wait until it has arrived."""
        self.page.evaluate(FOLLOW, query)
        expected = dict(parse_qsl(query.removeprefix("?")))
        # a value that is the default may be left out of the address
        self.page.wait_for_url(lambda url: expected.items() <= (expected | _query_of(url)).items())
        if "plate" in expected:
            self.page.wait_for_selector(f".plate-{expected['plate']}")
        self.whole()
        self.page.wait_for_timeout(300)
        return self.page

    def silent(self) -> None:
        """The console has said nothing, and no request has left the server."""
        assert not self.outside, f"requests left the server: {self.outside}"
        assert not self.said, f"the console is not quiet: {self.said}"

    def value(self, name: str) -> str:
        """Return the raw value of the readout ``name``."""
        return self.page.locator(f'[data-readout="{name}"]').first.get_attribute("data-value")

    def values(self) -> dict[str, str]:
        """Return the raw values of all readouts by name."""
        found = self.page.locator("[data-readout]").all()
        return {r.get_attribute("data-readout"): r.get_attribute("data-value") for r in found}

    def wait_value(self, name: str, expected: float, rel: float = 1e-9) -> None:
        """Wait until the readout ``name`` has the value ``expected``."""
        end = time.monotonic() + PATIENCE
        while True:
            found = float(self.value(name))
            if abs(found - expected) <= rel * abs(expected):
                return
            assert time.monotonic() < end, f"{name}: expected {expected}, got {found} after {PATIENCE:.0f} s"
            self.page.wait_for_timeout(20)


@pytest.fixture
def watched(server, chromium) -> Iterator[Watched]:
    """A fresh page that must end with a silent console and no request to anywhere but the server."""
    with opened_context(chromium) as context:
        found = Watched(context.new_page(), server)
        yield found
    found.silent()


def pytest_collection_modifyitems(items) -> None:
    """Mark everything here as a browser test."""
    for item in items:
        if Path(__file__).parent in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)
