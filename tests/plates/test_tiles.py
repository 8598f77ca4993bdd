"""Plate `tiles`: bar, cliff, map, pins and verdicts say what the models say, and a click takes a tile."""

from __future__ import annotations

import html as html_lib
import itertools
import re
from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import panel as pn
import pytest
from bokeh.core.property.vectorization import Value
from hypothesis import given, settings
from hypothesis import strategies as st

from plates import block_axis, landscape, text, tile_bar
from plates.cliff import Cliff, curve
from plates.figures import Themed
from plates.theme import PALETTES
from tests.plates.walk import open_plate
from tests.workshop.strategies import PROBLEMS, TILES
from workshop import kernel_tiles, roofline, sram, traffic, units
from workshop.hardware import GPUS
from workshop.kernels import compile_table
from workshop.kernels.compile_options import Options
from workshop.problem import LIMITS, Problem, Tile
from workshop.traffic import ledger


def html(atlas) -> str:
    """Return all HTML of the plate on show."""
    shown = "".join(p.object for p in atlas.plates["tiles"].view().select(pn.pane.HTML))
    return html_lib.unescape(shown).replace("\u00a0", " ")


def readouts(atlas) -> dict[str, str]:
    return dict(re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', html(atlas)))


# Readouts and words ---------------------------------------------------------------------------------------


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


# The bar --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ["", "&Br=1024&Bc=1024&d=256&dtype=fp32&sram=1", "&Br=1&Bc=1&d=8&sram=1024"]
)
def test_the_stacked_bar_sums_to_the_working_set(query):
    atlas = open_plate("tiles", query)
    s = atlas.settings
    bar = atlas.plates["tiles"]._texts["bar"].object
    found = re.findall(r'class="seg (\w+)" data-bytes="(\d+)" style="left:([\d.]+)%;width:([\d.]+)%"', bar)
    needs = sram.working_set(s.problem, s.tile)
    assert [int(size) for _, size, _, _ in found] == list(needs.parts().values())
    assert sum(int(size) for _, size, _, _ in found) == needs.total
    at = 0.0
    for _, size, left, width in found:
        assert float(left) == pytest.approx(at, abs=1e-3)
        share = float(width) / 100 * atlas.plates["tiles"]._teaching_bars()[0].end
        assert share == pytest.approx(int(size), abs=2e-6 * 100 * needs.total + 1)
        at += float(width)
    assert at <= 100
    for name, size in needs.parts().items():
        assert tile_bar.amount(size).replace(" ", "\u00a0") in html_lib.unescape(bar), name


@given(st.integers(1, 10**7), st.integers(1024, 2**20))
def test_bar_and_budget_are_both_in_the_picture(total, budget):
    bar = tile_bar.Bar("t", (tile_bar.Segment("q", "Q", total, "w"),), budget, "b", "{bytes}")
    assert bar.end >= 1.25 * budget and bar.end >= total
    assert total <= 1.2 * budget or bar.end < 1.5 * total + budget


def test_what_exceeds_the_budget_is_told_by_hatch_and_words_too():
    spilled = tile_bar.bars(
        [tile_bar.Bar("t", (tile_bar.Segment("q", "Q", 3000, "w"),), 1024, "b", "{bytes} over")]
    )
    assert 'class="over"' in spilled and "1.93&nbsp;KiB over" in spilled
    fits = tile_bar.bars(
        [tile_bar.Bar("t", (tile_bar.Segment("q", "Q", 1024, "w"),), 1024, "b", "{bytes} over")]
    )
    assert 'class="over"' not in fits


def test_the_kernels_view_is_what_triton_refused():
    """64 x 256 at d = 128 with two stages: Triton asked for 278,528 B and was given 232,448 on an H200 (2026)."""
    page = html(open_plate("tiles", "&Br=64&Bc=256&tile_view=kernel&tile_stages=2"))
    assert "Refuses to launch" in page and "272 KiB" in page and "227 KiB" in page
    assert "Launches" in html(open_plate("tiles", "&Br=64&Bc=64&tile_view=kernel&tile_stages=2"))


# FlashAttention-2's comments give the sizes: 48 KiB for 128 x 32, 64 KiB for 128 x 64, 48 KiB for d = 64
@pytest.mark.parametrize(
    ("d", "Br", "Bc", "kib"), [(128, 128, 32, 48), (128, 128, 64, 64), (64, 128, 128, 48)]
)
def test_shared_memory_of_published_tiles(d, Br, Bc, kib):
    atlas = open_plate("tiles", f"&d={d}&Br={Br}&Bc={Bc}&tile_view=kernel&tile_stages=1")
    assert int(readouts(atlas)["kernel-shared"]) == kib * 1024
    plate, s = atlas.plates["tiles"], atlas.settings
    shared, registers = plate._kernel_bars()
    view = sram.kernel_view(s.problem, s.tile, 1)
    assert (shared.total, registers.total) == (view.shared, view.registers)
    assert (shared.budget, registers.budget) == (s.gpu_record.smem_block, s.gpu_record.regfile_sm)


@pytest.mark.parametrize(
    ("query", "slug"), [("", None), ("&Br=320", "s"), ("&Br=1024&Bc=1024", "q"), ("&Br=256&sram=100", "o")]
)
def test_no_part_is_named_under_the_budgets_line(query, slug):
    (bar,) = open_plate("tiles", query).plates["tiles"]._teaching_bars()
    at, crossed = 0, None
    for segment in bar.segments:
        room = bar.budget - at
        hatching, style = tile_bar._past(room, segment.bytes)
        assert bool(hatching) == (at + segment.bytes > bar.budget)
        if 0 < room < segment.bytes:
            crossed, share = segment.slug, float(re.search(r"left:([\d.]+)%", hatching)[1])
            assert share == pytest.approx(100 * room / segment.bytes, abs=1e-4)
            kept, edge = re.search(r"(left|right):([\d.]+)%", style).groups()
            # from the line to the far end, on the wider side
            assert (
                float(edge) == pytest.approx(share if kept == "left" else 100 - share) and float(edge) <= 50
            )
        at += segment.bytes
    assert crossed == slug


# Triton 3.7.1 for sm_80 (compile-table.csv, bf16): the tile in use is in registers, so one stage fewer is kept
@pytest.mark.parametrize(
    ("Br", "stages", "parts", "said"),
    [
        (128, 2, {"Q": 32768, "K": 16384, "V": 16384}, "one stage fewer"),
        (64, 1, {"Q": 16384, "K / V": 16384, "P": 8192}, "take turns"),
        (64, 3, {"Q": 16384, "2 × K": 32768, "2 × V": 32768, "P": 8192}, "one stage fewer"),
    ],
)
def test_ampere_keeps_one_stage_fewer(Br, stages, parts, said):
    atlas = open_plate("tiles", f"&Br={Br}&Bc=64&gpu=a100-sxm-80&tile_view=kernel&tile_stages={stages}")
    shared, _ = atlas.plates["tiles"]._kernel_bars()
    report = compile_table.lookup(Options(Br=Br, Bc=64, d=128, target="sm_80", stages=stages))
    assert {segment.name: segment.bytes for segment in shared.segments} == parts
    assert int(readouts(atlas)["kernel-shared"]) == sum(parts.values()) == report.shared_bytes
    assert said in html(atlas)


def test_blackwell_may_run_out_of_tensor_memory_first():
    atlas = open_plate("tiles", "&Br=256&Bc=128&gpu=b200&tile_view=kernel&tile_stages=2")
    page = html(atlas)
    assert compile_table.lookup(Options(Br=256, Bc=128, d=128, target="sm_100")).tensor_columns == 640
    assert "Refuses to launch" in page and "640 columns" in page


# The cliff ------------------------------------------------------------------------------------------------


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


# The map --------------------------------------------------------------------------------------------------


def test_the_axis_of_blocks_is_even_and_ends_at_the_limits():
    values = block_axis.VALUES
    assert len(values) == 64 == len(set(values)) and (values[0], values[-1]) == LIMITS["Br"]
    for low, high in itertools.pairwise((8, 16, 32, 64, 128, 256, 512, 1024)):
        assert block_axis.position(high) - block_axis.position(low) == 8
    for value in values:
        assert block_axis.value_at(block_axis.position(value)) == value
    assert (block_axis.value_at(-3), block_axis.value_at(99)) == LIMITS["Br"]


@pytest.mark.parametrize("query", ["", "&N=1000&causal=1&d=80&sram=48&dtype=fp32&gpu=l4&H=7&B=3"])
@pytest.mark.parametrize("colour", ["traffic", "time"])
def test_every_cell_of_the_map_is_the_scalar_models(query, colour):
    atlas = open_plate("tiles", f"{query}&tile_colour={colour}")
    s, data = atlas.settings, atlas.plates["tiles"]._landscape._image.data
    assert data["image"][0].shape == (64, 64)
    for i, j in itertools.product(range(0, 64, 9), range(0, 64, 7)):
        tile = Tile(Br=int(block_axis.VALUES[i]), Bc=int(block_axis.VALUES[j]), sram=s.sram)
        ledger = sram.spill_ledger(s.problem, tile)
        needs = sram.working_set(s.problem, tile)
        # along x, the columns of the image, Br; along y, its rows, Bc
        assert data["bytes"][0][j, i] == pytest.approx(ledger.bytes(s.dtype), rel=1e-6)
        assert data["needs"][0][j, i] == needs.total and bool(data["fits"][0][j, i]) == needs.fits
        work = roofline.flops(s.problem, "tiled", tile)
        seconds = roofline.time_of(ledger, work, s.problem, s.gpu_record).lower
        assert data["time"][0][j, i] == pytest.approx(seconds, rel=1e-6)
        assert data["image"][0][j, i] == data["time" if colour == "time" else "bytes"][0][j, i]


def test_a_block_slider_moves_the_mark_and_sends_no_new_map():
    atlas = open_plate("tiles")
    picture, s = atlas.plates["tiles"]._landscape, atlas.settings
    before = picture._image.data
    s.Br, s.Bc = 208, 56
    assert picture._image.data is before
    assert picture._here.data == {"x": [block_axis.position(208)], "y": [block_axis.position(56)]}
    s.sram = 99
    assert picture._image.data is not before


def inside(x: float, y: float, xs, ys) -> bool:
    """Even-odd rule: whether (x, y) lies in the polygon."""
    crossings = 0
    for (x0, y0), (x1, y1) in itertools.pairwise([*zip(xs, ys, strict=True), (xs[0], ys[0])]):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) * (x1 - x0) / (y1 - y0):
            crossings += 1
    return crossings % 2 == 1


@pytest.mark.parametrize(("d", "KiB"), [(128, 228), (256, 1024), (8, 1), (64, 100)])
def test_the_hatched_region_is_what_does_not_fit(d, KiB):
    fits = sram.landscape(Problem(d=d), KiB, block_axis.VALUES, block_axis.VALUES)["fits"]
    xs, ys = landscape.region(fits)
    if fits.all():
        assert not xs
        return
    for i, j in itertools.product(range(64), repeat=2):
        assert inside(i + 0.5, j + 0.5, xs, ys) == (not fits[i, j])


def test_nothing_is_hatched_where_everything_fits():
    assert landscape.region(np.ones((64, 64), dtype=bool)) == ([], [])


@given(st.integers(0, 2**16 - 1))
def test_the_outline_separates_cells_that_differ(bits):
    grid = np.array([bits >> k & 1 for k in range(16)], dtype=bool).reshape(4, 4)
    xs, ys = landscape.outline(grid)
    edges = {(*x, *y) for x, y in zip(xs, ys, strict=True)}
    assert len(edges) == len(xs)
    for i, j in itertools.product(range(4), repeat=2):
        if i < 3:
            assert ((i + 1, i + 1, j, j + 1) in edges) == bool(grid[i, j] != grid[i + 1, j])
        if j < 3:
            assert ((i, i + 1, j + 1, j + 1) in edges) == bool(grid[i, j] != grid[i, j + 1])


def test_the_known_tiles_are_pinned_and_sources_named():
    atlas = open_plate("tiles")
    s, picture, page = atlas.settings, atlas.plates["tiles"]._landscape, html(atlas)
    Br, Bc = traffic.algorithm_1_blocks(s.tile.M(s.problem), s.d)
    expected = {t.name: (t.Br, t.Bc) for t in kernel_tiles.published(s.problem, s.gpu_record)}
    expected["Algorithm 1"] = (Br, Bc)
    assert set(expected) == {"FlashAttention-2", "FlashAttention-3", "Triton", "Algorithm 1"}
    pins = picture._pins.data_source.data
    places = {(block_axis.position(a), block_axis.position(b)) for a, b in expected.values()}
    assert set(zip(pins["x"], pins["y"], strict=True)) == places
    shown = {label.text for label in picture._names if label.visible}
    assert shown == {*expected, "your tile"}
    for name, (a, b) in expected.items():
        assert f'<a href="?Br={a}&Bc={b}"' in page and f"{a:,} × {b:,}" in page, name
    for tile in kernel_tiles.published(s.problem, s.gpu_record):
        assert tile.source in page


def test_a_pin_outside_the_map_is_left_out():
    atlas = open_plate("tiles", "&d=8&sram=1024")
    assert "Algorithm 1" not in {n.text for n in atlas.plates["tiles"]._landscape._names if n.visible}


@pytest.mark.parametrize(
    "query", ["", "&N=1&d=8&Br=1&Bc=1&sram=1", "&N=1048576&d=8&Br=1&Bc=1024&sram=1", "&Br=8&d=16"]
)
def test_names_on_the_cliff_keep_off_the_tiles_own_number(query):
    cliff = open_plate("tiles", query).plates["tiles"]._cliff
    low, high = cliff.fig.y_range.start, cliff.fig.y_range.end
    decade = 280 / np.log10(high / low)  # px
    here, px = cliff._here, 12  # a cell is about 12 px wide
    top = np.log10(here.y) * decade + here.y_offset - (20 if here.text_baseline == "top" else 0)
    for name in (cliff._standard, cliff._edge):
        if not name.visible:
            continue
        left = name.x * px + name.x_offset - (8 * len(name.text) if name.text_align == "right" else 0)
        bottom = np.log10(name.y) * decade + name.y_offset - 18
        beside = left > here.x * px + 8 * len(here.text) or left + 8 * len(name.text) < here.x * px
        assert beside or bottom > top + 20 or bottom + 18 < top, name.text


def test_labels_on_the_map_keep_apart():
    for query in ("", "&Br=64&Bc=256", "&Br=1&Bc=1", "&Br=1024&Bc=1024", "&d=256"):
        picture = open_plate("tiles", query).plates["tiles"]._landscape
        y = sorted(label.y for label in picture._names if label.visible)
        assert all(b - a >= 2.5 for a, b in itertools.pairwise(y)), query
        assert 0 < y[0] and y[-1] < 64
        verdict = picture._verdict
        for label in picture._names:
            if label.visible and label.x > 32:
                assert label.y + 1.2 < verdict.y - 2.5 or label.y - 1.2 > verdict.y - 0.2, (query, label.text)


def test_a_click_takes_the_tile_and_the_link_carries_it():
    atlas = open_plate("tiles")
    atlas.plates["tiles"]._landscape._on_tap(
        SimpleNamespace(x=block_axis.position(256), y=block_axis.position(32))
    )
    assert (atlas.settings.Br, atlas.settings.Bc) == (256, 32)
    assert "Br=256&Bc=32" in atlas.search()
    atlas.plates["tiles"]._landscape._on_tap(SimpleNamespace(x=None, y=None))
    assert (atlas.settings.Br, atlas.settings.Bc) == (256, 32)


def test_the_colour_bar_says_its_ends_in_words():
    page = html(open_plate("tiles"))
    s = open_plate("tiles").settings
    found = sram.landscape(s.problem, s.sram, block_axis.VALUES, block_axis.VALUES)["traffic_bytes"]
    assert units.bytes_(int(found.min())) in page and units.bytes_(int(found.max())) in page
    assert "light is few, dark is many" in page


def luminance(colour: str) -> float:
    r, g, b = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (r, g, b)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_colour_map_gets_darker_all_the_way():
    light = [luminance(c) for c in landscape.RAMP]
    assert all(a >= b - 2e-3 for a, b in itertools.pairwise(light)) and light[0] > 8 * light[-1]


def test_the_map_follows_the_theme():
    atlas = open_plate("tiles")
    picture = atlas.plates["tiles"]._landscape
    atlas.settings.theme = "dark"
    over = picture._verdict.text_color
    assert (over.value if isinstance(over, Value) else over) == PALETTES["dark"]["over"]


# Loop orders ----------------------------------------------------------------------------------------------


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
