"""Plate `serving`: readouts, bars, curves and the merge on the page are the models'; tasks keep their promises."""

from __future__ import annotations

import itertools
import json
import re

import numpy as np
import panel as pn
import pytest

from plates import figures, serving_tables, split_view, text
from plates.serving import Served
from tests.plates.walk import complaints, open_plate
from workshop import kv_cache, reference, roofline, split_kv, units
from workshop.hardware import GPUS
from workshop.language_models import LANGUAGE_MODELS
from workshop.problem import Problem, Tile


def plate_of(query=""):
    atlas = open_plate("serving", query)
    return atlas, atlas.plates["serving"]


def html(atlas) -> str:
    found = "".join(p.object for p in atlas.plates["serving"].view().select(pn.pane.HTML))
    return re.sub(r"\s+", " ", found)


def readouts(atlas) -> dict[str, str]:
    return dict(re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', html(atlas)))


@pytest.mark.parametrize("model", LANGUAGE_MODELS)
def test_every_model_at_the_ends_of_everything_else(model):
    atlas, plate = plate_of(f"&model={model}")
    chips = (
        {"dtype": "fp32", "gpu": "l4"},
        {"dtype": "fp8", "gpu": "custom", "bandwidth": 10, "tflops": 100_000},
        {"dtype": "fp8", "gpu": "custom", "bandwidth": 100_000, "tflops": 1},
    )
    for gpus, splits in itertools.product((1, 8), (1, 256)):
        plate.local.param.update(gpus=gpus, splits=splits)
        for N, B, chip in itertools.product((1, 1_048_576), (1, 1024), chips):
            atlas.settings.param.update(N=N, B=B, **chip)
            assert not complaints(atlas), (N, B, gpus, splits, chip)


@pytest.mark.parametrize("model", LANGUAGE_MODELS)
def test_readouts_are_the_models(model):
    atlas, _ = plate_of(f"&model={model}&N=3000&B=5&gpus=2&dtype=fp8&gpu=h200-sxm&splits=7")
    found, record, gpu = readouts(atlas), LANGUAGE_MODELS[model], GPUS["h200-sxm"]
    assert int(found["kv-cache-bytes"]) == 2 * record.layers * record.kv_heads * record.d * 3000
    fit = kv_cache.fit(record, 3000, "fp8", gpu, 2)
    assert int(found["conversations"]) == fit.conversations
    assert float(found["decode-intensity"]) == pytest.approx(2 * record.group, rel=1e-12)
    step = kv_cache.step(record, 3000, 5, "fp8", gpu, 2)
    assert float(found["decode-time"]) == pytest.approx(step.seconds, rel=1e-12)


def test_golden_cache_of_llama_2():
    """2 x 32 layers x 32 heads x 128 x 2 B is 524,288 B a token; 8,192 of them are 4.29 GB."""
    atlas, _ = plate_of()
    assert readouts(atlas)["kv-cache-bytes"] == "4294967296"
    assert "4.29 GB" in html(atlas) and readouts(atlas)["conversations"] == "13"


def test_a_window_stops_the_cache_and_is_said():
    long, _ = plate_of("&model=mistral-7b&N=32768")
    edge, _ = plate_of("&model=mistral-7b&N=4096")
    assert readouts(long)["kv-cache-bytes"] == readouts(edge)["kv-cache-bytes"] == str(4096 * 131_072)
    assert "looks back 4,096 tokens" in html(long) and "never outweigh" in html(long)
    other, _ = plate_of("&model=llama-3-8b&N=32768")
    assert "looks back" not in html(other) and "never outweigh" not in html(other)


@pytest.mark.parametrize("splits", [1, 2, 3, 7, 64, 96, 256])
@pytest.mark.parametrize("query", ["", "&N=1", "&N=1000&model=gemma-2b", "&N=1048576&model=falcon-7b"])
def test_the_merge_on_the_page_holds_to_1e_12(splits, query):
    atlas, _ = plate_of(f"&splits={splits}{query}")
    error = float(readouts(atlas)["merge-error"])
    assert 0 <= error <= 1e-12


def test_the_checked_merge_is_recomputed_not_written_down():
    rng = np.random.default_rng([500, 64])
    q, k, v = rng.standard_normal((1, 64)), rng.standard_normal((500, 64)), rng.standard_normal((500, 64))
    merged, _ = split_kv.attention(q, k, v, split_kv.splits(500, 9))
    expected = np.abs(merged - reference.attention(q, k, v).output).max()
    assert split_view.merge_error(500, 64, 9) == expected


@pytest.mark.parametrize("splits", [1, 2, 8, 63, 64, 96, 256])
def test_the_picture_adds_up_to_the_full_softmax(splits):
    _, plate = plate_of(f"&splits={splits}")
    play = json.loads(plate._split.play)
    pieces = play["pieces"]
    assert (
        len(pieces) == splits
        and sum(p["to"] - p["from"] for p in pieces) == len(play["scores"]) == split_view.KEYS
    )
    assert sum(p["share"] for p in pieces) == pytest.approx(1, abs=1e-12)
    scores = np.array(play["scores"])
    total = np.exp(scores - scores.max()).sum()
    for p in pieces:
        own = scores[p["from"] : p["to"]]
        if not len(own):
            assert p["m"] is None and p["l"] == 0 and p["share"] == 0 and not any(p["o"])
            continue
        assert p["m"] == pytest.approx(own.max(), rel=1e-12) and p["l"] == pytest.approx(
            np.exp(own - own.max()).sum(), rel=1e-12
        )
        assert p["alpha"] == pytest.approx(np.exp(own.max() - scores.max()), rel=1e-12)
    summed = np.sum([p["o"] for p in pieces], axis=0)
    assert np.abs(summed - play["sum"]).max() < 1e-12
    assert np.abs(summed / total - play["full"]).max() < 1e-12
    assert np.abs(np.array(play["output"]) - play["full"]).max() < 1e-12


def test_bars_fill_the_memory_and_name_what_does_not_fit():
    atlas, _ = plate_of("&gpu=h100-sxm&N=8192")
    rows = re.findall(r'<div class="fit[^"]*"><div class="who">([^<]+)<.*?(?=<div class="fit|$)', html(atlas))
    assert rows[: len(LANGUAGE_MODELS)] == [m.name for m in LANGUAGE_MODELS.values()]
    for weights, talks in re.findall(
        r'class="weights" style="width:([\d.]+)%"></i><i class="talks" style="width:([\d.]+)%', html(atlas)
    ):
        assert float(weights) + float(talks) <= 90.001
    assert "needs 2 GPUs" in html(atlas)
    two, _ = plate_of("&gpu=h100-sxm&N=8192&gpus=2")
    assert "too large" not in html(two)


@pytest.mark.parametrize("gpu", sorted(slug for slug in GPUS if GPUS[slug].memory))
@pytest.mark.parametrize("gpus", [1, 3, 8])
def test_the_bars_have_a_scale_that_ends_at_the_memory(gpu, gpus):
    atlas, _ = plate_of(f"&gpu={gpu}&gpus={gpus}")
    ticks = re.findall(r'<span style="left:([\d.]+)%">([^<]+)</span>', html(atlas))
    places = [float(place) for place, _ in ticks]
    assert places[0] == 0 and ticks[0][1] == "0" and places[-1] == 100
    assert ticks[-1][1] == figures.round_text(units.bytes_)(GPUS[gpu].memory * gpus)
    assert all(right - left > 8 for left, right in itertools.pairwise(places)) and 3 <= len(places) <= 6
    for place, said in ticks[1:]:
        amount, unit = said.split()
        size = float(amount.replace(",", "")) * {"GB": 1e9, "TB": 1e12}[unit]
        assert float(place) == pytest.approx(100 * size / (GPUS[gpu].memory * gpus), rel=0.01)


def test_curves_are_what_a_step_reads():
    _, plate = plate_of("&model=llama-3-8b&B=6")
    model = LANGUAGE_MODELS["llama-3-8b"]
    for n, value in list(
        zip(plate._bytes.lines["cache"].data["N"], plate._bytes.lines["cache"].data["bytes"], strict=True)
    )[::7]:
        assert value == 6 * kv_cache.cache_bytes(model, int(n), "bf16")
    assert set(plate._bytes.lines["weights"].data["bytes"]) == {float(kv_cache.weight_bytes(model, "bf16"))}
    for n, value in list(
        zip(plate._bytes.lines["scores"].data["N"], plate._bytes.lines["scores"].data["bytes"], strict=True)
    )[::7]:
        assert value == 6 * model.layers * model.heads * int(n) * 2


def test_intensities_stand_on_their_line():
    _, plate = plate_of("&model=llama-3-8b&B=6&N=4096")
    at = {name: source.data["x"][0] for name, source in plate._intensities.dots.items()}
    assert at["decode"] == 4 and at["weights"] == pytest.approx(6)
    prompt = roofline.time("tiled", Problem(N=4096, d=128, H=32, B=6, causal=True), Tile()).intensity
    assert at["prompt"] == prompt and plate._intensities.ridge.location == GPUS["h100-sxm"].ridge("bf16")


@pytest.mark.parametrize(("splits", "busy"), [(1, 1), (96, 96), (132, 132), (256, 132)])
def test_squares_are_busy_multiprocessors(splits, busy):
    atlas, _ = plate_of(f"&model=falcon-7b&splits={splits}&gpu=h100-sxm")
    squares = re.search(r'<div class="sms".*?</div>', html(atlas))[0]
    assert squares.count('class="busy"') == busy and squares.count("<i") == 132


def test_the_price_of_the_merge_is_called_small_only_where_it_is():
    atlas, _ = plate_of("&model=llama-2-7b&splits=8")
    assert "The price is small." in html(atlas)
    atlas, _ = plate_of("&model=falcon-7b&splits=96")
    assert "The price is not small here" in html(atlas)


def test_own_state_travels_in_the_link():
    atlas, plate = plate_of()
    plate.local.param.update(model="gemma-2b", gpus=4, splits=48)
    again, other = plate_of(atlas.search().removeprefix("?plate=serving"))
    assert (other.local.model, other.local.gpus, other.local.splits) == ("gemma-2b", 4, 48)
    assert readouts(again) == readouts(atlas)
    for bad in ("&model=gpt-9", "&gpus=99", "&splits=0"):
        atlas, plate = plate_of(bad)
        assert atlas._notes.object and not complaints(atlas)
        assert plate.local.model == Served.param["model"].default


@pytest.mark.parametrize("number", range(7))
def test_each_task_shows_what_it_promises(number):
    links = re.findall(r"\]\((\?[^)]+)\)", text.sections("serving")["try"])
    assert len(links) == 7
    atlas, plate = plate_of("&" + links[number].removeprefix("?"))
    assert not complaints(atlas) and not atlas._notes.object
    model, gpu, fit, step, _, _, _, now, _ = plate.facts()["_"]
    if number == 0:
        assert 10 <= fit.conversations <= 15 and 13e9 < fit.weights < 14e9 and gpu.memory == 80_000_000_000
    elif number == 1:
        other = kv_cache.fit(LANGUAGE_MODELS["llama-2-7b"], 8192, "bf16", gpu)
        assert fit.conversation * 4 == other.conversation and fit.conversations > 3 * other.conversations
    elif number == 2:
        assert fit.conversation == min(
            kv_cache.cache_bytes(m, 8192, "bf16") for m in LANGUAGE_MODELS.values()
        )
        assert model.group == max(m.group for m in LANGUAGE_MODELS.values()) and now.busy == 1
    elif number == 3:
        assert 1 <= fit.conversations <= 5
    elif number == 4:
        assert step.cache > step.weights
    elif number == 5:
        assert now.busy == now.sms and step.cache < step.weights
    else:
        assert any(piece["m"] is None for piece in json.loads(plate._split.play)["pieces"])


@pytest.mark.parametrize("gpu", GPUS)
def test_the_picture_of_the_multiprocessors_has_full_rows(gpu):
    sms = GPUS[gpu].sms
    for least, most in ((24, 44), (12, 29)):
        found = serving_tables.columns(sms, least, most)
        assert sms % found == 0 or not any(sms % n == 0 for n in range(least, most + 1))
