"""Plates `tiles` and `roofline` in Chromium: a slider past the budget spills at once, the map answers the pointer."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from plates import block_axis, figures, tile_bar
from plates.cliff import LEFT, RIGHT
from workshop import sram, units
from workshop.problem import Problem, Tile


def verdict(page):
    return page.locator(".verdict").first


def centre_of(page, Br: int, Bc: int) -> tuple[float, float]:
    """Return where the cell of a tile is on the screen, after scrolling the map into view."""
    chart = page.locator(".bk-Figure").nth(1)
    chart.scroll_into_view_if_needed()
    page.wait_for_timeout(400)
    box = chart.bounding_box()
    width = box["width"] - LEFT - RIGHT
    top, bottom = 6, 56  # about: the frame's edges inside the figure
    x = box["x"] + LEFT + width * block_axis.position(Br) / block_axis.CELLS
    y = box["y"] + box["height"] - bottom
    y -= (box["height"] - top - bottom) * block_axis.position(Bc) / block_axis.CELLS
    return x, y


def test_a_slider_past_the_budget_spills_at_once(watched):
    page = watched.open("?plate=tiles&Br=256")
    expect(verdict(page)).to_contain_text("Fits")
    expect(page.locator(".tilebar .over")).to_have_count(0)
    slider = page.get_by_role("slider", name="Br, rows of Q")
    slider.focus()
    for Br in (320, 384, 448, 512):
        page.keyboard.press("ArrowRight")
        needs = sram.working_set(Problem(), Tile(Br=Br))
        watched.wait_value("working-set", needs.total)
        expect(verdict(page)).to_contain_text(tile_bar.amount(needs.spill_bytes).replace(" ", "\u00a0"))
        expect(page.locator("[data-readout=tile-fits]")).to_have_text("no")
        expect(page.locator(".tilebar .over")).to_be_visible()
    expect(verdict(page)).to_contain_text("you have lost everything you came for")


@pytest.mark.parametrize(("Br", "Bc"), [(24, 16), (256, 32), (640, 512)])
def test_the_pointer_names_a_tile_and_a_click_takes_it(watched, Br, Bc):
    page = watched.open("?plate=tiles")
    x, y = centre_of(page, Br, Bc)
    page.mouse.move(x, y)
    tip = page.locator(".bk-Tooltip, .bk-tooltip").last
    expect(tip).to_contain_text(f"Br = {Br}, Bc = {Bc}")
    needs = sram.working_set(Problem(), Tile(Br=Br, Bc=Bc))
    moved = sram.spill_ledger(Problem(), Tile(Br=Br, Bc=Bc)).bytes("bf16")
    expect(tip).to_contain_text(f"{tile_bar.amount(needs.total)} ({units.exact_bytes(needs.total)})")
    expect(tip).to_contain_text("fits" if needs.fits else "spills")
    shown = figures.round_text(units.bytes_)(moved)
    expect(tip).to_contain_text(shown)
    page.mouse.click(x, y)
    watched.wait_value("working-set", needs.total)
    expect(page).to_have_url(re.compile(f"Br={Br}&Bc={Bc}&"))


def test_a_typed_gpu_moves_the_roofline(watched):
    page = watched.open("?plate=roofline&gpu=custom&bandwidth=1000&tflops=100")
    expect(page.get_by_role("textbox", name=re.compile("Bandwidth"))).to_have_value("1,000")
    expect(page.locator("tr.chosen")).to_contain_text("100 FLOP/B")
    first = float(watched.value("time-standard"))
    box = page.get_by_role("textbox", name=re.compile("Bandwidth"))
    box.fill("500")
    box.press("Enter")
    watched.wait_value("time-standard", 2 * first)
    expect(page).to_have_url(re.compile("bandwidth=500"))


def test_a_gpu_of_the_table_is_one_click_away(watched):
    page = watched.open("?plate=roofline")
    page.get_by_role("link", name="L4", exact=True).click()
    expect(page).to_have_url(re.compile("gpu=l4"))
    expect(page.locator("tr.chosen")).to_contain_text("300 GB/s")
