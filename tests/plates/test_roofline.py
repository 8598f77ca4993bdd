"""Plate `roofline`: readouts, bars, roof and points say what the models say, and stay on axes that do not move."""

from __future__ import annotations

import itertools
import re

import numpy as np
import panel as pn
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plates import provenance, roof_chart, time_bars
from tests.plates.walk import open_plate
from tests.workshop.strategies import PROBLEMS, TILES
from workshop import roofline, traffic, units
from workshop.hardware import GPUS, SUSTAINED, custom


def html(atlas) -> str:
    """Return all HTML of the plate on show."""
    shown = "".join(p.object for p in atlas.plates["roofline"].view().select(pn.pane.HTML))
    return shown.replace("\u00a0", " ")


def times(atlas) -> dict[str, roofline.Time]:
    s = atlas.settings
    return {m: roofline.time(m, s.problem, s.tile, s.gpu_record) for m in traffic.MODELS}


def test_the_headline_is_on_the_page():
    page = html(open_plate("roofline"))
    found = dict(re.findall(r'data-readout="(time-[^"]+)" data-value="([^"]+)"', page))
    # 4 N^2 d x 32 FLOPs at 989 TFLOP/s; 17.4 and 1.47 GB at 3.35 TB/s
    assert float(found["time-standard"]) == pytest.approx(5.2084e-3, abs=5e-8)
    assert float(found["time-bound"]) == pytest.approx(1.1117e-3, abs=5e-8)
    assert float(found["time-ratio"]) == pytest.approx(4.685, abs=5e-4)
    assert set(found) == {"time-standard", "time-bound", "time-tiled", "time-ratio"}
    for shown in ("5.21 ms", "1.11 ms", "63.0 FLOP/B", "746 FLOP/B", "295 FLOP/B", "989 TFLOP/s", "6.32 ms"):
        assert shown in page, shown


@pytest.mark.parametrize("query", ["&N=1000&d=80&causal=1&dtype=fp32&gpu=l4", "&N=1&d=8", "&N=1048576&Br=16"])
def test_readouts_are_the_models_times(query):
    atlas = open_plate("roofline", query)
    found = dict(re.findall(r'data-readout="time-([^"]+)" data-value="([^"]+)"', html(atlas)))
    expected = times(atlas)
    for model in ("standard", "bound", "tiled"):
        assert float(found[model]) == expected[model].lower
    assert float(found["ratio"]) == pytest.approx(expected["standard"].lower / expected["bound"].lower)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "Standard attention <b>waits for memory</b>"),
        ("&dtype=fp32", "Both <b>wait for arithmetic</b>"),
        ("&N=64", "Both <b>wait for memory</b>"),
        (
            "&gpu=custom&bandwidth=16000&tflops=800&sram=8",
            "Here standard attention <b>waits for arithmetic</b>",
        ),
    ],
)
def test_the_verdict_names_what_binds(query, says):
    atlas = open_plate("roofline", query)
    assert says in html(atlas)
    found = times(atlas)
    word = {"memory": "memory", "compute": "arithmetic"}
    assert word[found["standard"].binding] in says or "Both" in says


def test_bars_are_as_long_as_their_times():
    atlas = open_plate("roofline", "&time_models=tiled,algorithm_1,compulsory,waves&N=5000&causal=1")
    lanes = html(atlas).split('<div class="lane"')[1:]
    assert len(lanes) == len(traffic.MODELS)
    found = times(atlas)
    longest = (max(t.upper for t in found.values()), max(t.lower for t in found.values()))
    end = time_bars.end_of(*longest)
    for lane, time in zip(lanes, found.values(), strict=True):
        drawn = re.findall(
            r'class="part (work|bytes)[^"]*" style="width:([\d.]+)%" data-seconds="([^"]+)"', lane
        )
        assert [(k, float(s)) for k, _, s in drawn] == [("work", time.compute_s), ("bytes", time.memory_s)]
        for _, width, seconds in drawn:
            assert float(width) == pytest.approx(100 * float(seconds) / end, abs=1e-4)
        least = float(re.search(r'class="least" style="left:([\d.]+)%', lane)[1])
        most = float(re.search(r'<b style="left:([\d.]+)%', lane)[1])
        assert least == pytest.approx(max(float(w) for _, w, _ in drawn), abs=1e-4)
        assert most == pytest.approx(sum(float(w) for _, w, _ in drawn), abs=3e-4)


@given(st.floats(1e-14, 1e12))
def test_the_axis_of_time_ends_a_little_beyond_the_longest(longest):
    end = time_bars.end_of(longest)
    assert longest <= end <= 1.3 * longest
    with pytest.raises(ValueError, match="finite time above 0"):
        time_bars.end_of(0.0)


@given(st.floats(1e-14, 1e12), st.floats(0.5, 1))
def test_ticks_of_time_are_few_and_round_in_the_unit_of_the_bars(longest, share):
    read = longest * share  # the longest bar; both bars of it end to end are at most twice that
    end = time_bars.end_of(longest, read)
    found = time_bars.ticks_of(end, read)
    if 1e-12 <= read < 1e9 and not re.match("1,?000", units.seconds(read)):
        assert {shown.split(" ")[1] for _, shown in found[1:]} == {units.seconds(read).split(" ")[1]}
    assert 3 <= len(found) <= 8 and found[0] == (0, "0") and found[-1][0] < end
    for at, shown in found[1:]:
        number, unit = shown.split(" ")
        size = {"d": 86400, "h": 3600, "min": 60, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "ps": 1e-12}[
            unit
        ]
        assert float(number.replace(",", "")) * size == pytest.approx(at, rel=1e-9)
        assert len(number.replace(",", "").replace(".", "").strip("0")) <= 2, shown
        assert "." not in number or not number.endswith("0"), shown


@pytest.mark.parametrize(("value", "line"), [(0.0001, 0.3), (0.2, 0.21), (0.45, 0.5), (0.5, 0.9), (0.9, 0.9)])
def test_texts_of_bars_keep_clear_of_the_heavy_line(value, line):
    part = time_bars._part("work", value, 1.0, "text", line)
    beside = re.search(r"left:calc\(([\d.]+)cqw", part)
    if "inside" in part:
        assert value > 0.3
    elif beside:
        assert float(beside[1]) == pytest.approx(100 * line)
    else:
        assert line - value >= 0.2


def test_the_mask_is_the_only_thing_that_saves_arithmetic():
    assert "saves no multiplication" in html(open_plate("roofline"))
    page = html(open_plate("roofline", "&causal=1"))
    assert "saves no multiplication" not in page and "skips tiles that nobody may see" in page


def test_bars_of_other_models_are_one_click_away():
    atlas = open_plate("roofline")
    assert html(atlas).count('class="lane"') == 2
    atlas.plates["roofline"].local.time_models = ["tiled", "waves"]
    assert html(atlas).count('class="lane"') == 4
    assert "time_models=tiled%2Cwaves" in atlas.search()


@pytest.mark.parametrize(
    "query", ["", "&gpu=l4&dtype=fp8&causal=1", "&gpu=custom&bandwidth=10&tflops=100000"]
)
def test_points_stand_on_the_roof(query):
    atlas = open_plate("roofline", query + "&time_models=tiled,algorithm_1,compulsory,waves")
    chart, s = atlas.plates["roofline"]._chart, atlas.settings
    roof = chart._roof.data
    for model, time in times(atlas).items():
        point = {name: values[0] for name, values in chart._points[model][0].data.items()}
        assert (point["x"], point["y"]) == (time.intensity, time.rate)
        on_roof = 10 ** np.interp(np.log10(point["x"]), np.log10(roof["x"]), np.log10(roof["y"]))
        assert point["y"] == pytest.approx(on_roof, rel=1e-9)
        assert point["x"] < roof["x"][-1], "the roof runs past the farthest point"
    band = chart._band.data
    for side, share in zip(("low", "high"), SUSTAINED, strict=True):
        below = roofline.attainable(s.gpu_record, s.dtype, band["x"], share)
        assert np.array_equal(band[side], below)
    assert chart._ridge.data["x"] == [s.gpu_record.ridge(s.dtype)]


def test_the_axes_stay_where_they_are_while_the_points_are_near_the_ridge():
    atlas = open_plate("roofline")
    s, fig = atlas.settings, atlas.plates["roofline"]._chart.fig

    def axes():
        return fig.x_range.start, fig.x_range.end, fig.y_range.start, fig.y_range.end

    first = axes()
    assert first[1] / first[0] <= 1e4  # a few decades, for points within one
    for name, value in {"N": 131072, "d": 64, "Br": 64, "sram": 164, "causal": True}.items():
        setattr(s, name, value)
        assert axes() == first, name
    s.gpu = "l4"
    assert axes() != first


@given(
    PROBLEMS,
    TILES,
    st.sampled_from([*GPUS, "slow", "fast"]),
    st.lists(st.sampled_from(traffic.MODELS), unique=True),
)
def test_no_setting_takes_a_point_or_the_ridge_off_the_chart(problem, tile, slug, models):
    own = {"slow": custom(10e9, 100_000e12), "fast": custom(100_000e9, 1e12)}
    gpu = own.get(slug) or GPUS[slug]
    times = [roofline.time(model, problem, tile, gpu) for model in models]
    points = [(time.intensity, time.rate) for time in times]
    (x0, x1), (y0, y1) = roof_chart.axes_of(gpu, problem.dtype, points)
    for x, y in points:
        assert x0 < x < x1 and y0 < y < y1
    assert x0 < gpu.ridge(problem.dtype) < x1


def test_names_of_points_do_not_overlap():
    chart = None
    for query in ("", "&N=64", "&dtype=fp32", "&Br=16&sram=16", "&N=1048576&causal=1"):
        atlas = open_plate("roofline", query + "&time_models=tiled,algorithm_1,compulsory,waves")
        chart = atlas.plates["roofline"]._chart
        decades = np.log10(chart.fig.y_range.end / chart.fig.y_range.start)
        for side in ("left", "right"):
            y = sorted(np.log10(label.y) for label in chart._labels.values() if label.text_align == side)
            gaps = [b - a for a, b in itertools.pairwise(y)]
            assert all(gap >= 18 * decades / chart.fig.height for gap in gaps), (query, side)


def test_the_table_of_gpus_marks_the_readers_own_and_names_sources():
    page = html(open_plate("roofline", "&gpu=mi300x"))
    row = re.search(r'<tr class=chosen aria-current="true">(.*?)</tr>', page)[1]
    assert "Instinct MI300X" in row and "5.30 TB/s" in row and "AMD Instinct MI300X data sheet" in row
    for gpu in GPUS.values():
        assert f'href="?gpu={gpu.slug}"' in page and gpu.sources[0] in page


def test_a_gpu_that_the_reader_types_in():
    page = html(open_plate("roofline", "&gpu=custom&bandwidth=1000&tflops=100"))
    row = re.search(r'<tr class=chosen aria-current="true">(.*?)</tr>', page)[1]
    assert "Custom GPU" in row and "1.00 TB/s" in row and "100 TFLOP/s" in row and "100 FLOP/B" in row


def test_a_format_without_arithmetic_of_its_own_says_so():
    assert "A100 SXM 80 GB has no fp8 arithmetic" in html(
        open_plate("roofline", "&gpu=a100-sxm-80&dtype=fp8")
    )


@pytest.mark.parametrize("dtype", ["bf16", "fp16", "fp32", "fp8"])
@pytest.mark.parametrize("gpu", ["h200-sxm", "a100-sxm-80", "l4"])
def test_recorded_marks_of_another_number_format_say_so_and_have_their_own_roof(gpu, dtype):
    atlas = open_plate("roofline", f"&measured=1&N=4096&d=128&gpu={gpu}&dtype={dtype}")
    plate, page, record = atlas.plates["roofline"], html(atlas), GPUS[gpu]
    rows = [point.row for point in plate._latest["recorded"].values()]
    used = {row.dtype for row in rows}
    assert len(used) == 1, "marks under one roof were run in one format"
    (used,) = used
    assert (f"dtype = {used} (you chose dtype = {dtype})" in page) == (used != dtype)
    if used != dtype:
        assert "These are your settings." not in page
    apart = record.rate(used).flops != record.rate(dtype).flops
    chart = plate._chart
    assert chart._other_peak.visible == apart
    assert (f"They ran in {used}, whose roof is the dashed one" in page) == apart
    if apart:
        line = chart._other.data
        assert line["y"] == pytest.approx(list(roofline.attainable(record, used, line["x"])))
        assert max(line["y"]) == record.rate(used).flops and used in chart._other_peak.text
    plate.local.measured = False
    assert not chart._other_peak.visible and not chart._other.data["x"]


def test_marks_stand_under_the_roof_they_are_drawn_with():
    """On the recorded GPU itself no mark is above both roofs, whatever format the reader chose."""
    for dtype in ("bf16", "fp16", "fp32", "fp8"):
        atlas = open_plate("roofline", f"&measured=1&gpu=h200-sxm&dtype={dtype}")
        plate, record = atlas.plates["roofline"], GPUS["h200-sxm"]
        for provider, point in plate._latest["recorded"].items():
            formats = {dtype, point.row.dtype}
            assert point.rate < max(record.rate(one).flops for one in formats), (dtype, provider)
            drawn = [record.rate(dtype).flops, *plate._chart._other.data["y"]]
            assert point.rate < max(drawn), (dtype, provider)


def test_the_recorded_copy_is_named_beside_the_band():
    copy = provenance.evidence().recording.get(metric="copy-bandwidth")
    assert f"copied at {units.percent(copy.p50 / GPUS['h200-sxm'].bandwidth)} of its own" in html(
        open_plate("roofline")
    )


@pytest.mark.parametrize(("dtype", "waits"), [("bf16", True), ("fp32", False)])
def test_a_slower_memory_is_a_range_only_where_memory_sets_the_time(dtype, waits):
    page = html(open_plate("roofline", f"&dtype={dtype}"))
    assert (times(open_plate("roofline", f"&dtype={dtype}"))["standard"].binding == "memory") == waits
    assert ("it does not wait for memory here" in page) == (not waits)


@pytest.mark.parametrize(
    "query", ["", "&gpu=h200-sxm", "&dtype=fp32", "&dtype=fp8", "&dtype=fp32&gpu=l4&N=512"]
)
def test_names_of_recorded_runs_keep_clear_of_one_another_and_of_the_roofs(query):
    plate = open_plate("roofline", query + "&measured=1").plates["roofline"]
    chart, shown = plate._chart, plate._points
    pixel = np.log10(chart.fig.y_range.end / chart.fig.y_range.start) / 410
    names = [label for label in shown._labels.values() if label.visible]
    column = sorted(np.log10(label.y) for label in names if label.x == max(one.x for one in names))
    assert len(column) >= 5
    assert all(b - a >= 15.9 * pixel for a, b in itertools.pairwise(column))
    assert np.log10(chart.below_names) - column[-1] >= 13.9 * pixel
    assert column[0] > np.log10(chart.fig.y_range.start)
    # room for a name at the right
    assert chart.fig.x_range.end >= 20 * max(label.x for label in names)
