"""Blocks are made when they are asked for, once; a moved slider and the answers of tasks ask for none."""

from __future__ import annotations

import pytest

from plates import blocks
from plates.registry import PLATES
from tests.plates.walk import open_plate


def test_they_are_made_at_the_first_look_and_once():
    made = []
    found = blocks.Blocks(lambda: made.append(1) or {"a": "<p>a</p>"})
    assert not made
    assert "a" in found and found["a"] == "<p>a</p>" and dict(found) == {"a": "<p>a</p>"} and len(made) == 1
    found["b"] = "<p>b</p>"
    assert found["b"] == "<p>b</p>" and len(made) == 1


# what the machine plate tells is filled in step by step from a recording, blocks and facts together
@pytest.mark.parametrize("slug", [plate.slug for plate in PLATES if plate.slug != "machine"])
def test_facts_make_none(slug, monkeypatch):
    atlas = open_plate(slug)
    plate = atlas.plates[slug]
    assert isinstance(plate.facts()["blocks"], blocks.Blocks)
    monkeypatch.setattr(blocks.Blocks, "data", property(lambda self: pytest.fail("nobody asked")))
    plate.readouts(plate.facts())
    for link in ("?N=512", "?Br=64&causal=1"):
        plate._facts_at(link)
