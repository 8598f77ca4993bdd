"""The wall: both ends of every control, golden numbers, and a picture that draws the model's trips."""

import json
import re
from html.parser import HTMLParser
from itertools import combinations, product

import numpy as np
import pytest

from plates import text
from plates.settings import Settings
from plates.trips import picture
from plates.wall import Wall
from plates.wall_levels import Scale, levels
from tests.plates.walk import open_plate
from workshop import hierarchy, round_trips, traffic
from workshop.hardware import GPUS
from workshop.problem import LIMITS, Problem, Tile

ENDS = {
    "N": LIMITS["N"],
    "d": LIMITS["d"],
    "H": LIMITS["H"],
    "B": LIMITS["B"],
    "dtype": ("fp8", "fp32"),
    "gpu": ("l4", "mi300x"),
}
EXTRA = [[], ["scale"], ["scale", "mask", "dropout"]]


def shown(plate) -> dict[str, tuple[str, str]]:
    """Readouts in the plate's HTML: name -> (text, data-value)."""

    class Reader(HTMLParser):
        found, now = {}, None

        def handle_starttag(self, tag, attrs):
            attrs = dict(attrs)
            if "data-readout" in attrs:
                self.now = attrs["data-readout"]
                assert self.now not in self.found, f"{self.now} stands twice"
                self.found[self.now] = ("", attrs["data-value"])

        def handle_data(self, data):
            if self.now:
                self.found[self.now] = (data, self.found[self.now][1])
                self.now = None

    reader = Reader()
    reader.found = {}
    for pane in plate._texts.values():
        reader.feed(pane.object)
    return reader.found


def sound(plate) -> None:
    """No figure holds a number that cannot be drawn, no text says nan, and no readout is negative."""
    for pane in plate._texts.values():
        assert not re.search(r"\bnan\b|\binf\b|None|∞|n/a", pane.object), pane.object
    for _, value in shown(plate).values():
        assert float(value) >= 0


def sources(plate):
    """Every column of numbers in the plate's own data sources."""
    for source in (
        plate._sizes.curve,
        plate._sizes.linear,
        plate._intensity.gaps,
        plate._sizes.meets.data_source,
        plate._sizes.here.data_source,
    ):
        yield from (np.asarray(column, dtype=float) for column in source.data.values())


def test_both_ends_of_every_control_in_pairs():
    plate = Wall(Settings())
    plate.view()
    for a, b in combinations(ENDS, 2):
        for va, vb, passes in product(ENDS[a], ENDS[b], EXTRA):
            defaults = {name: plate.settings.param[name].default for name in ENDS}
            plate.settings.param.update(**{**defaults, a: va, b: vb})
            plate.local.passes = passes
            plate.update()
            sound(plate)
            for column in sources(plate):
                assert np.isfinite(column).all() and (column > 0).all()
            fig = plate._sizes.fig
            assert 0 < fig.y_range.start < fig.y_range.end and 0 < fig.x_range.start < fig.x_range.end


@pytest.mark.parametrize("bandwidth, tflops", [(10, 1), (10, 100_000), (100_000, 1), (100_000, 100_000)])
def test_a_gpu_that_the_reader_types_in(bandwidth, tflops):
    plate = Wall(Settings(gpu="custom", bandwidth=bandwidth, tflops=tflops))
    plate.view()
    sound(plate)
    ridges = plate._intensity.gaps.data["ridge"]
    assert ridges == [pytest.approx(tflops * 1e12 / (bandwidth * 1e9))] * len(ridges)
    assert plate._intensity.fig.x_range.end > max(ridges)


def test_the_headline():
    plate = Wall(Settings())
    plate.view()
    found = shown(plate)
    assert found["trips-bytes"] == ("545 MB", "545259520")
    assert found["output-bytes"] == ("2.10 MB", "2097152")
    assert found["score-bytes"] == ("4.29 GB", "4294967296")
    page = " ".join(pane.object for pane in plate._texts.values()).replace("\u00a0", " ")
    assert "134,217,728 B" in page and "134 MB" in page and "128 MiB" in page  # decimal and binary
    assert "80.0 GB, which is 74.5 GiB" in page


@pytest.mark.parametrize("passes", EXTRA)
def test_the_picture_draws_the_models_trips(passes):
    problem, gpu = Problem(N=1000, d=80), GPUS["a100-sxm-80"]
    found = round_trips.passes(problem, **{f"{name}_pass": True for name in passes})
    data = picture(found, problem, gpu, text.labels("wall"))
    drawn = [(t["tensor"], t["write"], t["bytes"]) for t in data["trips"]]
    assert drawn == [(t.tensor, t.direction == "write", t.bytes) for t in round_trips.trips(found)]
    assert [t["total"] for t in data["trips"]] == round_trips.running(found)
    assert data["square"]["bytes"] == 1000 * 1000 * 2
    assert data["chip"]["pieces"] * gpu.smem_sm == data["chip"]["bytes"]
    assert [data["passes"][t["pass"]]["does"] for t in data["trips"]] == [
        item.does for item in found for _ in item.trips
    ]


@pytest.mark.parametrize("passes", [[], ["scale"], ["mask"], ["scale", "mask"]])
def test_the_total_is_the_traffic_models(passes):
    plate = Wall(Settings(N=4096, d=64))
    plate.local.passes = passes
    plate.view()
    ledger = traffic.ledger(
        "standard", plate.settings.problem, Tile(), scale_pass="scale" in passes, mask_pass="mask" in passes
    )
    assert shown(plate)["trips-bytes"][1] == str(ledger.bytes("bf16"))


def test_a_step_past_the_end_stands_on_the_last_and_the_browsers_step_comes_back():
    plate = Wall(Settings(step=99))
    plate.view()
    assert plate._trips.step == 8
    plate._trips.step = 3  # as the browser does
    assert plate.settings.step == 3
    plate._trips.step = 8  # the whole story is the page's own opening, so the link need not say it
    assert plate.settings.step is None
    plate.settings.step = 5
    plate.update()
    assert plate._trips.step == 5


def test_capacities_are_where_the_layer_fills_them():
    plate = Wall(Settings())
    plate.view()
    meets = plate._sizes.meets.data_source.data
    for N, capacity, count in zip(meets["x"], meets["y"], (1, 8), strict=True):
        assert capacity == GPUS["h100-sxm"].memory * count
        assert Problem(N=N).score_bytes <= capacity < Problem(N=N + 1).score_bytes
    assert meets["x"] == [35_355, 100_000]  # 80 GB / (32 heads x 2 B), and eight of them, by hand


def test_unknown_bandwidths_are_said_to_be_unknown():
    plate = Wall(Settings(gpu="h100-sxm"))
    plate.view()
    html = plate._texts["hierarchy"].object
    unknown = [level for level in hierarchy.levels(GPUS["h100-sxm"]) if level.bandwidth is None]
    assert html.count(text.labels("wall")["rate_unknown"]) == len(unknown) == 3


@pytest.mark.parametrize("gpu", GPUS)
def test_sizes_stand_where_the_scale_says(gpu):
    found = [level for level in hierarchy.levels(GPUS[gpu]) if level.total]
    page = levels(GPUS[gpu], text.labels("wall"))
    scale = Scale([size for level in found for size in (level.each, level.total)])
    marks = [float(left) / 100 for left in re.findall(r'class="all" style="left:([\d.]+)%', page)]
    sizes = [10 ** (scale.low + mark * (scale.high - scale.low)) for mark in marks]
    assert sizes == pytest.approx([level.total for level in found], rel=0.01)
    assert page.count("<u ") == len(scale.decades) * len(hierarchy.levels(GPUS[gpu]))
    assert all(0 <= mark <= 1 for mark in marks)


def test_the_prose_says_it_in_its_corrected_form():
    plate = Wall(Settings(gpu="a100-sxm-40"))
    plate.view()
    page = " ".join(" ".join(pane.object.split()) for pane in plate._texts.values()).replace("\u00a0", " ")
    assert "is all its multiprocessors added up" in page  # 20 MB at 19 TB/s
    assert "equal in real arithmetic" in page
    assert not re.search(r"bit for bit|identical|last bit", page)


def test_every_label_of_the_picture_exists():
    words = text.labels("wall")
    used = set(re.findall(r"words\.(\w+)", text.static("wall.js") + text.static("transport.js")))
    assert used <= set(words), used - set(words)


@pytest.mark.parametrize(
    ("N", "first", "second"),
    [
        (8192, "S is 4.36× the shared memory of the whole chip", "and 575× that of one multiprocessor."),
        (
            1024,
            "The shared memory of the whole chip is 14.7× S,",
            "but S is 8.98× that of one multiprocessor.",
        ),
        (64, "The shared memory of the whole chip is 3,760× S,", "and that of one multiprocessor 28.5×."),
    ],
)
def test_the_larger_is_told_by_the_smaller(N, first, second):
    """H100: 132 x 233,472 B on the chip; S in bf16 has 2 N^2 B."""
    atlas = open_plate("wall", f"&N={N}")
    assert json.loads(atlas.plates["wall"]._trips.data)["scale"][1:] == [first, second]


def test_the_ridges_number_stands_on_the_other_side_of_a_dot_beyond_it():
    for query, align in (("", "left"), ("&N=1048576&d=256&dtype=fp32", "right")):
        figure = open_plate("wall", query).plates["wall"]._intensity
        at, ridge = figure.gaps.data["at"][0], figure.gaps.data["ridge"][0]
        assert (at > ridge) == (align == "right") and figure._ridge_labels[0].text_align == align


@pytest.mark.parametrize("passes", [[], ["scale", "mask"], ["dropout"], ["scale", "mask", "dropout"]])
def test_the_share_names_every_matrix_that_it_counts(passes):
    plate = Wall(Settings())
    plate.local.passes = passes
    plate.view()
    found = plate._found()
    counted = {trip.tensor for trip in round_trips.trips(found) if trip.square}
    named = {"S", "P"} | ({"dropped P", "kept?"} if "dropout" in passes else set())
    assert counted == named
    lead = plate._texts["_head"].object
    assert ("two <" in lead) == (len(counted) == 2) and ("mask of what it kept" in lead) == (
        len(counted) == 4
    )
    for said in (plate._texts["_readouts"].object, str(json.loads(plate._trips.data))):
        assert ("S, P, dropped P and its mask" in said) == (len(counted) == 4)


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_share_that_rounds_to_the_whole_is_not_called_the_whole(lang):
    for N in (8192, 1 << 20):
        plate = Wall(Settings(N=N, lang=lang))
        plate.view()
        assert round_trips.score_share(plate._found()) < 1
        for pane in plate._texts.values():
            assert "100 %" not in pane.object.replace("\u00a0", " ")
        assert "100 %" not in str(json.loads(plate._trips.data))


def test_half_the_width_moves_the_wall_by_the_root_of_two():
    fits = [round_trips.longest(GPUS["h100-sxm"].memory, Problem(dtype=dtype)) for dtype in ("bf16", "fp8")]
    assert fits[1] / fits[0] == pytest.approx(2**0.5, rel=1e-4)
    assert "√2 times as many tokens" in text.sections("wall")["try"]
