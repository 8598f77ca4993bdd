"""Painting a mask with the pointer and with the keyboard; reading tiles and pieces without a pointer."""

from __future__ import annotations

import re

import numpy as np
from playwright.sync_api import expect

from workshop import block_masks

TILES_A_CELL = 4 * 8  # N = 8,192 in cells of 512, tiles of 128 x 64


def _painted(page) -> np.ndarray:
    """Cells of the address bar, once it carries a painting."""
    page.wait_for_url(re.compile(r"[?&]paint="))
    return block_masks.painting(re.search(r"[?&]paint=([\w-]+)", page.url)[1])


def test_a_mask_is_painted_with_the_keyboard(watched):
    page = watched.open("?plate=sparsity&pattern=painted")
    page.get_by_role("button", name="Clear").click()
    watched.wait_value("visited-tiles", 0)
    sheet = page.get_by_role("application")
    sheet.focus()
    for key in ("Space", "Shift+ArrowRight", "ArrowDown", "Space"):
        page.keyboard.press(key)
    watched.wait_value("visited-tiles", 3 * TILES_A_CELL)
    page.wait_for_timeout(300)
    assert np.argwhere(_painted(page)).tolist() == [[0, 0], [0, 1], [1, 1]]
    page.keyboard.press("Space")  # and off again
    watched.wait_value("visited-tiles", 2 * TILES_A_CELL)


def test_a_mask_is_painted_with_the_pointer_and_the_link_brings_it_back(watched):
    page = watched.open("?plate=sparsity&pattern=painted")
    page.get_by_role("button", name="Clear").click()
    watched.wait_value("visited-tiles", 0)
    page.wait_for_timeout(500)  # the prose above follows the readouts and may move the sheet
    page.locator(".sheet svg .frame").scroll_into_view_if_needed()
    frame = page.locator(".sheet svg .frame").bounding_box()

    def centre(row, column):
        step = frame["width"] / 16
        return frame["x"] + (column + 0.5) * step, frame["y"] + (row + 0.5) * step

    page.mouse.move(*centre(4, 3))
    page.mouse.down()
    page.mouse.move(*centre(4, 7), steps=25)
    page.mouse.up()
    watched.wait_value("visited-tiles", 5 * TILES_A_CELL)
    page.wait_for_timeout(300)
    assert np.argwhere(_painted(page)).tolist() == [[4, column] for column in range(3, 8)]
    page.goto(page.url)
    page.wait_for_selector("[data-readout]")
    watched.wait_value("visited-tiles", 5 * TILES_A_CELL)


def test_single_tiles_are_read_with_the_arrow_keys(watched):
    page = watched.open("?plate=sparsity&pattern=causal&N=512&Br=128&Bc=128")
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator(".mask .said")).to_have_text("Queries 128–255, keys 0–127: all 16,384 scores live.")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mask .said")).to_contain_text("8,256 of 16,384 scores live")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".mask .said")).to_contain_text("never loaded")


def test_single_pieces_are_read_with_the_arrow_keys(watched):
    page = watched.open("?plate=serving&splits=96")
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".split .said")).to_contain_text("Piece 2 of 96, keys 1 to 1")
    page.keyboard.press("End")
    expect(page.locator(".split .said")).to_contain_text("Piece 96 of 96 is empty")


def test_on_a_laptop_the_mask_its_settings_and_what_it_spares_are_seen_at_once(watched):
    page = watched.open("?plate=sparsity")
    tall = page.viewport_size["height"]
    for pattern in block_masks.PATTERNS:
        watched.follow(f"?pattern={pattern}")
        page.locator(".main-content").evaluate("(m) => m.scrollTo(0, 0)")
        for part in (".sheet svg", ".left"):
            box = page.locator(part).bounding_box()
            assert box["y"] > 0 and box["y"] + box["height"] <= tall, (pattern, part, box)
        sheet, left = (page.locator(part).bounding_box() for part in (".sheet", ".left"))
        assert left["x"] >= sheet["x"] + sheet["width"] and left["y"] < sheet["y"] + sheet["height"], pattern
