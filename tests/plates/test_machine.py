"""Plate `machine`: pictures and tables are the recording's rows and the models' values, and say where they are from."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import panel as pn
import pytest

from plates import machine_error, machine_time, provenance, text
from tests.plates import fake_recording
from tests.plates.walk import complaints, open_plate
from workshop import recordings, roofline, sram, traffic, units
from workshop.hardware import GPUS
from workshop.kernels.plan import LONG
from workshop.problem import Problem, Tile
from workshop.recordings import PROVIDERS, Recording
from workshop.recordings.curves import case_of
from workshop.recordings.evidence import Evidence

H200 = GPUS["h200-sxm"]
WORDS = text.labels("machine")


@pytest.fixture(scope="module")
def full() -> Evidence:
    """Counters, sweep and errors as shipped, times of every provider made by code."""
    return fake_recording.evidence()


@pytest.fixture
def shown(full, monkeypatch):
    """Opens the plate on the full recording, or on another ``Evidence``."""

    def open_(query: str = "", found: Evidence | None = full):
        monkeypatch.setattr(provenance, "evidence", lambda: found)
        return open_plate("machine", query)

    return open_


def html(atlas) -> str:
    """All HTML of the plate."""
    panes = atlas.plates["machine"].view().select(pn.pane.HTML)
    return "".join(pane.object for pane in panes).replace("\u00a0", " ")


def values(atlas) -> dict[str, float]:
    """Readouts by name; a name stands once a page."""
    found = re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', html(atlas))
    names = [name for name, _ in found]
    assert len(names) == len(set(names)), f"a name stands twice: {names}"
    return {name: float(value) for name, value in found}


CASE = "&N=4096&d=128&H=32&Br=64&Bc=64"


# Bytes ----------------------------------------------------------------------------------------------------


def test_golden_bytes_at_every_boundary(shown):
    """Counted on an H200 for the plain forward kernel, N=4096, d=128, 32 heads: 4.33 GB into L1, 100.7 MB of DRAM."""
    found = values(shown(CASE))
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
def test_l1_follows_the_tile_and_dram_does_not(shown, Br, expected):
    found = values(shown(f"&N=4096&d=128&H=32&Bc=64&Br={Br}"))
    assert found["bytes-l1-counted"] == pytest.approx(expected, rel=3e-3)
    assert found["bytes-dram-counted"] == pytest.approx(100.7e6, rel=1e-2)


def test_counted_bytes_are_the_recordings_rows(shown, full):
    atlas, seen = shown(), set()
    for case in full.cases:
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
            counted = full.recording.one(provider="teaching", metric=metric, **same).p50
            assert found[f"bytes-{name}-counted"] == counted, (setting, metric)
        problem = Problem(N=row.N, d=row.d, H=row.heads, dtype=row.dtype, causal=row.causal)
        tiled = traffic.ledger("tiled", problem, Tile(Br=row.Br, Bc=row.Bc)).reads
        assert found["bytes-l1-model"] == tiled * problem.heads * 2
        assert "These are your settings." in html(atlas)


def test_bars_are_as_long_as_their_bytes(shown):
    atlas = shown(CASE)
    found, page = values(atlas), html(atlas)
    widths = [float(w) for w in re.findall(r'<i class="(?:modelled|counted)" style="width:([\d.]+)%', page)]
    names = re.findall(r'data-readout="(bytes-[^"]+-(?:model|counted))"', page)
    assert (
        len(widths) == len(names) == 7
    )  # model and counter at L1, DRAM and of standard; the counter of the L2
    longest = max(found[name] for name in names)
    for name, width in zip(names, widths, strict=True):
        assert width == pytest.approx(100 * found[name] / longest, abs=1e-3), name


def test_standard_attention_stands_beside_it(shown):
    found = values(shown(CASE))
    head = 4096
    assert found["bytes-standard-model"] == 32 * 2 * (4 * head * 128 + 4 * head * head)
    assert found["bytes-standard-counted"] == pytest.approx(found["bytes-standard-model"], rel=0.03)


def test_the_models_answer_for_exactly_the_readers_settings(shown):
    """The recording has no such shape; the model has. By hand: Q once, K and V for each of 11 blocks of 96 rows."""
    found = values(shown("&N=1000&d=80&H=3&B=2&Br=96&Bc=32&dtype=fp32"))
    assert found["bytes-tiled"] == 6 * 4 * (1000 * 80 + 2 * 1000 * 80 * 11)
    assert values(shown(CASE))["bytes-tiled"] == values(shown(CASE))["bytes-l1-model"]


def test_another_shape_is_named(shown):
    page = html(shown("&N=8192&d=128&H=32&Br=128&Bc=64"))
    assert "N = 4,096 (you chose N = 8,192)" in page
    page = html(shown("&N=4096&d=128&H=32&Br=64&Bc=64&dtype=fp16"))
    assert "dtype = bf16 (you chose dtype = fp16)" in page


def test_the_list_of_cases_moves_the_settings(shown, full):
    atlas = shown()
    plate = atlas.plates["machine"]
    k = next(k for k, c in enumerate(full.cases) if c.row.N == 131072 and c.problem.heads == 4)
    plate._pick.value = k
    s, row = atlas.settings, full.cases[k].row
    assert (s.N, s.d, s.H, s.Br, s.Bc, s.causal) == (
        row.N, row.d, row.heads, row.Br, row.Bc, row.causal,
    )  # fmt: skip
    assert values(atlas)["bytes-dram-counted"] == full.cases[k].level("DRAM").counted
    atlas.settings.N = 4096
    assert plate._pick.value != k, "the list follows the settings"


def test_the_diagonal_holds_every_case_twice(shown, full):
    plate = shown().plates["machine"]
    drawn = [
        (x, y)
        for source in plate._law.sources.values()
        for x, y in zip(source.data["x"], source.data["y"], strict=True)
    ]
    counted = sorted(
        row.p50 for row in full.recording.where(metric={"l1-load", "dram-read"}, provider="teaching").rows
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
def test_golden_readings_of_k_and_v(full, N, Br, H, expected):
    """(DRAM read - Q) / (K + V) an H200 counted in another run: 8.01, 8.01, 16.04 and, with four heads, 4.69."""
    case = next(
        c
        for c in full.cases
        if (c.row.N, c.row.Br, c.problem.heads, c.row.d) == (N, Br, H, 128) and not c.row.causal
    )
    assert case.passes == pytest.approx(expected, rel=0.03)


def test_readings_are_drawn_where_they_were_counted(shown, full):
    plate = shown().plates["machine"]
    drawn = {group: plate._passes.sources[group].data for group in ("one", "many", "apart")}
    assert all(len(data["x"]) for data in drawn.values())
    points = sorted(p for data in drawn.values() for p in zip(data["x"], data["y"], strict=True))
    assert points == sorted((2 * c.row.N * c.row.d * 2, c.passes) for c in full.cases if not c.row.causal)
    for shape in drawn["many"]["shape"]:
        assert "one head" not in shape
    assert max(drawn["apart"]["y"]) > 50, "an H200 read K and V a hundred times where waves says 13"


def test_where_blocks_fall_out_of_step_is_said(shown, full):
    off = [
        (c.level("DRAM").counted / c.level("DRAM").modelled, c.row.Br)
        for c in full.cases
        if c.per_sm > 3 and c.level("DRAM").model == "waves" and not c.row.causal
    ]
    most, Br = max(off)
    page = html(shown())
    assert f"up to {units.ratio(most)} what waves says" in page and f"{Br}×64)" in page


def test_what_breaks_is_said(shown, full):
    page = html(shown())
    claimed = [c for c in full.cases if c.level("DRAM").claimed]
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


# Times ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query", ["", "&d=64&causal=1", "&d=256&direction=both", "&d=64&direction=both&causal=1"]
)
def test_curves_are_the_recordings_rows(shown, full, query):
    atlas = shown(query)
    plate, s = atlas.plates["machine"], atlas.settings
    both = plate.local.direction == "both"
    direction = "forward+backward" if both else "forward"
    for provider in PROVIDERS:
        data = plate._rates.sources[provider].data
        rows = full.recording.where(
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


def test_the_table_is_of_the_nearest_length(shown, full):
    atlas = shown("&N=5000&d=128")
    found = values(atlas)
    for provider in PROVIDERS:
        rows = full.recording.where(
            metric="time", provider=provider, direction="forward", d=128, causal=False, N=4096, batch=1
        )
        if provider == "teaching":
            Br, Bc, warps, stages = fake_recording.TEACHING_TILES[128]
            rows = rows.where(Br=Br, Bc=Bc, warps=warps, stages=stages)
        want = 4 * 32 * 4096**2 * 128 / rows.one(metric="time").p50
        assert found[f"tflops-{provider}"] == pytest.approx(want), provider
    assert "N = 4,096 (you chose N = 5,000)" in html(atlas)


def test_the_model_line_is_the_model(shown):
    plate = shown("&d=64&Br=64").plates["machine"]
    for chart, column in ((plate._rates, "rate"), (plate._seconds, "seconds")):
        data = chart._model.data
        for N, y in zip(data["x"], data["y"], strict=True):
            problem = Problem(N=int(N), d=64)
            time = roofline.time("bound", problem, Tile(Br=64), H200).lower
            want = time if column == "seconds" else 4 * int(N) ** 2 * 64 * 32 / time
            assert y == pytest.approx(want, rel=1e-12)


def test_ceilings_are_the_machines_own(shown, full):
    plate = shown().plates["machine"]
    matmul, copy = (full.recording.one(metric=m).p50 for m in ("matmul-rate", "copy-bandwidth"))
    source, label = plate._rates._spans["matmul"]
    assert list(source.data["y"]) == [matmul, matmul] and units.rate_flops(matmul) in label.text
    data = plate._rates._roof.data
    for N, y in zip(data["x"], data["y"], strict=True):
        moved = 2 * (4 * int(N) * 128 + 4 * int(N) ** 2)
        assert y == pytest.approx(min(matmul, copy * 4 * int(N) ** 2 * 128 / moved))


def test_more_than_the_data_sheet_is_remarked_on(shown, full):
    rows = tuple(
        replace(row, p20=row.p20 / 3, p50=row.p50 / 3, p80=row.p80 / 3)
        if row.metric == "time" and row.provider == "fast"
        else row
        for row in full.recording.rows
    )
    atlas = shown("&N=4096", Evidence(replace(full.recording, rows=rows)))
    assert values(atlas)["tflops-fast"] > H200.rate("bf16").flops
    assert "No kernel can do that" in html(atlas)
    assert "No kernel can do that" not in html(shown("&N=4096"))


# Tiles ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("d", [64, 128])
def test_the_sweep_is_the_recordings_rows(shown, d, causal):
    shipped = recordings.load("h200")
    plate = shown(f"&d={d}&causal={int(causal)}", Evidence(shipped)).plates["machine"]
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
def test_the_lessons_of_the_sweep_follow_its_rows(shown, d, causal):
    plate = shown(f"&d={d}&causal={int(causal)}", Evidence(recordings.load("h200"))).plates["machine"]
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
def test_every_note_names_the_number_format_that_was_recorded(shown, dtype):
    """Of each part the one that is shown: nothing of another format stands under "These are your settings."."""
    plate = shown(f"&N=4096&d=128&H=32&Br=64&Bc=64&dtype={dtype}").plates["machine"]
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


def test_the_models_landscape_is_the_models(shown):
    plate = shown("&d=128&sram=128").plates["machine"]
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


def test_the_readers_tile_is_framed(shown):
    plate = shown("&Br=64&Bc=128").plates["machine"]
    assert plate._sweeps.measured.rings["yours"].data == {"x": [2.5], "y": [3.5]}
    plate = shown("&Br=96&Bc=128").plates["machine"]
    assert plate._sweeps.measured.rings["yours"].data == {"x": [], "y": []}


# Errors ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "&d=64&causal=1&dtype=fp16", "&direction=both", "&dtype=fp32"])
def test_errors_and_their_rule(shown, query):
    shipped = recordings.load("h200")
    atlas = shown(query, Evidence(shipped))
    plate = atlas.plates["machine"]
    drawn = {p: s.data for p, s in plate._errors.sources.items() if len(s.data["x"])}
    rows = plate._latest["_"].errors.rows
    assert set(drawn) == {p for p, row in rows.items() if row.p50 > 0} and "standard" in drawn
    for provider, data in drawn.items():
        assert data["x"] == [rows[provider].p50]
        assert rows[provider].dtype == (atlas.settings.dtype)
    assert plate._errors._rule.location == 2 * rows["standard"].p50
    for provider, row in rows.items():
        assert (row.p50 > 2 * rows["standard"].p50) == (
            f"Above the line: {WORDS[f'provider_{provider}']}" in html(atlas)
        )


def test_a_broken_rule_is_said(shown, full):
    rows = tuple(
        replace(row, p20=row.p20 * 9, p50=row.p50 * 9, p80=row.p80 * 9)
        if row.metric == "error-max" and row.provider == "sdpa-flash"
        else row
        for row in full.recording.rows
    )
    page = html(shown("", Evidence(replace(full.recording, rows=rows))))
    assert "Above the line: SDPA, FlashAttention-2" in page and "Every kernel keeps the rule" not in page


def test_an_error_is_written_as_a_power():
    assert machine_error.number(1.954e-3) == "1.95 × 10⁻³"
    assert machine_error.number(0) == "0"


# Where it is from -----------------------------------------------------------------------------------------


def test_provenance_under_every_recorded_figure(shown):
    atlas = shown("", Evidence(recordings.load("h200")))
    blocks = atlas.plates["machine"]._latest["blocks"]
    for name in ("bytes_from", "law_from", "times_from", "sweep_from", "error_from"):
        said = blocks[name]
        for needed in ("NVIDIA H200", "driver ", "torch ", "triton ", "commit ", "2026-11-29"):
            assert needed in said, (name, needed)
    for name in ("bytes_from", "times_from", "sweep_from", "error_from"):
        assert "How it was measured" in blocks[name], name


def test_nothing_reads_as_live_before_a_run(shown):
    page = html(shown())
    assert "kind-live" not in page
    for column in ("lanesfigure", "lawfigure", "passesfigure", "ratefigure", "secondsfigure", "sweepfigure"):
        assert "{{ model_tag }}" in text.sections("machine")[column], column
    captions = re.findall(r'<div class="figcaption">.*?</div>', page, re.DOTALL)
    assert len(captions) == 7
    assert all("kind-recorded" in caption for caption in captions)
    assert sum("kind-model" in caption for caption in captions) == 6  # errors have no model


@pytest.mark.parametrize(
    "part",
    [
        None,
        {"metric": "time"},
        {"metric": "error-max"},
        {"metric": ("matmul-rate", "copy-bandwidth")},
        {"provider": "standard"},
    ],
)
def test_missing_rows_are_named_not_hidden(shown, full, part):
    found = None if part is None else Evidence(full.recording.where(**part))
    atlas = shown("", found)
    assert not complaints(atlas)
    page = html(atlas)
    if part is None:
        assert WORDS["no_recording"] in page
    elif part != {"metric": "time"}:
        assert WORDS["no_sweep"] in page
    if part is not None:
        assert WORDS["no_counters"] in page
    atlas.settings.param.update(N=100, causal=True, dtype="fp8", d=8)
    assert not complaints(atlas) and not atlas._trouble


def test_a_recording_without_rows_is_no_recording(shown):
    assert WORDS["no_recording"] in html(shown("", Evidence(Recording("empty", ()))))


def test_every_label_has_words():
    for provider in PROVIDERS:
        assert WORDS[f"provider_{provider}"] and WORDS[f"short_{provider}"]
        assert provider in machine_time.ROLE and provider in machine_time.MARK
    assert case_of(fake_recording.full().where(metric="time").rows[0]).flops() > 0


# Names ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_strip_says_whose_kernel_is_fastest(shown, lang):
    """A "fast kernel" alone tells a newcomer nothing: the strip says what it is, the terms explain it."""
    atlas = shown(f"&N=8192&lang={lang}")
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
def test_names_of_curves_keep_a_line_apart(shown, query):
    """Also those of curves that end sooner: on a phone their names reach as far as the others begin."""
    plate = shown(query).plates["machine"]
    for chart, position in ((plate._rates, float), (plate._seconds, np.log10)):
        low, high = (position(v) for v in (chart.fig.y_range.start, chart.fig.y_range.end))
        places = sorted(position(label.y) for label in chart._labels.values() if label.visible)
        pixels = np.diff(places) / (high - low) * (chart.fig.height - 70)
        assert pixels.min() >= 18.9, chart
