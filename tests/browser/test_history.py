"""Back and Forward pressed faster than plates are shown, numbers typed, keys pressed: page and address agree, and no
entry is written over.
"""

from __future__ import annotations

import random
import time

import pytest
from playwright.sync_api import expect

from plates.registry import PLATES
from tests.browser.conftest import FOLLOW, PATIENCE, query, wait_query
from tests.browser.random_walk import LOOK, default
from tests.browser.test_page import bytes_of

ROUTE = ("traffic", "tiles", "softmax", "memory", "roofline")


def shown(page, slug: str) -> None:
    """Wait until bar and address say ``slug``."""
    expect(page.locator("nav a[aria-current=page]")).to_have_attribute("href", f"?plate={slug}")
    wait_query(page, plate=slug)


def test_a_storm_of_back_and_forward_leaves_every_entry_as_it_was(watched):
    page = watched.open(f"?plate={ROUTE[0]}")
    wait_query(page, plate=ROUTE[0], N="8192")
    for slug in ROUTE[1:]:  # all clicked before the first is there
        page.evaluate(FOLLOW, f"?plate={slug}")
    shown(page, ROUTE[-1])
    for pause in (0, 40):
        for move in (-1, -1, -1, -1, 1, 1, 1, -1, 1, -1, -1):
            page.evaluate("(move) => history.go(move)", move)
            page.wait_for_timeout(pause)
        page.wait_for_timeout(800)
        # a browser may fold presses that come at once into one: the address says where we are, the bar must agree
        here = query(page)["plate"]
        shown(page, here)
        for slug in reversed(ROUTE[: ROUTE.index(here)]):
            page.go_back()
            shown(page, slug)
        for slug in ROUTE[1:]:
            page.go_forward()
            shown(page, slug)


def agree(watched) -> int:
    """Wait until box, thumb, address and readout of N say the same, and go on saying it; returns N."""
    end, since, before = time.monotonic() + PATIENCE, None, None
    while True:
        seen = watched.page.evaluate(LOOK)
        box, thumb = next(control[1:] for control in seen["controls"] if control[0] == "N")
        here = int(query(watched.page).get("N", "8192"))
        moved = float(dict(seen["readouts"])["traffic-standard"])
        now = (box, thumb, here, moved)
        if box == thumb == f"{here:,}" and moved == bytes_of("standard", N=here) and now == before:
            since = since or time.monotonic()
            if time.monotonic() - since > 1:
                return here
        else:
            since = None
        before = now
        assert time.monotonic() < end, f"box {box}, thumb {thumb}, address {here}, readout {moved}"
        watched.page.wait_for_timeout(50)


@pytest.mark.parametrize("seed", range(2))
def test_slider_keys_and_back_in_quick_alternation_come_to_agree(watched, seed):
    chance = random.Random(seed)
    page = watched.open("?plate=traffic")
    for N in (512, 2048, 8192, 32768, 131072, 1024):
        page.evaluate(FOLLOW, f"?N={N}")
        wait_query(page, N=str(N))
    page.get_by_role("slider", name="N, tokens").focus()
    at, last = 5, 5  # of the entries: never past the first, which would leave the page
    for _ in range(16):
        if chance.random() < 0.5:
            page.keyboard.press(chance.choice(["ArrowRight", "ArrowLeft"]))
        else:
            move = chance.choice([-1, -1, 1])
            if 0 <= at + move <= last:
                at += move
                page.evaluate("(move) => history.go(move)", move)
        page.wait_for_timeout(chance.choice([0, 0, 10, 25, 60]))
    agree(watched)


def test_a_typed_number_and_back_at_once_come_to_agree(watched):
    page = watched.open("?plate=traffic")
    page.evaluate(FOLLOW, "?N=512")
    wait_query(page, N="512")
    box = page.get_by_role("textbox", name="N, tokens: type a value")
    for typed in ("1,000", "3000", "512"):
        box.fill(typed)
        box.press("Enter")
        page.evaluate("history.back()")
        page.wait_for_timeout(15)
        page.evaluate("history.forward()")
        agree(watched)


def test_keys_pressed_before_all_is_drawn_are_answered_whole(watched):
    page = watched.page
    page.goto(watched.address + "?plate=traffic")
    slider = page.get_by_role("slider", name="N, tokens")
    slider.focus()  # the moment it is there
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowLeft")
    assert agree(watched) < 8192


def numbers(page, slug: str, name: str) -> tuple[int, str, str]:
    """Return what address, box and thumb say of a control."""
    seen = page.evaluate(LOOK)
    box, thumb = next(control[1:] for control in seen["controls"] if control[0] == name)
    return int(query(page).get(name, default(slug, name))), box, thumb


def rests(page, slug: str, name: str, but: int | None = None) -> int:
    """Wait until address, box and thumb say the same number other than ``but``, and go on saying it; returns it."""
    end, since, before = time.monotonic() + PATIENCE, 0.0, None
    while True:
        found = numbers(page, slug, name)
        if found != before or found[0] == but or not found[1] == found[2] == f"{found[0]:,}":
            since = time.monotonic()
        if time.monotonic() - since > 1:
            return found[0]
        before = found
        assert time.monotonic() < end, f"{name}: (address, box, thumb) say {found}"
        page.wait_for_timeout(40)


def neighbours(page, slider, slug: str, name: str) -> tuple[int, int]:
    """Return two stops of a slider next to each other with a number between them."""
    slider.focus()
    page.keyboard.press("Home")
    below = rests(page, slug, name)
    while True:
        page.keyboard.press("ArrowRight")
        above = rests(page, slug, name, but=below)
        if above > below + 1:
            return below, above
        below = above


# each plate with number controls of its own, and one that has those of the sidebar
@pytest.mark.parametrize("slug", ["traffic", "serving"])
def test_a_key_from_a_number_between_stops_goes_one_stop(watched, slug):
    page = watched.open(f"?plate={slug}&gpu=custom")
    page.wait_for_timeout(1500)
    shown = [control[0] for control in page.evaluate(LOOK)["controls"]]
    own = next(plate for plate in PLATES if plate.slug == slug).local_keys
    names = [name for name in shown if slug == "traffic" or name in own][:2]
    assert names, f"{slug} has no numbers of its own: {shown}"
    for name in names:
        control = page.locator(f".control-{name}").first
        slider, box = control.locator("input[type=range]"), control.locator("input[type=text]")
        below, above = neighbours(page, slider, slug, name)
        typed, now = (below + above) // 2, above
        for key, reached in (("ArrowRight", above), ("ArrowLeft", below)):
            box.fill(str(typed))
            box.press("Enter")
            assert rests(page, slug, name, but=now) == typed
            slider.focus()
            page.keyboard.press(key)
            assert (now := rests(page, slug, name, but=typed)) == reached


@pytest.mark.parametrize(("key", "reached", "pause"), [("ArrowRight", 1024, 3000), ("ArrowLeft", 768, 0)])
def test_a_key_from_a_number_of_the_link_goes_one_stop(watched, key, reached, pause):
    page = watched.open("?plate=traffic&N=777")
    slider = page.get_by_role("slider", name="N, tokens")
    slider.focus()
    page.wait_for_timeout(pause)
    page.keyboard.press(key)
    assert rests(page, "traffic", "N", but=777) == reached
    assert agree(watched) == reached


# faster than the server answers, and as fast as it does
@pytest.mark.parametrize("pause", [0, 40])
def test_keys_there_and_back_over_a_typed_number_find_it_while_they_do_not_rest(watched, pause):
    page = watched.open("?plate=traffic&N=777")
    slider = page.get_by_role("slider", name="N, tokens")
    slider.focus()
    page.wait_for_timeout(1500)
    for key in ("ArrowRight", "ArrowRight", "ArrowLeft", "ArrowLeft", "ArrowLeft"):
        page.keyboard.press(key)
        page.wait_for_timeout(pause)
    assert agree(watched) == 768


@pytest.mark.parametrize("slug", ["wall", "softmax", "memory"])
def test_the_players_keys_and_back_in_quick_alternation_come_to_agree(watched, slug):
    chance = random.Random(slug)
    page = watched.open(f"?plate={slug}")
    steps = [1, 4, 2, 5, 3]
    for step in steps:
        page.evaluate(FOLLOW, f"?step={step}")
        wait_query(page, step=str(step))
    scrubber = page.locator(".scrubber:visible").first
    scrubber.focus()
    at = len(steps) - 1
    for _ in range(14):
        if chance.random() < 0.5:
            page.keyboard.press(chance.choice(["ArrowRight", "ArrowLeft"]))
        else:
            move = chance.choice([-1, 1])
            if 0 <= at + move < len(steps):
                at += move
                page.evaluate("(move) => history.go(move)", move)
        page.wait_for_timeout(chance.choice([0, 10, 60, 130, 160]))
    readout = page.locator("[data-readout=step]:visible").first
    end, since, before = time.monotonic() + PATIENCE, time.monotonic(), None
    while time.monotonic() - since < 1.5:
        shown = readout.get_attribute("data-value")
        # a play that rests at its end leaves the step out of the address
        here = query(page).get(
            "step", page.locator("[data-readout=steps]:visible").first.get_attribute("data-value")
        )
        if shown != here or scrubber.input_value() != here or here != before:
            since = time.monotonic()
        before = here
        assert time.monotonic() < end, f"the picture stands on {shown}, the address says {here}"
        page.wait_for_timeout(50)


@pytest.mark.parametrize("slug", ["wall", "softmax", "memory"])
def test_a_step_made_just_before_back_or_a_link_does_not_win_over_it(watched, slug):
    page = watched.open(f"?plate={slug}&step=3")
    scrubber = page.locator(".scrubber:visible").first
    for go in (lambda: page.evaluate("history.back()"), lambda: page.evaluate(FOLLOW, "?step=3")):
        page.evaluate(FOLLOW, "?step=1")
        wait_query(page, step="1")
        expect(scrubber).to_have_value("1")  # the picture may come after the address
        scrubber.focus()
        page.keyboard.press("ArrowRight")
        go()
        wait_query(page, step="3")
        end = time.monotonic() + 1.5
        while time.monotonic() < end:  # what was on its way has come
            page.wait_for_timeout(50)
            assert query(page)["step"] == "3"
        assert scrubber.input_value() == "3"
    page.go_back()  # the entry that the link left knows the step
    wait_query(page, step="2")
