"""Every plate at both ends of every control, in pairs: no traceback, NaN, inf, negative number or empty axis."""

from __future__ import annotations

import itertools

import pytest

from plates.registry import PLATES
from tests.plates.walk import complaints, open_plate, pairs, put, turn


@pytest.mark.parametrize("slug", [plate.slug for plate in PLATES])
def test_both_ends_of_every_control_in_pairs(slug):
    atlas = open_plate(slug)
    changes = list(pairs(atlas))
    assert changes, "no control changes this plate"
    for change in changes:
        put(change)
        wrong = complaints(atlas)
        assert not wrong, f"{slug} at {[(n, v) for (_, n), v in change.items()]}: {wrong}"


@pytest.mark.parametrize("slug", [plate.slug for plate in PLATES])
def test_every_corner_of_the_problem(slug):
    atlas = open_plate(slug)
    for query in (
        "&N=1&d=8&H=1&B=1&Br=1&Bc=1&sram=1",
        "&N=1048576&d=256&H=256&B=1024&Br=1024&Bc=1024&sram=1024&causal=1&dtype=fp32",
        "&N=1&d=256&Br=1024&Bc=1&sram=1&dtype=fp8&causal=1&gpu=mi300x",
        "&N=1048576&d=8&Br=1&Bc=1&sram=1&gpu=custom&bandwidth=10&tflops=100000",
    ):
        assert not complaints(turn(atlas, query)), f"{slug} {query}"


@pytest.mark.parametrize("slug", [plate.slug for plate in PLATES])
def test_a_page_turned_back_shows_what_a_fresh_one_shows(slug):
    """What Back promises readers, and the tests that turn one page instead of opening many."""
    fresh, turned = open_plate(slug, "&N=2000&Br=64"), open_plate(slug)
    for change in itertools.islice(pairs(turned), 0, None, 5):
        put(change)
        turn(turned, "&N=2000&Br=64")
        assert turned.search() == fresh.search()
        assert {name: pane.object for name, pane in turned.plates[slug]._texts.items()} == {
            name: pane.object for name, pane in fresh.plates[slug]._texts.items()
        }
