"""The exactness lab as a reader uses it: choices change the numbers, links reproduce them, PyTorch on request."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from workshop import breakage, precision
from workshop.score_patterns import make


def _compared(name, order="forward"):
    return precision.compare(precision.Rounded(make("random", 32, 8), name), 8, order=order)


def _choose(page, now, option):
    page.get_by_role("combobox").filter(has_text=re.compile(f"^{re.escape(now)}$")).click()
    page.locator("li").filter(has_text=re.compile(f"^{re.escape(option)}$")).click()


def test_the_format_and_the_order_change_the_errors(watched):
    page = watched.open("?plate=softmax")
    watched.wait_value("lab-error-tiled", _compared("bf16").tiled)
    assert watched.value("lab-rule") == "holds"
    page.get_by_role("button", name="fp16", exact=True).last.click()
    watched.wait_value("lab-error-tiled", _compared("fp16").tiled)
    watched.wait_value("lab-error-full", _compared("fp16").full)
    _choose(page, "first to last", "last to first")
    watched.wait_value("lab-error-tiled", _compared("fp16", "backward").tiled)
    page.wait_for_url("**labFormat=fp16**")
    page.wait_for_url("**labOrder=backward**")


def test_a_mistake_says_what_goes_wrong_and_the_step_stays(watched):
    page = watched.open("?plate=softmax&pattern=masked&labFormat=float32&step=9")
    _choose(page, "no rescale (α = 1)", "a finite number for −∞")
    found = breakage.outcome("masked", 32, 8, 8, "float32", "forward", "sentinel")
    watched.wait_value("lab-wrong", found.bad)
    expect(page.locator(".verdict")).to_contain_text(f"row {found.row + 1}")
    page.wait_for_url("**labBreak=sentinel**")
    assert watched.value("step") == "9"


def test_a_link_opens_the_lab_at_every_width(watched):
    page = watched.open("?plate=softmax&labFormat=float32&labOrder=shuffled&labBreak=add-first&theme=dark")
    watched.wait_value("lab-error-tiled", _compared("float32", "shuffled").tiled)
    bits = page.locator("table.bits")
    bits.scroll_into_view_if_needed()
    expect(bits.locator("tbody tr").first).to_contain_text("shuffled")
    assert bits.locator("td b").count() > 0
    for width in (1400, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width


def test_pytorch_on_request(watched):
    page = watched.open("?plate=softmax")
    ask = page.get_by_role("button", name="Ask PyTorch as well")
    ran = page.get_by_text("PyTorch ran on this server's processor")
    ask.or_(ran).first.wait_for()
    if ask.count():  # another page of this server may have asked before
        ask.click()
    expect(ran).to_be_visible()
    expect(page.get_by_role("columnheader", name="PyTorch, fused")).to_be_visible()
    expect(ask).to_have_count(0)
