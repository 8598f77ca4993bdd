"""Plate `machine`, tiles: the sweep is the recording's rows, beside the models' landscape."""

from __future__ import annotations

import numpy as np
import pytest

from plates import text
from workshop import recordings, sram
from workshop.hardware import GPUS
from workshop.problem import Problem
from workshop.recordings.evidence import Evidence

H200 = GPUS["h200-sxm"]
WORDS = text.labels("machine")


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d", [64, 128])
def test_the_sweep_is_the_recordings_rows(open_machine, d, causal):
    shipped = recordings.load("h200")
    plate = open_machine(f"&d={d}&causal={int(causal)}", Evidence(shipped)).plates["machine"]
    cells = plate._sweeps.measured.cells.data
    timed = shipped.where(
        metric="time", provider="teaching", direction="forward", d=d, N=4096, causal=causal, stages=2
    )
    best = {}
    for row in timed.rows:
        if (row.Br, row.Bc) not in best or row.p50 < best[row.Br, row.Bc].p50:
            best[row.Br, row.Bc] = row
    assert len(cells["tile"]) == len(best)
    for k, tile in enumerate(cells["tile"]):
        row = best[tuple(map(int, tile.split(" × ")))]
        assert cells["rate"][k] == pytest.approx(
            4 * row.heads * row.N**2 * d / (2 if causal else 1) / row.p50
        )
        assert cells["shown"][k] == f"{cells['rate'][k] / 1e12:.0f}"
        same = {name: getattr(row, name) for name in ("Br", "Bc", "warps", "N", "d", "heads")}
        spilled = shipped.one(metric="spills", provider="teaching", stages=2, causal=causal, **same).p50
        assert cells["mark"][k] == (f"▲ {spilled:.0f} B" if spilled else "")
    refused = {
        (n.case["Br"], n.case["Bc"])
        for n in shipped.notes
        if n.kind == "refused"
        and (n.case["d"], n.case["N"], n.case["stages"], n.case["causal"]) == (d, 4096, 2, causal)
    } - set(best)
    over = plate._sweeps.measured.over.data
    assert {tuple(map(int, tile.split(" × "))) for tile in over["tile"]} == refused
    assert all("would not launch" in said for said in over["said"])
    if d == 128:
        # an H200 wanted 278,528 B for 64 x 256 and gives a block 232,448 B
        assert (64, 256) in refused and any("278,528" in said and "232,448" in said for said in over["said"])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d", [64, 128])
def test_the_lessons_of_the_sweep_follow_its_rows(open_machine, d, causal):
    plate = open_machine(f"&d={d}&causal={int(causal)}", Evidence(recordings.load("h200"))).plates["machine"]
    found = plate._latest["_"].sweep
    lessons = " ".join(plate._texts["sweeplessons"].object.replace("\u00a0", " ").split())
    refused = sum(cell.best is None for cell in found.cells.values())
    spilled = sum(bool(cell.spills) for cell in found.cells.values())
    assert (f"{refused} never ran" in lessons) == bool(refused)
    assert ("and all ran" in lessons) == (not refused)
    assert (f"{spilled} did" in lessons) == bool(spilled)
    clean = {tile: cell for tile, cell in found.cells.items() if cell.best and not cell.spills}
    rule = clean[max(clean, key=lambda tile: (tile[0] * tile[1], tile[0]))]
    assert rule.rate <= found.fastest.rate
    assert ("finds it too" in lessons) == (rule is found.fastest)
    assert (f"would have taken {rule.Br}×{rule.Bc}" in lessons) == (rule is not found.fastest)


@pytest.mark.parametrize("dtype", ["fp16", "fp32", "fp8", "bf16"])
def test_every_note_names_the_number_format_that_was_recorded(open_machine, dtype):
    """Of each part the one that is shown: nothing of another format stands under "These are your settings."."""
    plate = open_machine(f"&N=4096&d=128&H=32&Br=64&Bc=64&dtype={dtype}").plates["machine"]
    seen, blocks = plate._latest["_"], plate._latest["blocks"]
    rows = {
        "bytes_note": seen.case.row,
        "times_note": seen.times.rows[0],
        "sweep_note": seen.sweep.shape,
        "error_note": next(iter(seen.errors.rows.values())),
    }
    for block, row in rows.items():
        named = f"dtype = {row.dtype} (you chose dtype = {dtype})" in blocks[block]
        assert named == (row.dtype != dtype), block
        assert row.dtype == dtype or WORDS["same_shape"] not in blocks[block], block


def test_the_models_landscape_is_the_models(open_machine):
    plate = open_machine("&d=128&sram=128").plates["machine"]
    cells = plate._sweeps.model.cells.data
    sides = [16, 32, 64, 128, 256]
    grid = sram.landscape(Problem(N=4096, d=128), 128, sides, sides, H200)
    for k, tile in enumerate(cells["tile"]):
        Br, Bc = map(int, tile.split(" × "))
        time = float(grid["time"][sides.index(Br), sides.index(Bc)])
        assert cells["rate"][k] == pytest.approx(4 * 32 * 4096**2 * 128 / time)
    spilled = {tuple(map(int, tile.split(" × "))) for tile in plate._sweeps.model.over.data["tile"]}
    want = {(sides[i], sides[j]) for i, j in zip(*np.nonzero(~grid["fits"]), strict=True)}
    assert spilled == want


def test_the_readers_tile_is_framed(open_machine):
    plate = open_machine("&Br=64&Bc=128").plates["machine"]
    assert plate._sweeps.measured.rings["yours"].data == {"x": [2.5], "y": [3.5]}
    plate = open_machine("&Br=96&Bc=128").plates["machine"]
    assert plate._sweeps.measured.rings["yours"].data == {"x": [], "y": []}
