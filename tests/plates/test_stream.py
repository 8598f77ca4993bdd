"""The loop beside the trips: its bytes are the ledger's, its steps the player's, its words in both languages."""

import json
import re

import pytest

from plates import text
from tests.plates.english import stray
from tests.plates.walk import open_plate
from workshop import round_trips, sram, traffic
from workshop.masks import ceil_div

SETTINGS = [
    "",
    "&N=1",
    "&N=1000&d=80&Br=96&Bc=96",
    "&causal=1",
    "&Br=512",
    "&Br=1",
    "&Br=512&causal=1&passes=scale,mask,dropout",
    "&dtype=fp32&sram=16",
    "&N=1048576&d=256&gpu=l4",
]


def opened(query: str, lang: str = "en"):
    """Return the plate, and what its picture draws of the loop."""
    plate = open_plate("wall", f"{query}&lang={lang}").plates["wall"]
    return plate, json.loads(plate._trips.data)["stream"]


@pytest.mark.parametrize("query", SETTINGS)
def test_the_loop_ends_on_the_ledgers_totals(query):
    plate, drawn = opened(query)
    s = plate.settings
    ledger = sram.spill_ledger(s.problem, s.tile)
    assert drawn["total"] == drawn["steps"][-1]["bytes"] == ledger.bytes(s.dtype)
    lines = {(one["tensor"], one["write"]): one["bytes"] for one in drawn["lines"]}
    size = s.problem.element_bytes
    assert lines == {
        (one.tensor, one.direction == "write"): one.elements * size for one in ledger if one.elements
    }
    assert sum(lines.values()) == drawn["total"]
    assert drawn["steps"][-1]["passes"] == drawn["blocks"] == ceil_div(s.N, s.Br)
    assert not drawn["marks"] or (
        len(drawn["marks"]) == drawn["blocks"] and drawn["marks"][-1] == drawn["total"]
    )
    if sram.working_set(s.problem, s.tile).fits:
        assert drawn["total"] == traffic.ledger("tiled", s.problem, s.tile).bytes(s.dtype)
        waves = traffic.ledger("waves", s.problem, s.tile, s.gpu_record).bytes(s.dtype)
        assert drawn["waves"]["bytes"] == waves <= drawn["total"]
    else:
        assert drawn["waves"] is None and drawn["over"]


@pytest.mark.parametrize("query", SETTINGS)
def test_both_sides_have_moved_as_many_bytes_until_one_is_done(query):
    plate, drawn = opened(query)
    moved = [0, *round_trips.running(plate._found())]
    steps = [step["bytes"] for step in drawn["steps"]]
    assert steps[: len(moved)] == [min(one, drawn["total"]) for one in moved]
    worse = drawn["total"] > moved[-1]
    assert len(steps) == len(moved) + worse  # a loop that moves more takes a step more
    assert drawn["late"]["bytes"] == max(0, drawn["total"] - moved[-1])
    passes = [step["passes"] for step in drawn["steps"]]
    assert passes == sorted(passes) and passes[0] == 0
    assert plate._trips.step == len(steps) - 1


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("query", SETTINGS)
def test_every_step_is_told_in_the_readers_language(query, lang):
    plate, drawn = opened(query, lang)
    told = [step["say"] for step in drawn["steps"]] + [drawn["spoken"], drawn["late"]["say"], drawn["label"]]
    assert all(told) and not any(re.search(r"[{}]|nan|None", one) for one in told)
    assert lang == "en" or not [one for one in told if stray(one)]
    spoken = plate._latest["description"]
    assert drawn["spoken"] in spoken and json.loads(plate._trips.data)["spoken"] in spoken
    assert drawn["total_text"] in drawn["steps"][-1]["say"]


def test_a_tile_that_loses_says_so_and_a_spill_is_named():
    worse, spills = opened("&Br=32")[1], opened("&Br=512")[1]
    assert "This tile loses" in worse["steps"][-1]["say"] and "needs" not in worse["steps"][-1]["say"]
    assert "This tile loses" in spills["steps"][-1]["say"] and "go out and back" in spills["steps"][-1]["say"]
    assert "spill" in spills["label"] and [one for one in spills["lines"] if one["spilled"]]
    assert "moves 2.00× as much" in opened("")[1]["steps"][-1]["say"].replace("\u00a0", " ")


def test_one_pass_is_not_several():
    drawn = opened("&N=64")[1]
    told = str(drawn).replace("\\xa0", " ")
    assert "One pass over K and V" in told and "1 passes" not in told


def test_a_step_more_is_reached_by_a_link_and_given_back_by_the_browser():
    plate, drawn = opened("&Br=32&step=8")
    assert plate._trips.step == 8 and len(drawn["steps"]) == 10
    plate._trips.step = 9
    assert plate.settings.step is None
    plate._trips.step = 8
    assert plate.settings.step == 8


def test_the_picture_is_small():
    for query in SETTINGS:
        assert len(str(opened(query)[1])) < 12_000


def test_every_label_of_the_picture_exists():
    words = text.labels("wall")
    used = set(re.findall(r"words\.(\w+)", "".join(text.static(f"{n}.js") for n in ("boxes", "stream"))))
    assert used <= set(words), used - set(words)
