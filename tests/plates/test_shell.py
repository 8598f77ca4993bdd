"""The shell outlives a plate that fails, and says so."""

from __future__ import annotations

import logging
import time

import pytest

from plates import typography
from plates.registry import PLATES
from plates.settings import CUSTOM_GPU, SHARED, Settings
from plates.traffic import Traffic
from tests.plates.walk import ends, open_plate, rest


def test_a_plate_that_cannot_be_updated_is_told_and_the_rest_goes_on(monkeypatch, caplog):
    atlas = open_plate("traffic")
    facts = Traffic.facts

    def broken(self):
        if self.settings.N == 4096:
            raise RuntimeError("on purpose")
        return facts(self)

    monkeypatch.setattr(Traffic, "facts", broken)
    with caplog.at_level(logging.CRITICAL, logger="plates.shell"):
        atlas.settings.N = 4096
    assert "could not be drawn" in atlas._notes.object
    atlas.settings.N = 2048
    assert atlas._notes.object == ""
    assert "N=2048" in atlas.search()


def test_a_text_that_cannot_be_made_is_told_though_it_comes_later(served, monkeypatch, caplog):
    """Prose, tables and formulas wait until a slider rests."""
    atlas = open_plate("traffic")
    plate = atlas.plates["traffic"]
    made = plate._html

    def broken(name, facts):
        return 1 / 0 if name == "why" and atlas.settings.N == 4096 else made(name, facts)

    monkeypatch.setattr(plate, "_html", broken)
    atlas.settings.N = 4096
    with caplog.at_level(logging.CRITICAL, logger="plates.shell"):
        rest(served)
    assert "could not be drawn" in atlas._notes.object
    atlas.settings.N = 2048
    rest(served)
    assert atlas._notes.object == ""


def test_a_plate_that_cannot_be_built_does_not_take_the_page_with_it(monkeypatch, caplog):
    monkeypatch.setattr(Traffic, "facts", lambda self: 1 / 0)
    with caplog.at_level(logging.CRITICAL, logger="plates.shell"):
        atlas = open_plate("traffic")
    assert "could not be drawn" in atlas._stage.objects[0].object
    atlas.settings.plate = "roofline"
    assert atlas._stage.objects == [atlas.plates["roofline"].view()]


@pytest.mark.parametrize("slug", [plate.slug for plate in PLATES])
def test_only_the_plate_on_show_is_updated(slug, monkeypatch):
    atlas = open_plate(slug)
    calls = []
    for name, plate in atlas.plates.items():
        monkeypatch.setattr(plate, "update", lambda name=name: calls.append(name))
    atlas.settings.N = 4096
    assert set(calls) <= {slug}


PLAYED = [plate.slug for plate in PLATES if plate(Settings()).last_step() is not None]


@pytest.mark.parametrize("slug", [plate.slug for plate in PLATES])
def test_a_step_past_the_end_is_the_end_in_the_address_too_and_said(slug):
    atlas = open_plate(slug, "&step=9999")
    last = atlas.plates[slug].last_step()
    assert atlas.settings.step == last
    assert (f"step={last}" in atlas.search()) if last is not None else ("step" not in atlas.search())
    assert "step=9999" in atlas._notes.object
    if last is not None:
        assert f"used {last}" in atlas._notes.object
    atlas._on_search("follow", "?step=1e9")
    assert atlas._notes.object.count("step=") == 1 and "step=1e9" in atlas._notes.object
    assert atlas.settings.step == last


@pytest.mark.parametrize("slug", PLAYED)
def test_a_play_that_became_shorter_leaves_no_step_past_its_end_in_the_address(slug):
    plate = open_plate(slug).plates[slug]
    for name in plate.local_keys:
        for value in ends(plate.local, name):
            atlas = open_plate(slug)
            own = atlas.plates[slug]
            atlas.settings.step = own.last_step()
            own.local.param.update(**{name: value})
            assert atlas.settings.step is None or atlas.settings.step <= own.last_step()


def test_a_plates_own_control_touches_that_plate_alone():
    atlas = open_plate("traffic")
    atlas.settings.plate = "tiles"
    own = atlas.plates["tiles"].local
    own.tile_view = next(item for item in own.param["tile_view"].objects if item != own.tile_view)
    assert not any(atlas._stale.values())


@pytest.mark.parametrize("gpu", ["h100-sxm", "custom"])
@pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.slug)
def test_what_a_plate_does_not_use_changes_nothing_on_it(plate, gpu):
    atlas = open_plate(plate.slug, f"&gpu={gpu}")
    shown = atlas.plates[plate.slug]
    for name in {*SHARED, *CUSTOM_GPU} - shown.uses:
        before = getattr(atlas.settings, name)
        for value in ends(atlas.settings, name):
            setattr(atlas.settings, name, value)
            facts = shown.facts()
            for block, pane in shown._texts.items():
                text = typography.finished(shown._html(block, facts), atlas.settings.lang)
                assert pane.object == text, f"{name}={value} changes {block}"
        setattr(atlas.settings, name, before)


@pytest.mark.parametrize("go", ["link", "reset"])
def test_what_was_changed_just_before_a_link_belongs_to_the_entry_left(served, monkeypatch, go):
    """Changes are shown a moment later while others keep the page busy; a link can come before."""
    atlas = open_plate("softmax", "&step=1&N=4096")
    atlas._on_search("ready", "")
    told = []
    monkeypatch.setattr(atlas.history, "show", lambda search, *, push, **_: told.append((push, search)))
    atlas._last_end = time.monotonic() + 60
    atlas.settings.param.update(step=2, d=64)
    assert not told, "it waits"
    if go == "link":
        atlas._on_search("follow", "?step=3")
    else:
        atlas._on_reset()
    (first, left), (last, new) = told
    assert (first, last) == (False, True)
    assert "step=2" in left and "d=64" in left
    assert ("step=3" in new and "d=64" in new) if go == "link" else ("step" not in new and "d=64" not in new)
