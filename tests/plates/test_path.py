"""The guided tours: they fit their time, stop where the plates say, carry their state in links, and can be left."""

from __future__ import annotations

import html
import re
from urllib.parse import parse_qs

import pytest

from plates import language, links, text
from plates.registry import PLATES
from plates.settings import LANGUAGES
from plates.tour import TOURS, Tour, start
from tests.plates.walk import open_plate

SLUGS = [plate.slug for plate in PLATES]


def tour(name: str, lang: str = "en") -> Tour:
    """Return a tour through all plates."""
    return Tour(name, PLATES, lang, lambda plate: plate.name)


def follow(atlas, href: str) -> None:
    """Do what a click on a link does."""
    atlas._on_search("follow", html.unescape(href))


def steps(atlas) -> dict[str, str]:
    """Return the links of the strip by what they do."""
    found = re.findall(r'<a href="([^"]*)" (?:data-tour|class)="(\w+)"', atlas._strip.object)
    return {way: href for href, way in found}


@pytest.mark.parametrize("name", TOURS)
def test_a_tour_fits_its_time(name):
    spent = sum(tour(name).minutes(plate) for plate in PLATES)
    assert 0.9 * int(name) <= spent <= int(name)


@pytest.mark.parametrize("plate", PLATES, ids=SLUGS)
def test_a_plate_states_its_scope(plate):
    lesson, short = plate.minutes
    assert 0 <= short < lesson or (lesson, short) == (0, 0), (
        "minutes: the lesson is longer; (0, 0) is on no tour"
    )
    head = open_plate(plate.slug).plates[plate.slug]._texts["_head"].object
    assert "<h1>" in head
    assert plate.scope and plate.scope in head


@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_stop_has_its_words_and_no_word_is_without_a_stop(lang):
    wanted = {f"short_{p.slug}" for p in tour("10").stops} | {f"lesson_{p.slug}" for p in tour("45").stops}
    assert set(language.sections("tour", lang)) - {"", "words"} == wanted


@pytest.mark.parametrize("name", TOURS)
def test_next_visits_the_stops_in_order_and_previous_the_same_way_back(name):
    atlas = open_plate("wall")
    stops = [plate.slug for plate in tour(name).stops]
    follow(atlas, start(name, tour(name).stops[0]))
    seen = []
    while True:
        seen.append(atlas.settings.plate)
        assert f"tour={name}" in atlas.search()
        strip = atlas._strip.object
        assert f"stop {len(seen)} of {len(stops)}" in strip
        assert atlas._pager.object == ""
        found = steps(atlas)
        if "next" not in found:
            break
        follow(atlas, found["next"])
    assert seen == stops
    while "previous" in steps(atlas):
        follow(atlas, steps(atlas)["previous"])
        assert atlas.settings.plate == stops[seen.index(atlas.settings.plate)]
    assert atlas.settings.plate == stops[0]


@pytest.mark.parametrize("slug", SLUGS)
def test_a_plate_beside_the_tour_leads_back_to_it(slug):
    atlas = open_plate(slug, "&tour=10")
    stops = [plate.slug for plate in tour("10").stops]
    assert ("not a stop" in atlas._strip.object) == (slug not in stops)
    before, after = tour("10").around(slug)
    assert before is None or SLUGS.index(before.slug) < SLUGS.index(slug)
    assert after is None or SLUGS.index(after.slug) > SLUGS.index(slug)
    assert ("next" in steps(atlas)) == (after is not None)


def test_a_stop_opens_as_its_words_say_whatever_was_set_before():
    atlas = open_plate("wall", "&tour=10")
    follow(atlas, "?N=512&passes=mask&sram=8&dtype=fp8&gpu=l4")
    follow(atlas, steps(atlas)["next"])
    fresh = open_plate("traffic")
    assert atlas.search() == fresh.search() + "&tour=10"
    follow(atlas, steps(atlas)["previous"])
    assert atlas.search() == open_plate("wall").search() + "&tour=10"


def test_leaving_takes_one_link_keeps_the_view_and_back_returns():
    atlas = open_plate("traffic", "&N=512&tour=45")
    before = atlas.search()
    follow(atlas, steps(atlas)["leave"])
    assert atlas._strip.object == "" and "Next" in atlas._pager.object
    assert atlas.search() == before.replace("&tour=45", "")
    atlas._on_search("back", before)
    assert "stop 2" in atlas._strip.object
    atlas._on_search("back", "?plate=traffic&N=512")
    assert atlas._strip.object == ""


def test_the_first_plate_and_the_bar_offer_the_tours():
    atlas = open_plate("wall")
    hrefs = [one["href"] for one in atlas.bar.tours]
    assert [parse_qs(href[1:])["tour"] for href in hrefs] == [[name] for name in TOURS]
    head = atlas.plates["wall"]._texts["_head"]
    assert all(html.escape(href) in head.object for href in hrefs)
    follow(atlas, hrefs[0])
    assert not any(html.escape(href) in head.object for href in hrefs)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_what_a_stop_sets_is_known_to_its_plate(lang):
    for name in language.sections("tour", lang):
        slug = name.partition("_")[2]
        if not slug:
            continue
        atlas = open_plate(slug)
        hrefs = re.findall(r'href="([^"]*)"', text.section("tour", name, {}, lang))
        assert slug == "review" or hrefs, f"{name}: nothing to try"
        for href in map(html.unescape, hrefs):
            values, notes = links.read(href, atlas._owners(slug), SLUGS)
            assert not notes and set(values) == set(parse_qs(href[1:], keep_blank_values=True)), (name, href)


def test_next_and_back_lead_through_all_plates_in_order():
    for i, plate in enumerate(PLATES):
        pager = open_plate(plate.slug)._pager.object
        links = re.findall(r'href="\?plate=(\w+)"><small>([^<]+)</small>', pager)
        expected = ([(SLUGS[i - 1], "Back")] if i else []) + (
            [(SLUGS[i + 1], "Next")] if i + 1 < len(SLUGS) else []
        )
        assert links == expected
