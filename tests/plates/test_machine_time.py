"""Plate `machine`, time: curves, ceilings and remarks are the recording's rows; names of curves keep apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from plates import text
from tests.plates import fake_recording
from tests.plates.machine_page import html, values
from workshop import roofline, units
from workshop.hardware import GPUS
from workshop.kernels.plan import LONG
from workshop.problem import Problem, Tile
from workshop.recordings import PROVIDERS
from workshop.recordings.evidence import Evidence

H200 = GPUS["h200-sxm"]


@pytest.mark.parametrize(
    "query", ["", "&d=64&causal=1", "&d=256&direction=both", "&d=64&direction=both&causal=1"]
)
def test_curves_are_the_recordings_rows(open_machine, recorded, query):
    atlas = open_machine(query)
    plate, s = atlas.plates["machine"], atlas.settings
    both = plate.local.direction == "both"
    direction = "forward+backward" if both else "forward"
    for provider in PROVIDERS:
        data = plate._rates.sources[provider].data
        rows = recorded.recording.where(
            metric="time", provider=provider, direction=direction, d=s.d, causal=s.causal, dtype="bf16"
        )
        if provider == "teaching":
            tile = dict(zip(("Br", "Bc", "warps", "stages"), fake_recording.TEACHING_TILES[s.d], strict=True))
            rows = rows.where(**tile)
        # one sequence of 32 heads, fewer only where 32 would not fit: other shapes are no part of the curve
        rows = [row for row in rows.rows if row.batch == 1 and row.heads == (8 if row.N == LONG else 32)]
        rows = sorted(rows, key=lambda row: row.N)
        assert list(data["x"]) == [row.N for row in rows], provider
        pairs = 0.5 if s.causal else 1
        flops = [4 * row.heads * row.N**2 * pairs * row.d * (3.5 if both else 1) for row in rows]
        for column, name in (("y", "p50"), ("low", "p80"), ("high", "p20")):
            want = [f / getattr(row, name) for f, row in zip(flops, rows, strict=True)]
            assert data[column] == pytest.approx(want), (provider, column)
        seconds = plate._seconds.sources[provider].data
        assert list(seconds["y"]) == [row.p50 for row in rows if row.heads == 32]


def test_the_table_is_of_the_nearest_length(open_machine, recorded):
    atlas = open_machine("&N=5000&d=128")
    found = values(atlas)
    for provider in PROVIDERS:
        rows = recorded.recording.where(
            metric="time", provider=provider, direction="forward", d=128, causal=False, N=4096, batch=1
        )
        if provider == "teaching":
            Br, Bc, warps, stages = fake_recording.TEACHING_TILES[128]
            rows = rows.where(Br=Br, Bc=Bc, warps=warps, stages=stages)
        want = 4 * 32 * 4096**2 * 128 / rows.one(metric="time").p50
        assert found[f"tflops-{provider}"] == pytest.approx(want), provider
    assert "N = 4,096 (you chose N = 5,000)" in html(atlas)


def test_the_model_line_is_the_model(open_machine):
    plate = open_machine("&d=64&Br=64").plates["machine"]
    for chart, column in ((plate._rates, "rate"), (plate._seconds, "seconds")):
        data = chart._model.data
        for N, y in zip(data["x"], data["y"], strict=True):
            problem = Problem(N=int(N), d=64)
            time = roofline.time("bound", problem, Tile(Br=64), H200).lower
            want = time if column == "seconds" else 4 * int(N) ** 2 * 64 * 32 / time
            assert y == pytest.approx(want, rel=1e-12)


def test_ceilings_are_the_machines_own(open_machine, recorded):
    plate = open_machine().plates["machine"]
    matmul, copy = (recorded.recording.one(metric=m).p50 for m in ("matmul-rate", "copy-bandwidth"))
    source, label = plate._rates._spans["matmul"]
    assert list(source.data["y"]) == [matmul, matmul] and units.rate_flops(matmul) in label.text
    data = plate._rates._roof.data
    for N, y in zip(data["x"], data["y"], strict=True):
        moved = 2 * (4 * int(N) * 128 + 4 * int(N) ** 2)
        assert y == pytest.approx(min(matmul, copy * 4 * int(N) ** 2 * 128 / moved))


def test_more_than_the_data_sheet_is_remarked_on(open_machine, recorded):
    rows = tuple(
        replace(row, p20=row.p20 / 3, p50=row.p50 / 3, p80=row.p80 / 3)
        if row.metric == "time" and row.provider == "fast"
        else row
        for row in recorded.recording.rows
    )
    atlas = open_machine("&N=4096", Evidence(replace(recorded.recording, rows=rows)))
    assert values(atlas)["tflops-fast"] > H200.rate("bf16").flops
    assert "No kernel can do that" in html(atlas)
    assert "No kernel can do that" not in html(open_machine("&N=4096"))


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_strip_says_whose_kernel_is_fastest(open_machine, lang):
    """A "fast kernel" alone tells a newcomer nothing: the strip says what it is, the terms explain it."""
    atlas = open_machine(f"&N=8192&lang={lang}")
    words, plate = text.labels("machine", lang), atlas.plates["machine"]
    strip = plate._texts["_readouts"].object
    rates = {name: rate for name, rate in values(atlas).items() if name.startswith("tflops-")}
    best = rates.pop("tflops-best")
    provider = next(name for name, rate in rates.items() if rate == best).removeprefix("tflops-")
    assert words.get(f"named_{provider}", words[f"provider_{provider}"]) in strip
    for name in ("teaching", "fast"):
        assert words[f"provider_{name}"].casefold() in plate._texts["terms"].object.casefold()
        assert words[f"provider_{name}"] in words[f"named_{name}"], "one thing, one name"


@pytest.mark.parametrize("query", ["&d=64", "&d=128", "&d=256", "&d=128&causal=1&direction=both"])
def test_names_of_curves_keep_a_line_apart(open_machine, query):
    """Also those of curves that end sooner: on a phone their names reach as far as the others begin."""
    plate = open_machine(query).plates["machine"]
    for chart, position in ((plate._rates, float), (plate._seconds, np.log10)):
        low, high = (position(v) for v in (chart.fig.y_range.start, chart.fig.y_range.end))
        places = sorted(position(label.y) for label in chart._labels.values() if label.visible)
        pixels = np.diff(places) / (high - low) * (chart.fig.height - 70)
        assert pixels.min() >= 18.9, chart
