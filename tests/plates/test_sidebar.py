"""The sidebar's presets: where a plate uses nothing of one, its link leads to a plate that does."""

from __future__ import annotations

import re

import pytest

from plates.registry import PLATES
from plates.sidebar import SHOWS_ALL, unseen
from tests.plates.walk import open_plate
from workshop.presets import DEFAULTS, PRESETS


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_every_preset_says_where_it_shows(plate):
    atlas = open_plate(plate.slug)
    used = plate.controls or plate.uses
    page = atlas.sidebar._presets.object
    items = dict(zip(PRESETS, re.findall(r"<li>(.*?)</li>", page), strict=True))
    for slug, item in items.items():
        special = {k for k, v in PRESETS[slug].settings.items() if v != DEFAULTS[k]}
        away = bool(special) and not special & used
        assert away == unseen(PRESETS[slug], used)
        assert away == (f"?plate={SHOWS_ALL}&amp;" in item) == ("does not use it" in item), slug
        atlas.settings.param.update(**PRESETS[slug].settings)


def test_the_plate_that_shows_all_does():
    (plate,) = [p for p in PLATES if p.slug == SHOWS_ALL]
    assert set(DEFAULTS) <= (plate.controls or plate.uses)


def test_it_is_said_again_when_the_plate_changes():
    atlas = open_plate("softmax")
    assert "does not use it" in atlas.sidebar._presets.object
    atlas.settings.plate = "traffic"
    assert "does not use it" not in atlas.sidebar._presets.object
