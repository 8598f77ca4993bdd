"""A server that goes away is told to the reader; a page kept from an earlier session comes back to life."""

from __future__ import annotations

import re

import pytest
from bokeh.util.token import generate_jwt_token, get_session_id
from playwright.sync_api import expect

from plates import text
from tests.browser.conftest import opened_context
from tests.served import ROOT, free_port, serve


@pytest.fixture
def own_server(tmp_path):
    """A server that this test may stop."""
    port = free_port()
    process = serve(ROOT / "app.py", port, tmp_path / "log.txt")
    yield f"http://localhost:{port}/app", process
    process.kill()
    process.wait(20)


def test_a_lost_connection_is_told(own_server, chromium):
    address, process = own_server
    with opened_context(chromium) as context:
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("[data-readout]")
        process.kill()
        expect(page.get_by_text(text.sections("page")["lost"])).to_be_visible()


def test_a_page_restored_after_its_token_expired_is_not_blank(watched, server_log):
    page = watched.page
    page.context.grant_permissions(["local-network-access"])  # a page that a test hands out is from nowhere
    fresh = page.request.get(watched.address).text()
    token = re.search(r'"token":"([^"]+)"', fresh)[1]
    kept = fresh.replace(token, generate_jwt_token(get_session_id(token), expiration=-60))
    assert kept != fresh
    served = []

    def restore(route):
        if served:
            route.continue_()
        else:
            served.append(route.request.url)
            route.fulfill(body=kept, content_type="text/html")

    page.route("**/app", restore)
    page.goto(watched.address)
    page.wait_for_selector("[data-readout]")
    assert served, "the kept page was never shown"
    assert "oken is expired" in server_log.read_text()
    watched.said.clear()  # that the connection was refused
