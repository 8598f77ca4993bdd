"""The played pictures of the wall and of the backward loop: at rest until asked, and in step with their models."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from plates.loop import opening, play
from tests.browser.conftest import wait_query
from workshop import round_trips
from workshop.problem import Problem


def trips(page):
    """Return the wall's picture."""
    return page.locator("section.wall")


def test_the_wall_opens_on_the_whole_story_and_stands_still(watched):
    page = watched.open("?plate=wall")
    picture = trips(page)
    expect(picture.locator(".side.standard .lane.done")).to_have_count(8)
    assert watched.value("step") == watched.value("steps") == "8"
    assert watched.value("running-bytes") == "545259520"
    before = picture.inner_html()
    page.wait_for_timeout(900)
    assert picture.inner_html() == before


def test_steps_tell_the_bytes_of_each_trip(watched):
    page = watched.open("?plate=wall&N=4096&step=0")
    found = round_trips.passes(Problem(N=4096))
    so_far = round_trips.running(found)
    watched.wait_value("step", 0)
    assert watched.value("step-bytes") == "0"
    trips(page).focus()
    for k, trip in enumerate(round_trips.trips(found)):
        page.keyboard.press("ArrowRight")
        watched.wait_value("step", k + 1)
        assert watched.value("step-bytes") == str(trip.bytes)
        assert watched.value("running-bytes") == str(so_far[k])
    page.keyboard.press("Home")
    page.get_by_role("button", name="Next trip").click()
    page.get_by_role("button", name="Next trip").click()
    page.get_by_role("button", name="Next trip").click()
    watched.wait_value("step", 3)
    wait_query(page, step="3")
    picture = trips(page).locator(".side.standard")
    expect(picture.locator(".lane.current")).to_have_count(1)
    expect(picture.locator(".lane.to-come")).to_have_count(5)
    expect(picture.locator(".matrix.empty")).to_have_count(2)  # P and O are not written yet


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_play_runs_to_the_end_from_the_start(watched, motion):
    watched.page.emulate_media(reduced_motion=motion)
    page = watched.open("?plate=wall&N=64")
    trips(page).focus()
    page.keyboard.press(" ")
    watched.wait_value("step", 2)
    if motion == "reduce":  # whole or not at all: nothing is drawn half-way
        widths = (
            trips(page)
            .locator(".side.standard .lane.current .flow")
            .evaluate("n => [n.getAttribute('width') > 0]")
        )
        assert widths == [True]
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    here = watched.value("step")
    page.wait_for_timeout(700)
    assert watched.value("step") == here  # pause pauses
    page.keyboard.press(" ")
    watched.wait_value("step", 8)
    expect(page.get_by_role("button", name="Play the trips")).to_be_visible()


LENGTHS = """(n) => Object.fromEntries([...n.querySelectorAll("[data-strip]")]
  .filter((e) => e.firstChild && e.offsetParent)
  .map((e) => [e.dataset.strip, e.querySelector(".whole, .waves").getBoundingClientRect().width]))"""


def test_the_strips_are_as_long_as_their_bytes(watched):
    page = watched.open("?plate=wall")
    for query in ("?Br=128", "?Br=512", "?Br=8&causal=1", "?Br=128&causal=0&N=300&d=72"):
        page.set_viewport_size({"width": 1400, "height": 900})
        watched.follow(query)
        watched.wait_value("step", float(watched.value("steps")))
        for width in (1400, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(400)
            lengths = trips(page).evaluate(LENGTHS)
            moved = {
                name: float(watched.value(f"{slug}-bytes"))
                for name, slug in STRIPS.items()
                if name in lengths
            }
            assert {"standard", "stream"} <= set(lengths)
            longest = max(moved, key=moved.get)
            for name, bytes_moved in moved.items():
                wanted = lengths[longest] * bytes_moved / moved[longest]
                assert abs(lengths[name] - max(1, wanted)) < 1, (name, width, query)


STRIPS = {"standard": "running", "stream": "stream", "waves": "stream-waves"}


def test_the_loop_plays_beside_the_trips_to_the_end_of_both(watched):
    page = watched.open(
        "?plate=wall&N=64&Br=2"
    )  # the loop moves more than the trips, and goes on when they are done
    steps = int(watched.value("steps"))
    total = watched.value("stream-bytes")
    assert steps == 9
    trips(page).focus()
    page.keyboard.press("Home")
    watched.wait_value("stream-bytes", 0)
    told = []
    for k in range(1, steps + 1):
        page.keyboard.press("ArrowRight")
        watched.wait_value("step", k)
        assert k == steps or watched.value("stream-bytes") == watched.value("running-bytes")
        told.append(trips(page).locator(".say.stream").inner_text().replace("\xa0", " "))
    assert watched.value("stream-bytes") == total and "32 passes" in told[-1]
    expect(trips(page).locator("text.pass")).to_have_text("32 passes")
    page.keyboard.press(" ")
    watched.wait_value("step", 1)
    watched.wait_value("step", steps)
    expect(page.get_by_role("button", name="Play the trips")).to_be_visible()
    assert watched.value("stream-bytes") == total


BOXES = """(n, css) => [...n.querySelectorAll(`rect.${css}:not(.edge)`)].map((e) => {
  const b = e.getBoundingClientRect()
  return [b.width, b.height, b.y]
})"""
OUTSIDE = """(n) => [...n.querySelectorAll(".scene svg text")].filter((t) => {
  const box = t.ownerSVGElement.getBoundingClientRect(), own = t.getBoundingClientRect()
  return own.right > box.right + 1 || own.left < box.left - 1 || own.bottom > box.bottom + 1
}).map((t) => t.textContent)"""


def test_both_pictures_have_boxes_of_one_size_side_by_side_or_stacked(watched):
    page = watched.open("?plate=wall&Br=512")
    for width in (1400, 768, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(800)
        for css in ("hbm", "chip"):
            left, right = trips(page).evaluate(BOXES, css)
            assert left[:2] == pytest.approx(right[:2], abs=1), width
            assert (left[2] == pytest.approx(right[2], abs=1)) == (width == 1400), width
        assert not trips(page).evaluate(OUTSIDE), width


def test_an_extra_pass_adds_its_trips_to_the_picture(watched):
    page = watched.open("?plate=wall&passes=scale")
    expect(trips(page).locator(".side.standard .lane")).to_have_count(10)
    watched.wait_value("running-bytes", 6 * 2 * 8192**2 + 4 * 2 * 8192 * 128)
    page.get_by_role("button", name="mask").click()
    expect(trips(page).locator(".side.standard .lane")).to_have_count(12)
    wait_query(page, passes="scale,mask")


def test_the_backward_play_steps_through_its_lines(watched):
    page = watched.open("?plate=memory")
    found = play(4, 4, False, "bf16", "en")
    n = opening(found)
    watched.wait_value("step", n)
    walk = page.locator("section.walk")
    expect(walk.locator(".code .current")).to_contain_text("dQ")
    walk.focus()
    page.keyboard.press("ArrowRight")
    watched.wait_value("step", n + 1)
    expect(walk.locator(".say")).to_have_text(found["steps"][n + 1]["say"])
    wait_query(page, step=str(n + 1))
    assert float(watched.value("tile-error")) < 1e-10
    assert float(watched.value("gradient-error")) < 1e-10
    page.keyboard.press("End")
    watched.wait_value("step", len(found["steps"]) - 1)
    expect(walk.locator(".part.full")).to_have_count(4)  # all of dQ is summed


def test_another_plate_opens_on_its_own_step(watched):
    page = watched.open("?plate=wall&step=2")
    watched.wait_value("step", 2)
    page.locator("nav a", has_text="Memory").first.click()
    watched.wait_value("step", opening(play(4, 4, False, "bf16", "en")))


@pytest.mark.parametrize(
    ("query", "play"),
    [("?plate=memory&step=0", "section.walk"), ("?plate=softmax&step=0", "section.stepper")],
)
def test_a_longer_sentence_does_not_move_the_picture(watched, query, play):
    page = watched.open(query)
    section = page.locator(play)
    for width in (1400, 390):
        page.set_viewport_size({"width": width, "height": 1000})
        page.wait_for_timeout(300)
        section.focus()
        page.keyboard.press("Home")
        places = set()
        for _ in range(
            30
        ):  # past the first block of keys, or of queries: each line of the code has been said
            places.add(
                section.locator(".board").evaluate(
                    "(e, play) => e.getBoundingClientRect().top - e.closest(play).getBoundingClientRect().top",
                    play,
                )
            )
            page.keyboard.press("ArrowRight")
        assert max(places) - min(places) < 1, (width, places)
