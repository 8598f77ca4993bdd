"""The page in Chinese, as a reader meets it: every plate, a silent console, a phone's width, the switch of language."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from plates import text
from plates.registry import PLATES

CJK = re.compile(r"[\u3400-\u9fff]")


FIRST = "addEventListener('DOMContentLoaded', () => (window.first = document.documentElement.lang))"


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_every_plate_opens_in_chinese_and_fits_a_phone(watched, plate):
    page = watched.page
    page.set_viewport_size({"width": 390, "height": 844})
    page.add_init_script(
        "document.addEventListener('DOMContentLoaded', () => window.first = document.documentElement.lang)"
    )
    watched.open(f"?plate={plate.slug}&lang=zh")
    assert page.evaluate("window.first") == "zh-Hans", "the language before anything was drawn"
    assert page.evaluate("document.documentElement.lang") == "zh-Hans"
    expect(page.locator("h1").first).to_have_text(CJK)
    expect(page.locator(".scope").first).to_have_text(text.sections(plate.slug, "zh")["scope"])
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    inner = page.locator(".main-content").evaluate("m => m.scrollWidth - m.clientWidth")
    assert (wide, inner) == (0, 0), "the page scrolls sideways"


def test_the_switch_keeps_the_view_and_leads_back(watched):
    page = watched.open("?plate=tiles&N=4096&Br=64&theme=dark")
    page.get_by_role("link", name="中文").click()
    page.wait_for_url(re.compile("lang=zh"))
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    for part in ("plate=tiles", "N=4096", "Br=64", "theme=dark"):
        assert part in page.url
    page.get_by_role("link", name="English").click()
    page.wait_for_url(lambda url: "lang=zh" not in url)
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.locator("h1").first).not_to_have_text(CJK)
    assert "N=4096" in page.url and "theme=dark" in page.url


def test_a_link_of_the_page_stays_in_its_language(watched):
    page = watched.open("?plate=traffic&lang=zh")
    page.locator(".prose-try a").first.click()
    page.wait_for_url(re.compile("d=64"))
    assert "lang=zh" in page.url
    expect(page.locator("h1").first).to_have_text(CJK)
