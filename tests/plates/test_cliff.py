"""The cliff of plate `tiles`: traffic against Br, block by block the spill ledger."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings

from plates import block_axis, text
from plates.cliff import Cliff, curve
from plates.figures import Themed
from tests.plates.walk import open_plate
from tests.workshop.strategies import PROBLEMS, TILES
from workshop import sram, traffic
from workshop.problem import Problem, Tile


def test_the_cliff_is_the_spill_ledger_block_by_block():
    problem, tile = Problem(N=5000, d=80, causal=True), Tile(Br=64, Bc=48, sram=64)
    found = curve(problem, tile)
    for Br in (1, 2, 63, 64, 127, 128, 300, 1023, 1024):
        own = Tile(Br=Br, Bc=48, sram=64)
        assert found["bytes"][Br - 1] == sram.spill_ledger(problem, own).bytes("bf16")
        assert found["dry"][Br - 1] == traffic.ledger("tiled", problem, own).bytes("bf16")
        assert found["fits"][Br - 1] == sram.working_set(problem, own).fits


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", "crosses standard again at Br = "),
        ("&Br=1024&Bc=1024", "no Br in range crosses standard again"),
        ("&N=1&Bc=1024&sram=1", "even that is more than standard moves"),
    ],
)
def test_a_ring_stands_only_where_the_curve_rises_through_standard(query, said):
    plate = open_plate("tiles", query).plates["tiles"]
    prose = re.sub(r"<[^>]+>", "", plate._texts["why"].object).replace("\u00a0", " ")
    assert said in " ".join(prose.split())
    ring = plate._cliff._cross.data_source.data
    assert bool(ring["x"]) == ("again at" in said)
    if ring["x"]:
        standard = plate._cliff._lines["standard"][0].data["y"][0]
        spilling = plate._cliff._lines["spills"][0].data
        before = spilling["x"] < ring["x"][0]
        assert ring["y"][0] > standard >= spilling["y"][before][-1]


@pytest.mark.parametrize("query", ["", "&N=1", "&sram=1", "&d=256&N=1000"])
def test_an_unfinished_output_is_fetched_once_less_than_it_is_stored(query):
    atlas = open_plate("tiles", query)
    s, facts = atlas.settings, atlas.plates["tiles"]._latest
    lines = {
        (one.tensor, one.direction): one for one in traffic.ledger("algorithm_1", s.problem, s.tile).lines
    }
    stored, fetched = (lines["O", way].elements / (s.N * s.d) for way in ("write", "read"))
    assert (facts["A1_passes"], facts["A1_back"]) == (f"{stored:,.0f}", f"{fetched:,.0f}")


def test_the_cliff_marks_the_first_spill_the_crossing_and_the_reader():
    atlas = open_plate("tiles", "&Br=320")
    cliff, s = atlas.plates["tiles"]._cliff, atlas.settings
    first = next(b for b in range(1, 1025) if not sram.working_set(s.problem, Tile(Br=b)).fits)
    assert cliff._zone.data["left"] == [block_axis.position(first)] and f"Br = {first}" in cliff._edge.text
    crossing = sram.cliff(s.problem, s.tile).crossing
    assert cliff._cross.data_source.data["x"] == [block_axis.position(crossing)]
    standard = traffic.ledger("standard", s.problem, s.tile).bytes("bf16")
    assert cliff._lines["standard"][0].data["y"].tolist() == [standard] * 2
    assert cliff._dots["over"].data_source.data["y"] == [sram.spill_ledger(s.problem, s.tile).bytes("bf16")]
    assert cliff._dots["tiled"].data_source.data["y"] == []


def test_axes_stay_while_a_block_slider_moves():
    atlas = open_plate("tiles")
    plate, s = atlas.plates["tiles"], atlas.settings

    def axes():
        figs = (plate._cliff.fig, plate._landscape.fig)
        return [(f.x_range.start, f.x_range.end, f.y_range.start, f.y_range.end) for f in figs]

    first = axes()
    for Br in (1, 64, 512, 1024):
        s.Br = Br
        assert axes() == first


@settings(deadline=None)
@given(PROBLEMS, TILES)
def test_the_curve_stays_in_the_frame(problem, tile):
    cliff = a_cliff()
    cliff.patch(problem, tile)
    low, high = cliff.fig.y_range.start, cliff.fig.y_range.end
    for source, _ in cliff._lines.values():
        y = np.asarray(source.data["y"])
        assert ((low <= y) & (y <= high)).all()
        assert len(set(map(len, source.data.values()))) == 1


@lru_cache
def a_cliff():
    return Cliff(Themed("light"), text.labels("tiles"))
