"""What the pages draw from a recording: nearest shapes, curves and ceilings, sweeps, counted cases, roofline points."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop import recordings
from workshop.problem import Problem, Tile
from workshop.recordings import Note, Recording, Row
from workshop.recordings.as_published import as_published
from workshop.recordings.boundaries import BARS
from workshop.recordings.curves import case_of, ceilings, curves, modelled, rate, roof
from workshop.recordings.evidence import Evidence, agrees
from workshop.recordings.nearest import differences, distance, nearest
from workshop.recordings.points import points
from workshop.recordings.sweep import sweep, swept_heads

ORIGIN = {
    "gpu": "NVIDIA H200", "driver": "1", "torch": "2", "triton": "3", "commit": "abc", "time": "2026-11-29T00:00:00Z",
}  # fmt: skip


def row(provider="fast", metric="time", unit="s", value=1e-3, **changes) -> Row:
    case = {
        "direction": "forward", "dtype": "bf16", "batch": 1, "heads": 32, "kv_heads": 32, "N": 4096, "d": 128,
        "causal": False, "Br": None, "Bc": None, "warps": None, "stages": None,
    }  # fmt: skip
    return Row(
        provider,
        **(case | changes),
        metric=metric,
        unit=unit,
        p20=value * 0.9,
        p50=value,
        p80=value * 1.2,
        **ORIGIN,
    )


def own(metric, unit, value) -> Row:
    empty = dict.fromkeys(("batch", "heads", "kv_heads", "N", "d", "causal", "Br", "Bc", "warps", "stages"))
    return Row("", "", "bf16", **empty, metric=metric, unit=unit, p20=value, p50=value, p80=value, **ORIGIN)


def tile(Br, Bc, warps=4, stages=2, **more) -> dict:
    return {"provider": "teaching", "Br": Br, "Bc": Bc, "warps": warps, "stages": stages, **more}


# Nearest --------------------------------------------------------------------------------------------------

SHAPES = st.fixed_dictionaries(
    {
        "N": st.integers(1, 1 << 20),
        "d": st.integers(8, 256),
        "heads": st.integers(1, 256),
        "causal": st.booleans(),
        "Br": st.integers(1, 1024),
        "Bc": st.integers(1, 1024),
    }
)


@given(SHAPES, st.lists(SHAPES, min_size=1, max_size=8))
def test_the_nearest_is_the_same_where_it_was_recorded(wanted, others):
    def of(shape: dict) -> Row:
        shape = dict(shape)
        return row(**tile(shape.pop("Br"), shape.pop("Bc")), **shape)

    found = nearest([*map(of, others), of(wanted)], wanted)
    assert distance(found, wanted) == 0 and differences(found, wanted) == {}


def test_the_mask_matters_more_than_the_length():
    masked, short = row(causal=True, N=8192), row(causal=False, N=512)
    assert nearest([masked, short], {"N": 8192, "causal": False}) is short
    assert differences(short, {"N": 8192, "causal": False}) == {"N": (512, 8192)}


def test_a_cell_that_a_library_leaves_empty_does_not_count():
    assert distance(row(), {"Br": 64, "N": 4096}) == 0 and nearest([], {"N": 1}) is None


# Curves ---------------------------------------------------------------------------------------------------


def test_rates_count_as_the_field_counts():
    """4 N^2 d a head, half when causal, 3.5 times with the backward pass: by hand for 32 heads, 4096, 128."""
    forward = 4 * 32 * 4096**2 * 128
    assert rate(row(value=1e-3)) == pytest.approx(forward / 1e-3)
    assert rate(row(value=1e-3, causal=True)) == pytest.approx(forward / 2e-3)
    assert rate(row(value=1e-3, direction="forward+backward")) == pytest.approx(3.5 * forward / 1e-3)


def test_a_curve_takes_the_tile_of_most_lengths_and_the_most_heads():
    rows = [
        *(row(**tile(128, 64, 4, 2, N=N), value=N * 1e-6) for N in (512, 1024, 4096)),
        *(row(**tile(64, 64, 4, 2, N=N), value=N * 1e-7) for N in (512, 4096)),  # faster, but fewer lengths
        row("fast", N=1024, heads=8, kv_heads=8),
        row("fast", N=1024, heads=32, value=2e-3),
        row("fast", N=4096, kv_heads=8),  # grouped heads are another problem
        row("standard", N=512, causal=True),
    ]
    found = curves(Recording("r", tuple(rows)), d=128, causal=False)
    assert list(found) == ["teaching", "fast"]
    assert list(found["teaching"].N) == [512, 1024, 4096]
    assert {r.Br for r in found["teaching"].rows} == {128}
    assert [(r.N, r.heads, r.p50) for r in found["fast"].rows] == [(1024, 32, 2e-3)]
    assert found["fast"].fast > found["fast"].rate > found["fast"].slow


def test_a_roof_is_the_lower_of_product_and_copy():
    machine = ceilings(
        Recording("r", (own("matmul-rate", "FLOP/s", 700e12), own("copy-bandwidth", "B/s", 4e12)))
    )
    problem = Problem(N=4096, d=128)
    # standard: 4Nd + 4N^2 elements of 2 B a head
    moved = 2 * (4 * 4096 * 128 + 4 * 4096**2)
    assert roof(machine, "standard", problem, "forward", [4096])[0] == pytest.approx(
        4e12 * 4 * 4096**2 * 128 / moved
    )
    assert roof(machine, "compulsory", problem, "forward", [16384])[0] == 700e12
    assert roof(ceilings(Recording("r", ())), "standard", problem, "forward", [4096]) is None


def test_the_model_is_counted_as_the_recording_is():
    seconds, rates = modelled(Problem(d=128), Tile(), _gpu(), "forward", [8192])
    assert seconds[0] == pytest.approx(4 * 32 * 8192**2 * 128 / 989e12)  # the H200 waits for arithmetic there
    assert rates[0] == pytest.approx(989e12)
    both, both_rates = modelled(Problem(d=128), Tile(), _gpu(), "forward+backward", [8192])
    assert both[0] == pytest.approx(3.5 * seconds[0]) and both_rates[0] == pytest.approx(989e12)


def _gpu():
    from workshop.hardware import GPUS

    return GPUS["h200-sxm"]


# Sweep ----------------------------------------------------------------------------------------------------


def test_a_sweep_takes_the_faster_warps_and_their_spills():
    rows = [
        row(**tile(64, 64, 4), value=2e-3),
        row(**tile(64, 64, 8), value=1e-3),
        row(**tile(64, 64, 8), metric="spills", unit="B", value=96),
        row(**tile(64, 64, 4), metric="spills", unit="B", value=0),
        row(**tile(128, 64, 4), value=3e-3),
        row(**tile(64, 64, 4, 3), value=1e-9),  # another number of stages
        row(**tile(64, 64, 4, causal=True), value=1e-9),
    ]
    case = {name: getattr(rows[0], name) for name in recordings.CASE_COLUMNS}
    refused = [
        {
            "case": case | {"Br": 64, "Bc": 256, "warps": w},
            "sentence": "needs more",
            "required": 2,
            "limit": 1,
        }
        for w in (4, 8)
    ]
    once = [{"case": case | {"Br": 128, "Bc": 64, "warps": 8}, "sentence": "needs more"}]
    found = sweep(Recording("r", tuple(rows), {"refused": refused + once}), 128)
    assert (found.Br, found.Bc) == ((64, 128), (64, 256)) and set(found.cells) == {
        (64, 64),
        (128, 64),
        (64, 256),
    }
    best = found.cells[64, 64]
    assert best.best.warps == 8 and best.spills == 96 and best.tried == (4, 8) and found.fastest is best
    assert found.cells[64, 256].best is None and isinstance(found.cells[64, 256].refused, Note)
    assert found.cells[128, 64].refused is None, "one number of warps did launch"
    assert sweep(Recording("r", ()), 128) is None
    masked = sweep(Recording("r", tuple(rows)), 128, causal=True)
    assert set(masked.cells) == {(64, 64)} and masked.shape.causal
    assert swept_heads(Recording("r", tuple(rows)), least=2) == (128,)


# Counted cases --------------------------------------------------------------------------------------------


def test_agreement_is_the_bar_not_the_claim():
    shipped = Evidence(recordings.load("h200"))
    for case in shipped.cases:
        for level in case.levels:
            if level.residual is None:
                assert agrees(level) is None
            else:
                off = abs(level.counted - level.modelled) / level.modelled
                assert agrees(level) == (off <= BARS[level.level])
    with pytest.raises(ValueError, match="expected one of"):
        shipped.cases[0].level("L3")


def test_l1_is_tiled_on_every_counted_case():
    shipped = Evidence(recordings.load("h200"))
    assert len(shipped.cases) >= 30 and not shipped.missing
    assert all(agrees(case.level("L1")) for case in shipped.cases)


def test_a_case_that_lacks_a_counter_is_named():
    shipped = recordings.load("h200")
    rows = tuple(
        r for r in shipped.rows if not (r.metric == "l2" and r.provider == "teaching" and r.N == 131072)
    )
    found = Evidence(replace(shipped, rows=rows))
    assert len(found.missing) == len(shipped.where(metric="l2", provider="teaching", N=131072).rows)
    assert all("N=131,072" in said for said in found.missing)
    assert len(found.cases) + len(found.missing) == len(Evidence(shipped).cases)


# Roofline points ------------------------------------------------------------------------------------------


def test_points_use_counted_bytes_where_there_are_any():
    rows = (
        row("fast", value=1e-3),
        row("fast", metric="dram-read", unit="B", value=1e8),
        row("fast", metric="dram-write", unit="B", value=3e7),
        row("standard", value=5e-3),
        row("sdpa-flash", value=2e-3),
        row("fast", N=8192, value=1),
    )
    found = points(Evidence(Recording("r", rows)), N=3000, d=100, causal=False)
    assert set(found) == {"fast", "standard", "sdpa-flash"}
    work = 4 * 32 * 4096**2 * 128
    assert found["fast"].counted and found["fast"].intensity == pytest.approx(work / 1.3e8)
    assert found["fast"].rate == pytest.approx(work / 1e-3)
    assert not found["standard"].counted
    assert found["standard"].moved == 32 * 2 * (4 * 4096 * 128 + 4 * 4096**2)
    assert found["sdpa-flash"].moved == 32 * 2 * 4 * 4096 * 128
    assert points(Evidence(Recording("r", rows)), N=3000, d=100, causal=True) == {}


def test_curves_of_the_shipped_recording_are_ascending():
    shipped = recordings.load("h200")
    for d in shipped.where(metric="time").values("d"):
        for curve in curves(shipped, d=d, causal=False).values():
            assert (np.diff(curve.N) > 0).all() and all(case_of(r).d == d for r in curve.rows)


def test_speeds_as_published_are_those_of_the_papers_conditions():
    like = {
        "provider": "fast",
        "metric": "time",
        "N": 16384,
        "d": 128,
        "heads": 16,
        "kv_heads": 16,
        "batch": 1,
    }
    rows = [
        row(**like, causal=False, value=1e-3),
        row(**like, causal=True, value=6e-4),
        row(**like | {"heads": 32, "kv_heads": 32}, causal=False, value=1e-9),  # twice the width
        row(**like | {"d": 64, "heads": 32, "kv_heads": 32}, causal=False, value=1e-3),  # never with the mask
    ]
    (one,) = as_published(Recording("r", tuple(rows)))
    assert (one.provider, one.d) == ("fast", 128)
    assert one.full == pytest.approx(4 * 16384**2 * 128 * 16 / 1e-3)
    assert one.causal == pytest.approx(4 * 16384**2 * 128 * 16 / 2 / 6e-4)
    assert as_published(Recording("r", ())) == ()
