"""Plate `sparsity`: readouts, picture and prose are the models'; paintings travel in links; tasks keep promises."""

from __future__ import annotations

import json
import re

import numpy as np
import panel as pn
import pytest

from plates import sparsity, text
from tests.plates.walk import complaints, open_plate, turn
from workshop import block_masks, mask_picture, masks, results, roofline, traffic
from workshop.block_masks import PATTERNS

EXTREMES = (
    "&N=1&d=8&Br=1&Bc=1&sram=1",
    "&N=1&Br=1024&Bc=1024",
    "&N=17&Br=1024&Bc=1&dtype=fp8",
    "&N=1048576&d=256&H=256&B=1024&Br=1024&Bc=1024&dtype=fp32",
    "&N=1048576&Br=1024&Bc=8&gpu=mi300x",
    "&N=65536&Br=1&Bc=1024&gpu=custom&bandwidth=10&tflops=100000",
)


def plate_of(query=""):
    atlas = open_plate("sparsity", query)
    return atlas, atlas.plates["sparsity"]


def html(atlas) -> str:
    found = "".join(p.object for p in atlas.plates["sparsity"].view().select(pn.pane.HTML))
    return re.sub(r"\s+", " ", found)


def readouts(atlas) -> dict[str, str]:
    return dict(re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', html(atlas)))


@pytest.fixture(scope="module")
def one_page():
    """A page that tests which only look turn to what they want to see."""
    return open_plate("sparsity")


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("query", EXTREMES)
def test_every_mask_at_the_ends_of_the_problem(one_page, pattern, query, causal):
    for own in (
        "&window=1&tokens=0&stride=2&density=0",
        "&window=1048576&tokens=4096&stride=4096&density=100",
    ):
        atlas = turn(one_page, f"{query}&pattern={pattern}&causal={causal}{own}")
        plate = atlas.plates["sparsity"]
        assert plate.local.pattern == pattern and atlas.settings.causal == bool(causal)
        assert not complaints(atlas)
        picture = json.loads(plate._view_of_mask.picture)
        assert 1 <= len(picture["live"]) <= mask_picture.MOST
        assert sum(picture["counts"]) == len(picture["live"]) * len(picture["live"][0])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_readouts_are_the_models(pattern):
    atlas, plate = plate_of(
        f"&pattern={pattern}&N=5000&d=80&Br=48&Bc=96&H=7&B=3&window=333&tokens=33&stride=111&causal=1"
    )
    s, own, found = atlas.settings, plate.local, readouts(atlas)
    mask = block_masks.make(
        pattern,
        5000,
        causal=True,
        window=333,
        tokens=33,
        stride=111,
        density=own.density / 100,
    )
    counts = block_masks.count(mask, 48, 96)
    assert int(found["visited-tiles"]) == counts.visited
    assert int(found["total-tiles"]) == -(-5000 // 48) * -(-5000 // 96) == counts.total
    assert float(found["mask-waste"]) == pytest.approx(1 - counts.live / counts.scores, rel=1e-12)
    plain = type(s.problem)(N=5000, d=80, H=7, B=3)
    dense = traffic.ledger("tiled", plain, s.tile)
    ledger = block_masks.ledger(counts, plain)
    assert float(found["mask-traffic-ratio"]) == pytest.approx(dense.total / ledger.total, rel=1e-12)
    time = roofline.time_of(ledger, block_masks.flops(counts, plain), plain, s.gpu_record)
    whole = roofline.time("tiled", plain, s.tile, s.gpu_record)
    assert float(found["mask-time-ratio"]) == pytest.approx(whole.lower / time.lower, rel=1e-12)
    assert float(found["mask-time-mask"]) == pytest.approx(time.lower, rel=1e-12)
    assert float(found["mask-time-dense"]) == pytest.approx(whole.lower, rel=1e-12)


def test_the_causal_readouts_are_those_of_the_mask_model():
    atlas, _ = plate_of("&pattern=causal&N=512&Br=128&Bc=128")
    found = readouts(atlas)
    assert (found["visited-tiles"], found["total-tiles"]) == ("10", "16")
    for N, Br, Bc in ((8192, 128, 64), (1_048_576, 96, 1000)):
        atlas, _ = plate_of(f"&pattern=causal&N={N}&Br={Br}&Bc={Bc}")
        found = readouts(atlas)
        assert (int(found["visited-tiles"]), int(found["total-tiles"])) == masks.visited(N, Br, Bc, True)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_picture_is_the_mask(pattern):
    _, plate = plate_of(f"&pattern={pattern}&N=700&Br=32&Bc=48&window=100&tokens=20&stride=64")
    picture = json.loads(plate._view_of_mask.picture)
    mask, _ = sparsity._mask(*plate._arguments())
    drawn = mask_picture.corner(mask, 32, 48).mask
    matrix = block_masks.matrix(drawn)
    for i, row in enumerate(picture["live"]):
        for j, live in enumerate(row):
            q, k = picture["q0"] + 32 * i, picture["k0"] + 48 * j
            tile = matrix[q : min(q + 32, picture["q1"]), k : min(k + 48, picture["k1"])]
            assert live == tile.sum()
            expected = masks.FULL if tile.all() else masks.PARTIAL if tile.any() else masks.SKIPPED
            assert picture["kinds"][i][j] == expected
    covered = np.zeros_like(matrix)
    for top, bottom, low, high in picture["bands"] + picture["columns"]:
        covered[top:bottom, low:high] = True
    # the outlines follow every row exactly while the corner has at most 192 of them, and closely beyond
    q0, q1, k0, k1 = (picture[name] for name in ("q0", "q1", "k0", "k1"))
    wrong = (covered != matrix)[q0:q1, k0:k1].mean()
    assert wrong < 0.01


def test_every_point_of_the_waste_curve_is_counted():
    _, plate = plate_of("&pattern=window&window=700&N=4096&causal=1")
    mask = block_masks.make("window", 4096, causal=True, window=700)
    for side, share in zip(plate._waste.curve.data["side"], plate._waste.curve.data["share"], strict=True):
        assert share == block_masks.count(mask, int(side), int(side)).scores / 4096**2
    floor = block_masks.live(mask) / 4096**2
    assert set(plate._waste.floor.data["share"]) == {floor} and max(plate._waste.curve.data["share"]) > floor


def test_bars_are_shares_of_the_dense_run():
    _, plate = plate_of("&pattern=strided&stride=64&window=1")
    live, computed, moved, _ = (bar["share"] for bar in json.loads(plate._view_of_mask.picture)["shares"])
    assert computed == moved == 1.0 and live < 0.02


def test_a_painting_travels_in_the_link_and_back():
    atlas, plate = plate_of("&pattern=painted")
    cells = np.zeros((16, 16), dtype=bool)
    cells[3, 5] = cells[15, 15] = True
    plate._view_of_mask.code = block_masks.painting_code(cells)  # as the browser writes it
    assert "paint=" in atlas.search()
    again, other = plate_of(atlas.search().removeprefix("?plate=sparsity"))
    assert other._view_of_mask.code == block_masks.painting_code(cells)
    assert readouts(again)["visited-tiles"] == readouts(atlas)["visited-tiles"] == str(2 * 4 * 8)


def test_a_painting_that_cannot_be_read_is_ignored_and_said():
    for bad in ("abc", "A" * 44, "!" * 43):
        atlas, plate = plate_of(f"&pattern=painted&paint={bad}&N=4096")
        assert plate.local.paint == sparsity.OPENING and atlas.settings.N == 4096
        assert "cannot be read" in atlas._notes.object


def test_an_empty_painting_costs_the_queries_and_the_output_only():
    empty = block_masks.painting_code(np.zeros((16, 16), dtype=bool))
    atlas, _ = plate_of(f"&pattern=painted&paint={empty}")
    found = readouts(atlas)
    assert found["visited-tiles"] == "0" and float(found["mask-waste"]) == 0
    assert not complaints(atlas)


def test_only_the_controls_that_a_mask_uses_are_shown():
    for pattern, shown in {
        "causal": set(),
        "window": {"window"},
        "global": {"window", "tokens"},
        "strided": {"window", "stride"},
        "blocks": {"density"},
        "painted": set(),
    }.items():
        _, plate = plate_of(f"&pattern={pattern}")
        assert {name for name, column in plate._numbers.items() if column.visible} == shown


def test_the_prose_says_what_gathering_costs():
    atlas, _ = plate_of("&pattern=window&window=1000")
    page = html(atlas)
    assert "more than 64 keys" in page  # 8,192 tokens in blocks of 128
    counts = block_masks.count(block_masks.make("window", 8192, window=1000), 128, 64)
    total = sum(t.bytes for t in block_masks.gather(counts, atlas.settings.problem))
    assert f"{total / 1e9:.2f} GB a head" in page


def test_published_figures_in_the_prose_are_those_of_the_records():
    page = html(plate_of()[0])
    exact, sparse = (f"{row.speedup} times" for row in results.LONG_RANGE)
    assert exact in page and sparse in page and "between 512 and 1,024 tokens" in page


@pytest.mark.parametrize("number", range(7))
def test_each_task_shows_what_it_promises(number):
    links = re.findall(r"\]\((\?[^)]+)\)", text.sections("sparsity")["try"])
    assert len(links) == 7
    atlas, plate = plate_of("&" + links[number].removeprefix("?"))
    assert not complaints(atlas) and not atlas._notes.object
    _, counts, *_ = plate.facts()["_"]
    if number == 0:
        assert 0.5 < counts.share < 0.52 and counts.live == 8192 * 8193 // 2
    elif number == 1:
        assert counts.visited == 64 + 63
        _, other = plate_of("&" + links[1].removeprefix("?").replace("129", "130"))
        assert other.facts()["_"][1].visited == 64 + 63 + 62
    elif number == 2:
        assert counts.wasted > 0.85
    elif number == 3:
        assert counts.visited == counts.total
        _, other = plate_of("&" + links[3].removeprefix("?").replace("stride=64", "stride=512"))
        assert other.facts()["_"][1].share < 0.2
    elif number == 4:
        grid = block_masks.tile_kinds(plate.facts()["_"][0], 128, 64, range(64), range(128))
        assert (grid[0] > 0).all() and (grid[:, 0] > 0).all()
    elif number == 6:
        assert float(readouts(atlas)["mask-time-ratio"]) > 100


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("N", [100, 8192])
def test_the_key_beside_the_picture_says_which_tiles_it_counts(pattern, N):
    atlas, plate = plate_of(f"&pattern={pattern}&N={N}&Br=128&Bc=64")
    picture, total = json.loads(plate._view_of_mask.picture), int(readouts(atlas)["total-tiles"])
    shown = sum(picture["counts"])
    whole = shown == total and picture["q1"] == picture["k1"] == N
    assert (picture["counted"] == f"Tiles of the whole mask: {total:,}") == whole
    if not whole:
        assert re.search(rf"^Tiles in this picture.*: {shown:,}\b", picture["counted"])
        assert f"{total:,}" in picture["counted"]
    assert ("A part of the mask" in plate._latest["drawn"]) == (
        not whole and pattern not in ("blocks", "painted")
    )
