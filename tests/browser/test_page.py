"""The page as a reader meets it: links, sliders, typed values, presets, history, themes, widths, keyboard."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from plates.registry import PLATES
from tests.browser.conftest import query, wait_query
from workshop import traffic
from workshop.problem import Problem, Tile

SLUGS = [plate.slug for plate in PLATES]


def bytes_of(model: str, **changes) -> int:
    """Return what a head moves under ``model``, from the models."""
    names = {k: v for k, v in changes.items() if k in Problem.__dataclass_fields__}
    problem = Problem(**names)
    tile = Tile(**{k: v for k, v in changes.items() if k not in names})
    return traffic.ledger(model, problem, tile).total * problem.element_bytes


def test_the_defaults_show_the_headline(watched):
    watched.open("?plate=traffic")
    page = watched.page
    expect(page.locator("[data-readout=traffic-standard]")).to_have_text("545 MB")
    expect(page.locator("[data-readout=traffic-bound]")).to_have_text("46.1 MB")
    expect(page.locator("[data-readout=traffic-ratio]")).to_have_text("11.8×")


def test_a_slider_moves_readout_plot_label_and_address_together(watched):
    page = watched.open("?plate=traffic")
    slider = page.get_by_role("slider", name="N, tokens")
    slider.focus()
    page.keyboard.press("ArrowRight")
    watched.wait_value("traffic-standard", bytes_of("standard", N=12288))
    expect(page.get_by_role("textbox", name="N, tokens: type a value")).to_have_value("12,288")
    wait_query(page, N="12288")


def test_a_held_arrow_key_settles_where_it_says(watched):
    page = watched.open("?plate=traffic&N=32")
    page.get_by_role("slider", name="N, tokens").focus()
    for _ in range(12):
        page.keyboard.down("ArrowRight")
    page.keyboard.up("ArrowRight")
    box = page.get_by_role("textbox", name="N, tokens: type a value")
    expect(box).to_have_value("2,048")
    watched.wait_value("traffic-standard", bytes_of("standard", N=2048))
    wait_query(page, N="2048")
    page.wait_for_timeout(700)  # no echo moves the thumb afterwards
    expect(box).to_have_value("2,048")
    assert page.get_by_role("slider", name="N, tokens").get_attribute("aria-valuetext") == "2,048"


def test_any_value_in_range_can_be_typed_and_a_bad_one_changes_nothing(watched):
    page = watched.open("?plate=traffic")
    box = page.get_by_role("textbox", name="N, tokens: type a value")
    box.fill("1,000")
    box.press("Enter")
    watched.wait_value("traffic-standard", bytes_of("standard", N=1000))
    wait_query(page, N="1000")
    box.fill("many")
    box.press("Enter")
    expect(page.get_by_text("1 to 1,048,576, a whole number")).to_be_visible()
    expect(box).to_have_value("1,000")
    assert query(page)["N"] == "1000"


def test_a_bad_link_is_clamped_one_key_at_a_time_and_says_so(watched):
    page = watched.open("?plate=traffic&N=abc&Br=0&d=64&N=1e12")
    assert float(watched.value("traffic-standard")) == bytes_of("standard", N=1_048_576, d=64)
    wait_query(page, d="64", N="1048576", Br="1")
    expect(page.get_by_role("status").filter(has_text="1e12")).to_be_visible()


def test_presets_and_reset_update_results(watched):
    page = watched.open("?plate=traffic")
    page.get_by_role("link", name="128k context").click()
    watched.wait_value("traffic-standard", bytes_of("standard", N=131072))
    expect(page.get_by_role("textbox", name="N, tokens: type a value")).to_have_value("131,072")
    page.get_by_role("button", name="Reset").click()
    watched.wait_value("traffic-standard", bytes_of("standard"))
    expect(page.get_by_role("textbox", name="N, tokens: type a value")).to_have_value("8,192")


def test_a_preset_that_a_plate_does_not_use_leads_to_one_that_does(watched):
    page = watched.open("?plate=softmax")
    link = page.get_by_role("link", name="128k context")
    expect(link).to_contain_text("on Traffic; this plate does not use it")
    link.click()
    watched.wait_value("traffic-standard", bytes_of("standard", N=131072))
    wait_query(page, plate="traffic", N="131072")
    expect(link).to_have_text("128k context")


@pytest.mark.parametrize(
    ("slug", "names"),
    [
        ("serving", ("Model", "GPU", "Number format")),
        ("softmax", ("Number format",)),
        ("machine", ()),
    ],
)
def test_selects_have_names(watched, slug, names):
    page = watched.open(f"?plate={slug}")
    for name in names:
        expect(page.get_by_role("combobox", name=name, exact=True)).to_be_visible()
    for select in page.get_by_role("combobox").all():
        heard = select.evaluate(
            "e => e.getAttribute('aria-label') || (e.getAttribute('aria-labelledby') || '').split(' ')"
            ".map(id => e.getRootNode().getElementById(id)?.textContent ?? '').join(' ').trim()"
        )
        assert heard, select.evaluate("e => e.outerHTML")


def test_back_and_forward_return_to_plates_and_settings(watched):
    page = watched.open("?plate=traffic")
    page.get_by_role("link", name="Short sequence").click()
    wait_query(page, N="512")
    other = next(slug for slug in SLUGS if slug != "traffic")
    page.locator(f"nav a[href='?plate={other}']").first.click()
    expect(page.locator("nav a[aria-current=page]")).to_have_attribute("href", f"?plate={other}")
    assert query(page)["N"] == "512"
    page.go_back()
    expect(page.locator("nav a[aria-current=page]")).to_have_attribute("href", "?plate=traffic")
    watched.wait_value("traffic-standard", bytes_of("standard", N=512))
    page.go_back()
    watched.wait_value("traffic-standard", bytes_of("standard"))
    page.go_forward()
    watched.wait_value("traffic-standard", bytes_of("standard", N=512))


def test_the_theme_changes_colours_and_nothing_else(watched):
    page = watched.open("?plate=traffic&N=4096&d=64")
    wait_query(page, gpu="h100-sxm")
    before = query(page)
    page.get_by_role("button", name="Dark").click()
    wait_query(page, theme="dark")
    expect(page.get_by_role("button", name="Light")).to_be_visible()
    assert page.evaluate("document.documentElement.dataset.atlas") == "dark"
    assert {k: v for k, v in query(page).items() if k != "theme"} == before
    assert float(watched.value("traffic-standard")) == bytes_of("standard", N=4096, d=64)


def test_a_link_reproduces_the_view(watched):
    page = watched.open(
        "?plate=traffic&N=1000&d=80&Br=48&Bc=96&sram=100&H=7&B=3&dtype=fp32&causal=1&gpu=l4&models=waves"
    )
    first = watched.values()
    wait_query(page, models="waves")
    watched.open("?" + urlsplit(page.url).query)
    again = watched.values()
    assert again == first
    assert query(page)["models"] == "waves"
