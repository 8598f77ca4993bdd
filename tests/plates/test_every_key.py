"""Every key of every plate's link, found in the code: a wrong value is told in a sentence and changes nothing else."""

from __future__ import annotations

from urllib.parse import urlencode

import param
import pytest

from plates import links
from plates.registry import PLATES
from plates.settings import CUSTOM_GPU, LANGUAGES, SHARED, Settings
from tests.plates.walk import open_plate

PAGE = (*SHARED, *CUSTOM_GPU, "step", "theme", "lang", "tour")
CASES = [(plate, name) for plate in PLATES for name in (*PAGE, *plate.local_keys)]
NAMES = [f"{plate.slug}-{name}" for plate, name in CASES]
OPEN = ("lang",)  # decides in which language the page opens


def owner_of(atlas, name: str) -> param.Parameterized:
    """Return what holds a key."""
    return atlas.settings if name in PAGE else atlas.plates[atlas.settings.plate].local


def wrong(spec: param.Parameter) -> list[tuple[str, object]]:
    """Return wrong values of a parameter and what each comes to; ``Ellipsis``: what it was."""
    if isinstance(spec, param.Boolean):
        return [("2", ...), ("maybe", ...), ("", ...)]
    if isinstance(spec, param.Integer):
        low, high = spec.bounds
        return [
            *((str(low - 1), low), (str(high + 1), high), ("-1e99", low), ("inf", high)),
            *(("many", ...), ("", ...), ("nan", ...), (f"{low}.25", low), ("9" * 5000, high)),
        ]
    if isinstance(spec, param.ListSelector):
        first = spec.objects[0]
        return [("nobody", []), (f"nobody,{first}", [first]), ("x" * 5000, [])]
    if isinstance(spec, param.Selector):
        return [("nobody", ...), ("-1", ...), ("x" * 5000, ...)]
    return [("!", ...), ("x" * 5000, ...)]


def test_every_own_parameter_of_a_plate_that_a_link_could_carry_is_carried():
    for plate in PLATES:
        local = plate(Settings()).local
        found = set(local.param) - {"name"} if local is not None else set()
        assert set(plate.local_keys) == found, plate.slug


def test_every_setting_is_a_key():
    assert set(Settings.param) - {"name"} == {*PAGE, "plate"}


@pytest.mark.parametrize(("plate", "name"), CASES, ids=NAMES)
def test_a_wrong_value_is_told_and_the_nearest_is_taken(plate, name):
    local = plate(Settings()).local
    spec = (Settings if name in PAGE else type(local)).param[name]
    for value, comes_to in wrong(spec):
        beside = {} if name == "d" else {"d": 64}
        values, notes = links.read(
            urlencode({"plate": plate.slug, **beside, name: value}),
            dict.fromkeys(PAGE, Settings()) | dict.fromkeys(plate.local_keys, local),
            [p.slug for p in PLATES],
        )
        assert values.get("d") == beside.get("d") or name == "d"
        assert values.get(name, ...) == comes_to, f"{name}={value[:20]}"
        assert len(notes) == 1 and notes[0].startswith(name) and len(notes[0]) < 400, (
            f"{name}={value[:20]}: {notes}"
        )


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.slug)
def test_a_page_opens_on_a_link_with_every_value_wrong(plate, lang):
    keys = [*(name for name in PAGE if name != "lang"), *plate.local_keys]
    local = plate(Settings()).local
    for pick in range(3):
        values = {}
        for name in keys:
            bad = wrong((Settings if name in PAGE else type(local)).param[name])
            values[name] = bad[pick % len(bad)][0]
        atlas = open_plate(plate.slug, "&" + urlencode({**values, "lang": lang}))
        assert atlas.settings.lang == lang
        shown = atlas._notes.object
        first, _, more = shown.partition("<details")
        assert first.count('class="note"') == 7  # the rest would push the page away, and is opened on request
        for name in keys:
            assert name in shown, f"{name} was wrong and is not named"
        assert more.count("<div>") == len(values) - 6
        assert "could not be" not in str(atlas._stage.objects[0])
        atlas.settings.N = 512  # and works
        assert "N=512" in atlas.search()
