"""A server that goes away is told to the reader; a page kept from an earlier session comes back to life."""

from __future__ import annotations

import time

import pytest
from playwright.sync_api import expect

from plates import text
from tests.served import ROOT, free_port, serve

#: Seconds that a session token lives in the test of an old one. A page must manage to connect in less.
TOKEN = 5


@pytest.fixture
def own_server(tmp_path, request):
    """A server that this test may stop, with the options that it asks for."""
    port = free_port()
    process = serve(ROOT / "app.py", port, tmp_path / "log.txt", options=getattr(request, "param", []))
    yield f"http://localhost:{port}/app", process
    process.kill()
    process.wait(20)


def test_a_lost_connection_is_told(own_server, chromium):
    address, process = own_server
    page = chromium.new_page()
    page.goto(address)
    page.wait_for_selector("[data-readout]", timeout=30_000)
    process.kill()
    expect(page.get_by_text(text.sections("page")["lost"])).to_be_visible(timeout=20_000)
    page.close()


@pytest.mark.parametrize("own_server", [["--session-token-expiration", str(TOKEN)]], indirect=True)
def test_a_page_restored_after_its_token_expired_is_not_blank(own_server, chromium):
    address, _ = own_server
    page = chromium.new_page()
    kept = page.request.get(address).text()
    time.sleep(TOKEN + 2)  # the token inside is now too old
    served = []

    def restore(route):
        if served:
            route.continue_()
        else:
            served.append(route.request.url)
            route.fulfill(body=kept, content_type="text/html")

    page.route("**/app", restore)
    page.goto(address)
    page.wait_for_selector("[data-readout]", timeout=30_000)
    assert served, "the kept page was never shown"
    page.close()
