"""The page in Chinese: formulas as they are read, the switch of language, links. Every plate: `test_every_plate`."""

from __future__ import annotations

import re

from playwright.sync_api import expect

CJK = re.compile(r"[\u3400-\u9fff]")

WORDS = re.compile(r"[A-Za-z]{4,}")


def test_formulas_are_read_in_chinese(watched):
    page = watched.open("?plate=traffic&lang=zh")
    read = page.locator("math[aria-label]").first.get_attribute("aria-label")
    assert "等于" in read and not WORDS.search(read)
    words = page.locator("math mtext").all_text_contents()
    assert "标准" in words and any("个元素" in one for one in words)


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
