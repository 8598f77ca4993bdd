"""The ladder: the same rungs on every plate that has one, each the ledger's bytes, the plate's own marked."""

from __future__ import annotations

import re

import pytest

from plates import ladder, terms
from tests.plates.english import read, stray
from tests.plates.walk import open_plate
from workshop import sram, traffic, units

OWN = {"traffic": "bound", "tiles": "tiled", "review": "bound"}
QUERIES = ["", "&Br=512", "&Br=8&causal=1", "&N=1&d=8", "&N=1048576&dtype=fp8&sram=8"]


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("slug", OWN)
def test_every_rung_is_its_ledger(slug, query, lang):
    plate = open_plate(slug, f"{query}&lang={lang}").plates[slug]
    s, html = plate.settings, plate._texts["ladder"].object.replace("\u00a0", " ")
    shown = dict(re.findall(r'data-rung="(\w+)".*?<b>([^<]*)</b>', html))
    ledgers = {model: traffic.ledger(model, s.problem, s.tile, s.gpu_record) for model in ladder.RUNGS}
    ledgers["tiled"] = sram.spill_ledger(s.problem, s.tile)
    assert shown == {model: units.bytes_(found.bytes(s.dtype)) for model, found in ledgers.items()}
    assert re.findall(r'class="rung own"[^>]*data-rung="(\w+)"', html) == [OWN[slug]]
    assert lang == "en" or not [one for one in read(html) if stray(one)]


@pytest.mark.parametrize(("slug", "readout"), [("traffic", "traffic-bound"), ("tiles", "traffic-tiled")])
def test_the_marked_rung_is_the_headline(slug, readout):
    plate = open_plate(slug).plates[slug]
    headline = {item.name: item for item in plate.readouts(plate._latest)}[readout]
    s = plate.settings
    assert ladder.moved(s.problem, s.tile, s.gpu_record)[OWN[slug]] == headline.value
    # the name of the model leads to what it means, where it is met first
    assert f"term={OWN[slug]}" in headline.label


def test_every_name_on_the_ladder_is_in_the_glossary():
    assert set(ladder.RUNGS) <= set(terms.terms())
