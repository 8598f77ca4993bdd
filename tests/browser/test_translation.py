"""The page in Chinese, as a reader meets it: every plate, a silent console, a phone's width, the switch of language."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from plates import text
from plates.registry import PLATES
from tests.plates.english import stray

CJK = re.compile(r"[\u3400-\u9fff]")

# Every text of the page, shadow roots included: one for each element that has text of its own with what is inside
# it, and every label or tooltip. Code is left out; of a formula, its reading and its words are taken.
TEXTS = """() => {
  const found = new Set()
  const ATTRIBUTES = ["aria-label", "title", "alt", "placeholder", "aria-valuetext", "aria-description"]
  const children = (node) => [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]
  const inner = (node) => {
    if (node.nodeType === Node.TEXT_NODE) return node.textContent
    if (node.nodeType !== Node.ELEMENT_NODE || ["STYLE", "SCRIPT", "CODE", "math"].includes(node.nodeName)) return " "
    return children(node).map(inner).join("")
  }
  const walk = (node) => {
    if (node.nodeType !== Node.ELEMENT_NODE || ["STYLE", "SCRIPT", "CODE"].includes(node.nodeName)) return
    for (const name of ATTRIBUTES) if (node.getAttribute(name)) found.add(node.getAttribute(name))
    if (node.nodeName === "math") {
      for (const word of node.querySelectorAll("mtext, mi")) found.add(word.textContent)
      return
    }
    const own = children(node)
    if (own.some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim()))
      found.add(inner(node).replace(/\\s+/g, " ").trim())
    own.forEach(walk)
  }
  walk(document.body)
  return [...found, document.title]
}"""
WORDS = re.compile(r"[A-Za-z]{4,}")


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


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_no_english_is_seen_or_heard(watched, plate):
    page = watched.open(f"?plate={plate.slug}&lang=zh&N=abc")
    expect(page.locator(".pager")).to_have_count(1)
    page.wait_for_timeout(1500)  # parts that are drawn or asked for after the first readout
    texts = page.evaluate(TEXTS)
    assert sum(bool(CJK.search(one)) for one in texts) > 60
    assert any("N=abc 不是数" in one for one in texts)
    found = {one: stray(one) for one in texts if stray(one)}
    assert not found, found
    page.goto(page.url.replace("lang=zh", "lang=en"))
    page.wait_for_selector("[data-readout]")
    assert sum(bool(stray(one)) for one in page.evaluate(TEXTS)) > 20, "the search finds English where it is"


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
