"""Plate `tiles`: readouts, verdicts and both loop orders say what the models say."""

from __future__ import annotations

import itertools
import re

import pytest

from plates import tile_bar
from tests.plates.tiles_page import html, readouts
from tests.plates.walk import open_plate
from workshop import kernel_tiles, sram, traffic, units
from workshop.hardware import GPUS
from workshop.traffic import ledger


def test_a_tile_of_128_by_128_fits_228_kib():
    """82,176 elements: 2 x 128 x 128 of Q and O, as many of K and V, 128 x 128 of S, 2 x 128 statistics."""
    found = readouts(open_plate("tiles", "&Br=128&Bc=128&d=128&sram=228"))
    assert found["working-set"] == "164352" and found["budget"] == "233472"
    assert found["spill-bytes"] == "0" and found["tile-fits"] == "yes"


def test_a_tile_of_256_by_256_does_not():
    found = readouts(open_plate("tiles", "&Br=256&Bc=256&d=128&sram=228"))
    assert found["working-set"] == "394240" and found["spill-bytes"] == str(394240 - 233472)
    assert found["tile-fits"] == "no"


@pytest.mark.parametrize(
    "query", ["", "&N=1000&d=80&Br=48&Bc=112&causal=1&dtype=fp32&sram=20", "&N=1&d=8&Br=1"]
)
def test_readouts_are_the_models(query):
    atlas = open_plate("tiles", query)
    s, found = atlas.settings, readouts(atlas)
    needs = sram.working_set(s.problem, s.tile)
    assert int(found["working-set"]) == needs.total and int(found["spill-bytes"]) == needs.spill_bytes
    assert int(found["traffic-tiled"]) == traffic.ledger("tiled", s.problem, s.tile).bytes(s.dtype)
    assert int(found["traffic-with-spill"]) == sram.spill_ledger(s.problem, s.tile).bytes(s.dtype)


@pytest.mark.parametrize(
    "query", ["", "&Br=16", "&Br=320", "&Br=512", "&Br=1024&causal=1", "&sram=8&dtype=fp32"]
)
def test_no_number_leads_that_the_spill_makes_untrue(query):
    """Of a tile that spills, the first readout is what it moves with the spill; a name stands once."""
    atlas = open_plate("tiles", query)
    plate, s = atlas.plates["tiles"], atlas.settings
    strip = [item.name for item in plate.readouts(plate.facts())]
    spills = not sram.working_set(s.problem, s.tile).fits
    assert (strip[0] == "traffic-with-spill") == spills == ("traffic-with-spill" in strip)
    assert html(atlas).count('data-readout="traffic-with-spill"') == 1


@pytest.mark.parametrize(
    ("query", "says", "keeps_quiet"),
    [
        ("", "<b>Fits</b>, with 115.5 KiB to spare", "lost everything"),
        ("&Br=16", "blocks of 16 queries are so low", "lost everything"),
        ("&Br=320", "<b>Spills</b>: 5.25 KiB do not fit", "lost everything"),
        ("&Br=1024", "you have lost everything you came for", "<b>Fits</b>"),
    ],
)
def test_the_verdict_in_one_sentence(query, says, keeps_quiet):
    atlas = open_plate("tiles", query)
    page = html(atlas)
    assert says in page and keeps_quiet not in page
    s = atlas.settings
    over = not sram.working_set(s.problem, s.tile).fits
    lost = sram.spill_ledger(s.problem, s.tile).total > ledger("standard", s.problem, s.tile).total
    assert ("lost everything" in page) == (over and lost)


@pytest.mark.parametrize(
    "query", ["", "&Br=320", "&Br=1024", "&tile_view=kernel", "&tile_view=kernel&Br=64&Bc=256"]
)
def test_bytes_on_the_chip_are_counted_in_one_unit(query):
    """Bar, parts, readouts, verdicts and the table say KiB; only the two readouts add every digit."""
    atlas = open_plate("tiles", query)
    plate = atlas.plates["tiles"]
    facts = plate.facts()
    shown = [facts["blocks"][name] for name in ("verdict", "bar", "kernel", "pins")]
    shown += [item.text for item in plate.readouts(facts)]
    for part in shown:
        assert not re.search(r"\d,\d{3}(&nbsp;|\s)B\b", part), part
    labels = [item.label for item in plate.readouts(facts)]
    assert sum(bool(re.search(r"\d,\d{3}\sB\b", label)) for label in labels) == 2


def test_dragging_past_the_budget_tells_at_once():
    """The patch that follows a slider's move carries verdict and bar, without waiting for the prose."""
    atlas = open_plate("tiles")
    plate, s = atlas.plates["tiles"], atlas.settings
    facts = None
    for Br in (256, 312, 640):
        s.param.update(Br=Br)
        plate._texts["verdict"].object = plate._texts["bar"].object = ""
        facts = plate.facts()
        plate.patch(facts)
        verdict, bar = plate._texts["verdict"].object, plate._texts["bar"].object
        over = sram.working_set(s.problem, s.tile).spill_bytes
        assert ("Spills" in verdict) == (over > 0) == ('class="over"' in bar)
        if over:
            said = tile_bar.amount(over)
            assert said.replace(" ", "\u00a0") in verdict and said.replace(" ", "&nbsp;") in bar
    assert facts is not None


def test_both_loop_orders_are_told_with_their_bytes():
    atlas = open_plate("tiles", "&N=4096&Br=64&Bc=64")
    s, page = atlas.settings, html(atlas)
    assert page.count('<div class="order"') == 2
    for model in ("tiled", "algorithm_1"):
        assert units.bytes_(traffic.ledger(model, s.problem, s.tile).bytes(s.dtype)) in page
    _, Bc = traffic.algorithm_1_blocks(s.tile.M(s.problem), s.d)
    assert f"Q is read {-(-s.N // Bc)} times" in page and "K and V are read 64 times" in page


def test_gpus_and_formats_change_the_published_tiles():
    for gpu, causal in itertools.product(GPUS, (0, 1)):
        atlas = open_plate("tiles", f"&gpu={gpu}&causal={causal}")
        s = atlas.settings
        shown = {label.text for label in atlas.plates["tiles"]._landscape._names if label.visible}
        assert {t.name for t in kernel_tiles.published(s.problem, s.gpu_record)} < shown
