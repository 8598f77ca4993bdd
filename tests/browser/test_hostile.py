"""Links that somebody broke, or wrote to break the page: it loads, works, says what it left out, and runs nothing."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from plates.registry import PLATES
from plates.settings import CUSTOM_GPU, SHARED
from tests.browser.conftest import FOLLOW, query, wait_query
from tests.browser.test_page import bytes_of

SCRIPT = "<img src=x onerror=alert(1)>"


@pytest.mark.parametrize(
    "link",
    [
        "?%ff%fe=%zz&N=%&%=%%%&d=64",
        "?foo=" + "y" * 10_000 + "&d=64",
        "?d=64&" + "a=1&" * 400,
        "?d=64&N=" + "9" * 9_000,
        "?d=64&N={0}&dtype={x.y}&causal=[1",
        "?N=²&d=64",
        "?d=64&Br=128?Bc=64#a#b",
        "?plate=nowhere&d=64&step=-5&step=1e99",
    ],
)
def test_a_broken_link_opens_a_page_that_works(watched, link):
    page = watched.open(link)
    wait_query(page, d="64")
    page.locator("nav a[href='?plate=traffic']").first.click()
    wait_query(page, plate="traffic")
    watched.wait_value("traffic-standard", bytes_of("standard", N=int(query(page)["N"]), d=64))


def test_no_key_carries_a_script(watched):
    asked = []
    watched.page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    page = watched.page
    for number, plate in enumerate(PLATES):
        keys = [*SHARED, *CUSTOM_GPU, "step", "theme", *plate.local_keys]
        link = f"?plate={plate.slug}&" + "&".join(f"{key}={quote(SCRIPT)}" for key in keys)
        if number == 0:  # a link from elsewhere
            watched.open(link + f"&lang={quote(SCRIPT)}")
        else:  # and one on the page
            page.evaluate(FOLLOW, link)
            wait_query(page, plate=plate.slug)
        expect(page.locator("nav a[aria-current=page]")).to_have_attribute("href", f"?plate={plate.slug}")
        expect(page.get_by_role("status").filter(has_text="<img src=x").first).to_be_visible()
        page.wait_for_timeout(600)
        assert page.locator("img[src=x]").count() == 0, plate.slug
        assert not asked, plate.slug
