"""The guided path: every plate says how long it takes; together they fit a class, and the short path ten minutes."""

from __future__ import annotations

import re

import pytest

from plates.registry import PLATES
from tests.plates.walk import open_plate

CLASS, SHORT = 45, 10


def test_the_plates_fit_a_class_and_the_short_path():
    assert CLASS - 5 <= sum(plate.minutes[0] for plate in PLATES) <= CLASS
    assert SHORT - 1 <= sum(plate.minutes[1] for plate in PLATES) <= SHORT


@pytest.mark.parametrize("plate", PLATES, ids=[plate.slug for plate in PLATES])
def test_a_plate_states_its_scope_its_length_and_whether_it_is_on_the_short_path(plate):
    full, short = plate.minutes
    assert 0 <= short < full
    head = open_plate(plate.slug).plates[plate.slug]._texts["_head"].object
    assert "<h1>" in head
    assert plate.scope and plate.scope in head
    assert f"about {full} min in a {CLASS}-minute class" in head
    word = f"yes, {short} min" if short else "no"
    assert f"on the {SHORT}-minute path: {word}" in head


def test_next_and_back_lead_through_all_plates_in_order():
    slugs = [plate.slug for plate in PLATES]
    for i, plate in enumerate(PLATES):
        pager = open_plate(plate.slug)._pager.object
        links = re.findall(r'href="\?plate=(\w+)"><small>([^<]+)</small>', pager)
        expected = ([(slugs[i - 1], "Back")] if i else []) + (
            [(slugs[i + 1], "Next")] if i + 1 < len(slugs) else []
        )
        assert [(slug, word.split(" ·")[0]) for slug, word in links] == expected
        for slug, word in links:
            on_path = PLATES[slugs.index(slug)].minutes[1] > 0
            assert ("10-minute path" in word) == on_path
