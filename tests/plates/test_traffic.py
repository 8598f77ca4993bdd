"""Plate `traffic`: the picture, the readouts and the prose say what the models say."""

from __future__ import annotations

import re

import numpy as np
import panel as pn
import pytest

from plates import text
from tests.plates.walk import open_plate
from workshop import roofline, traffic, units


def html(atlas) -> str:
    """Return all HTML of the plate on show."""
    return "".join(p.object for p in atlas.plates[atlas.settings.plate].view().select(pn.pane.HTML))


def test_the_headline_is_on_the_page():
    page = html(open_plate("traffic")).replace("\u00a0", " ")
    for shown in ("545 MB", "46.1 MB", "11.8×", "4.29 GB", "272,629,760", "23,031,880", "65.0×"):
        assert shown in page, shown


@pytest.mark.parametrize("query", ["", "&N=1000&d=80&causal=1&dtype=fp32&gpu=l4", "&N=1&d=8", "&N=1048576"])
def test_all_six_readouts_are_the_models_bytes(query):
    atlas = open_plate("traffic", query)
    s = atlas.settings
    found = dict(re.findall(r'data-readout="(traffic-[^"]+)" data-value="([^"]+)"', html(atlas)))
    for model in traffic.MODELS:
        total = traffic.ledger(model, s.problem, s.tile, s.gpu_record).total
        assert int(found[f"traffic-{model.replace('_', '-')}"]) == total * s.problem.element_bytes
    ratio = (
        traffic.ledger("standard", s.problem, s.tile).total / traffic.ledger("bound", s.problem, s.tile).total
    )
    assert float(found["traffic-ratio"]) == pytest.approx(ratio, rel=1e-15)


def test_every_point_of_every_curve_is_a_ledgers_total():
    atlas = open_plate("traffic", "&models=tiled,algorithm_1,compulsory,waves&causal=1&Br=48&Bc=80")
    plate, s = atlas.plates["traffic"], atlas.settings
    for model in traffic.MODELS:
        data = plate._lines[model].data
        for n, shown in list(zip(data["N"], data["bytes"], strict=True))[::9]:
            s_problem = type(s.problem)(N=int(n), d=s.d, H=s.H, B=s.B, dtype=s.dtype, causal=s.causal)
            assert shown == traffic.ledger(model, s_problem, s.tile, s.gpu_record).total * 2
        dot = plate._dots[model].data_source.data
        assert np.asarray(dot["x"]).tolist() == [s.N]


def test_only_the_models_asked_for_are_drawn():
    plate = open_plate("traffic", "&models=waves").plates["traffic"]
    assert [m for m in traffic.MODELS if plate._renderers[m].visible] == ["standard", "bound", "waves"]


def test_break_even_of_tiled_is_where_the_ledgers_cross():
    atlas = open_plate("traffic", "&N=65536&d=128")
    page = html(atlas).replace("\u00a0", " ")
    Br = int(re.search(r"breaks even at Br = (\d+)", page)[1])
    s = atlas.settings
    standard = traffic.ledger("standard", s.problem, s.tile).total
    tile = type(s.tile)
    assert traffic.ledger("tiled", s.problem, tile(Br=Br)).total <= standard
    assert traffic.ledger("tiled", s.problem, tile(Br=Br - 1)).total > standard
    assert units.number(s.d / 2) in page


@pytest.mark.parametrize("causal", [0, 1])
def test_the_same_multiplications_are_only_claimed_where_they_are_the_same(causal):
    atlas = open_plate("traffic", f"&causal={causal}")
    work = [
        roofline.flops(atlas.settings.problem, model, atlas.settings.tile) for model in ("standard", "bound")
    ]
    said = " ".join(re.sub(r"<[^>]+>", "", atlas.plates["traffic"]._texts["_head"].object).split())
    assert ("do the same multiplications" in said) == (work[0] == work[1])
    assert ("skips whole tiles" in said) == (work[1] < work[0])


def test_at_512_tokens_the_strips_are_as_large_as_the_scores():
    query = re.search(r"\?(N=512[^)]*)\) The gain shrinks", text.sections("traffic")["try"])[1]
    keys = dict(part.split("=") for part in query.split("&"))
    N, d = int(keys["N"]), int(keys["d"])
    assert 4 * N * d == N * N
