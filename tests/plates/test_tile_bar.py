"""The bar of plate `tiles`: what a tile keeps on the chip, by the models and by the kernel that Triton compiles."""

from __future__ import annotations

import html as html_lib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plates import tile_bar
from tests.plates.tiles_page import html, readouts
from tests.plates.walk import open_plate
from workshop import sram
from workshop.kernels import compile_table
from workshop.kernels.compile_options import Options


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
