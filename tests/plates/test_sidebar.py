"""The sidebar's presets: where a plate uses nothing of one, its link leads to a plate that does."""

from __future__ import annotations

import html
import re

import pytest

from plates.registry import PLATES
from plates.sidebar import SHOWS_ALL, special, unseen
from tests.plates.english import of_view
from tests.plates.walk import ends, open_plate
from workshop.language_models import LANGUAGE_MODELS
from workshop.presets import PRESETS


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_every_preset_says_where_it_shows_and_what_takes_effect(plate):
    atlas = open_plate(plate.slug)
    used = frozenset((plate.controls or plate.uses) | ({"model"} & set(plate.local_keys)))
    page = atlas.sidebar._presets.object
    items = dict(zip(PRESETS, re.findall(r"<li>(.*?)</li>", page), strict=True))
    for slug, item in items.items():
        apart = special(PRESETS[slug])
        away = not apart & used
        assert away == unseen(PRESETS[slug], used)
        assert away == (f"?plate={SHOWS_ALL}&amp;" in item) == ("does not use it" in item), slug
        assert away != ("Takes effect here: " in item), slug
        in_sight = re.sub(r"<a [^>]*>", "", item)
        assert ("Takes effect here" in in_sight) == (not away and 2 * len(apart & used) < len(apart)), slug
        atlas.settings.param.update(**PRESETS[slug].settings)


def test_a_preset_of_a_model_chooses_it_where_there_is_a_choice():
    models = {preset.model for preset in PRESETS.values()} - {None}
    assert models and models <= set(LANGUAGE_MODELS)
    atlas = open_plate("serving")
    href = html.unescape(re.search(r'href="([^"]*model=[^"]*)"', atlas.sidebar._presets.object)[1])
    atlas._on_search("follow", href)
    assert atlas.settings.plate == "serving" and atlas.plates["serving"].local.model in models


def test_the_plate_that_shows_all_does():
    (plate,) = [p for p in PLATES if p.slug == SHOWS_ALL]
    assert all(not unseen(preset, plate.controls or plate.uses) for preset in PRESETS.values())


ALL = "tiled,algorithm_1,compulsory,waves"


@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_every_number_beside_a_plate_changes_what_it_says(plate):
    """A control that changes nothing, even with all models on show, does not belong there."""
    most = {"models": ALL, "time_models": ALL, "tile_colour": "time"}
    keys = "".join(f"&{key}={value}" for key, value in most.items() if key in plate.local_keys)
    atlas = open_plate(plate.slug, keys)
    shown, settings = atlas.plates[plate.slug], atlas.settings

    def said() -> set[str]:
        shown.update()
        shown._write_prose()
        return of_view([shown.view()])

    first = said()
    for name in (plate.controls or plate.uses) & {"N", "d", "H", "B", "Br", "Bc", "sram"}:
        default = getattr(settings, name)
        found = []
        for value in ends(settings, name):
            setattr(settings, name, value)
            found.append(said() != first)
        setattr(settings, name, default)
        assert any(found), name


def test_it_is_said_again_when_the_plate_changes():
    atlas = open_plate("softmax")
    assert "does not use it" in atlas.sidebar._presets.object
    atlas.settings.plate = "traffic"
    assert "does not use it" not in atlas.sidebar._presets.object
