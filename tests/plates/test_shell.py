"""The shell outlives a plate that fails, and says so."""

from __future__ import annotations

import logging

import pytest

from plates.registry import PLATES
from plates.traffic import Traffic
from tests.plates.walk import open_plate


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
