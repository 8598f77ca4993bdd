"""Plate `machine`, bytes: models and counters side by side, of the reader's settings, and where they part."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.plates.machine_page import CASE, html, values
from workshop import traffic, units
from workshop.hardware import GPUS
from workshop.problem import Problem, Tile

H200 = GPUS["h200-sxm"]


def test_golden_bytes_at_every_boundary(open_machine):
    """Counted on an H200 for the plain forward kernel, N=4096, d=128, 32 heads: 4.33 GB into L1, 100.7 MB of DRAM."""
    found = values(open_machine(CASE))
    assert found["bytes-l1-counted"] == pytest.approx(4.33e9, rel=2e-3)
    assert found["bytes-dram-counted"] == pytest.approx(100.7e6, rel=1e-2)
    # by hand: Q once and K, V for each of 64 blocks; Q, K, V once; 2 B an element
    head = 4096 * 128
    assert found["bytes-l1-model"] == 32 * 2 * (head + 2 * head * 64)
    assert found["bytes-dram-model"] == 32 * 2 * 3 * head
    assert found["residual-l1"] < 0.01 and found["residual-dram"] < 0.10
    assert found["residual-dram"] == pytest.approx(
        found["bytes-dram-counted"] / found["bytes-dram-model"] - 1, abs=1e-7
    )


@pytest.mark.parametrize(("Br", "expected"), [(16, 17.21e9), (64, 4.33e9), (128, 2.18e9)])
def test_l1_follows_the_tile_and_dram_does_not(open_machine, Br, expected):
    found = values(open_machine(f"&N=4096&d=128&H=32&Bc=64&Br={Br}"))
    assert found["bytes-l1-counted"] == pytest.approx(expected, rel=3e-3)
    assert found["bytes-dram-counted"] == pytest.approx(100.7e6, rel=1e-2)


def test_counted_bytes_are_the_recordings_rows(open_machine, recorded):
    atlas, seen = open_machine(), set()
    for case in recorded.cases:
        row = case.row
        if (shape := (row.N, row.d, row.heads, row.Br, row.Bc, row.causal)) in seen:
            continue  # warps are no setting of the page: of several, it shows the first
        seen.add(shape)
        setting = {
            "N": row.N, "d": row.d, "H": row.heads, "B": row.batch, "Br": row.Br, "Bc": row.Bc, "causal": row.causal,
        }  # fmt: skip
        atlas.settings.param.update(**setting)
        found = values(atlas)
        same = {
            name: getattr(row, name) for name in ("N", "d", "heads", "Br", "Bc", "warps", "stages", "causal")
        }
        for name, metric in (("l1", "l1-load"), ("l2", "l2"), ("dram", "dram-read")):
            counted = recorded.recording.one(provider="teaching", metric=metric, **same).p50
            assert found[f"bytes-{name}-counted"] == counted, (setting, metric)
        problem = Problem(N=row.N, d=row.d, H=row.heads, dtype=row.dtype, causal=row.causal)
        tiled = traffic.ledger("tiled", problem, Tile(Br=row.Br, Bc=row.Bc)).reads
        assert found["bytes-l1-model"] == tiled * problem.heads * 2
        assert "These are your settings." in html(atlas)


def test_bars_are_as_long_as_their_bytes(open_machine):
    atlas = open_machine(CASE)
    found, page = values(atlas), html(atlas)
    widths = [float(w) for w in re.findall(r'<i class="(?:modelled|counted)" style="width:([\d.]+)%', page)]
    names = re.findall(r'data-readout="(bytes-[^"]+-(?:model|counted))"', page)
    assert (
        len(widths) == len(names) == 7
    )  # model and counter at L1, DRAM and of standard; the counter of the L2
    longest = max(found[name] for name in names)
    for name, width in zip(names, widths, strict=True):
        assert width == pytest.approx(100 * found[name] / longest, abs=1e-3), name


def test_standard_attention_stands_beside_it(open_machine):
    found = values(open_machine(CASE))
    head = 4096
    assert found["bytes-standard-model"] == 32 * 2 * (4 * head * 128 + 4 * head * head)
    assert found["bytes-standard-counted"] == pytest.approx(found["bytes-standard-model"], rel=0.03)


def test_the_models_answer_for_exactly_the_readers_settings(open_machine):
    """The recording has no such shape; the model has. By hand: Q once, K and V for each of 11 blocks of 96 rows."""
    found = values(open_machine("&N=1000&d=80&H=3&B=2&Br=96&Bc=32&dtype=fp32"))
    assert found["bytes-tiled"] == 6 * 4 * (1000 * 80 + 2 * 1000 * 80 * 11)
    assert values(open_machine(CASE))["bytes-tiled"] == values(open_machine(CASE))["bytes-l1-model"]


def test_another_shape_is_named(open_machine):
    page = html(open_machine("&N=8192&d=128&H=32&Br=128&Bc=64"))
    assert "N = 4,096 (you chose N = 8,192)" in page
    page = html(open_machine("&N=4096&d=128&H=32&Br=64&Bc=64&dtype=fp16"))
    assert "dtype = bf16 (you chose dtype = fp16)" in page


def test_the_list_of_cases_moves_the_settings(open_machine, recorded):
    atlas = open_machine()
    plate = atlas.plates["machine"]
    k = next(k for k, c in enumerate(recorded.cases) if c.row.N == 131072 and c.problem.heads == 4)
    plate._pick.value = k
    s, row = atlas.settings, recorded.cases[k].row
    assert (s.N, s.d, s.H, s.Br, s.Bc, s.causal) == (
        row.N, row.d, row.heads, row.Br, row.Bc, row.causal,
    )  # fmt: skip
    assert values(atlas)["bytes-dram-counted"] == recorded.cases[k].level("DRAM").counted
    atlas.settings.N = 4096
    assert plate._pick.value != k, "the list follows the settings"


def test_the_diagonal_holds_every_case_twice(open_machine, recorded):
    plate = open_machine().plates["machine"]
    drawn = [
        (x, y)
        for source in plate._law.sources.values()
        for x, y in zip(source.data["x"], source.data["y"], strict=True)
    ]
    counted = sorted(
        row.p50 for row in recorded.recording.where(metric={"l1-load", "dram-read"}, provider="teaching").rows
    )
    assert sorted(y for _, y in drawn) == counted
    for group, bar in (("L1", 0.01), ("compulsory", 0.1), ("waves", 0.1)):
        data = plate._law.sources[group].data
        assert len(data["x"]) and np.allclose(data["y"], data["x"], rtol=bar), group
    outside = plate._law.sources["unclaimed"].data
    assert len(outside["x"]), "cases where no model holds are shown, not hidden"


@pytest.mark.parametrize(
    ("N", "Br", "H", "expected"),
    [(131072, 64, 1, 8.01), (131072, 128, 1, 8.01), (262144, 128, 1, 16.04), (65536, 64, 4, 4.69)],
)
def test_golden_readings_of_k_and_v(recorded, N, Br, H, expected):
    """(DRAM read - Q) / (K + V) an H200 counted in another run: 8.01, 8.01, 16.04 and, with four heads, 4.69."""
    case = next(
        c
        for c in recorded.cases
        if (c.row.N, c.row.Br, c.problem.heads, c.row.d) == (N, Br, H, 128) and not c.row.causal
    )
    assert case.passes == pytest.approx(expected, rel=0.03)


def test_readings_are_drawn_where_they_were_counted(open_machine, recorded):
    plate = open_machine().plates["machine"]
    drawn = {group: plate._passes.sources[group].data for group in ("one", "many", "apart")}
    assert all(len(data["x"]) for data in drawn.values())
    points = sorted(p for data in drawn.values() for p in zip(data["x"], data["y"], strict=True))
    assert points == sorted((2 * c.row.N * c.row.d * 2, c.passes) for c in recorded.cases if not c.row.causal)
    for shape in drawn["many"]["shape"]:
        assert "one head" not in shape
    assert max(drawn["apart"]["y"]) > 50, "an H200 read K and V a hundred times where waves says 13"


def test_where_blocks_fall_out_of_step_is_said(open_machine, recorded):
    off = [
        (c.level("DRAM").counted / c.level("DRAM").modelled, c.row.Br)
        for c in recorded.cases
        if c.per_sm > 3 and c.level("DRAM").model == "waves" and not c.row.causal
    ]
    most, Br = max(off)
    page = html(open_machine())
    assert f"up to {units.ratio(most)} what waves says" in page and f"{Br}×64)" in page


def test_what_breaks_is_said(open_machine, recorded):
    page = html(open_machine())
    claimed = [c for c in recorded.cases if c.level("DRAM").claimed]
    bad = [c for c in claimed if abs(c.level("DRAM").residual) > 0.10]
    assert f"{len(claimed) - len(bad)} of them are within 10 %" in page
    for case in bad:
        assert f"{units.percent(abs(case.level('DRAM').residual))}".split(" ")[0][:3] in page
    assert (
        "Four honest limits" in page
        and "Several long heads" in page
        and "The edge of the cache" in page
        and "Causal long heads" in page
    )
