"""The map of plate `tiles`: each cell is the models', pins and hatching are where they belong, a click takes a tile."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from bokeh.core.property.vectorization import Value
from hypothesis import given
from hypothesis import strategies as st

from plates import block_axis, landscape
from plates.theme import PALETTES
from tests.plates.tiles_page import html
from tests.plates.walk import open_plate
from workshop import kernel_tiles, roofline, sram, traffic, units
from workshop.problem import LIMITS, Problem, Tile


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
