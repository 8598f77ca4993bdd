"""Plate `softmax` without a browser: both ends of every control, the numbers on the page, the words it needs."""

import itertools
import json
import re

import pytest

from plates import softmax, text
from plates.softmax import Small
from tests.plates.softmax_page import html, open_softmax, readout
from workshop import traffic
from workshop.problem import Problem, Tile
from workshop.score_patterns import PATTERNS
from workshop.trace import ORDERS


def test_opens_on_a_step_that_rescales():
    plate = open_softmax()
    run = plate.facts()["_"][0]
    step = run.steps[plate._player.step]
    assert step.line == "update"
    visit = run.visits[step.visit]
    row = run.focus_rows[visit.i]
    assert 0 < visit.update.alpha[row] < 0.5 and visit.update.before.l[row] > 0


def test_a_blind_row_opens_on_itself():
    plate = open_softmax(pattern="masked", sN=12, sBr=4, sBc=5)
    assert "Row 5 still sees no key" in plate.facts()["description"]
    assert plate.facts()["blind_row"] == plate.facts()["row"] == 5


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("causal", [False, True])
def test_readouts_are_the_ledgers(order, causal):
    plate = open_softmax(causal, order=order, sN=50, sd=16, sBr=16, sBc=12)
    problem, tile = Problem(N=50, d=16, H=1, causal=causal), Tile(Br=16, Bc=12)
    expected = (
        traffic.ledger("tiled", problem, tile, training=True)
        if order == "query-outer"
        else traffic.ledger("algorithm_1", problem, tile, blocks=(16, 12))
    )
    assert readout(plate, "softmax-traffic")[0] == str(expected.bytes("bf16"))
    assert readout(plate, "softmax-standard")[0] == str(4 * 50 * 16 * 2 + 4 * 50 * 50 * 2)
    sent = json.loads(plate._player.trace)
    assert (sent["read_total"], sent["written_total"]) == (expected.reads * 2, expected.writes * 2)
    visited = (
        sum(16 * i + min(16, 50 - 16 * i) > 12 * j for i in range(4) for j in range(5)) if causal else 20
    )
    assert readout(plate, "visited-tiles") == (str(visited), f"{visited} of 20")


def _ends():
    low, high = zip(*(Small.param[name].bounds for name in ("sN", "sd", "sBr", "sBc")), strict=True)
    for picked in itertools.product((0, 1), repeat=4):
        yield dict(
            zip(("sN", "sd", "sBr", "sBc"), ((low, high)[k][n] for n, k in enumerate(picked)), strict=True)
        )


@pytest.mark.parametrize("small", list(_ends()), ids=str)
def test_both_ends_of_every_control(small):
    plate = open_softmax()
    for causal, order in itertools.product((False, True), ORDERS):
        plate.settings.causal = causal
        plate.local.param.update(order=order, **small)
        plate.update()
        played = json.loads(plate._player.trace)
        assert not re.search(r"\b(nan|inf|None)\b", re.sub(r"<[^>]*>", " ", html(plate)))
        assert 0 <= plate._player.step < len(played["steps"]["line"])


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_step_has_its_formulas(pattern):
    plate = open_softmax(pattern=pattern, sN=12, sBr=4, sBc=5)
    for step in range(len(json.loads(plate._player.trace)["steps"]["line"])):
        plate.settings.step = step
        plate.update()
        assert plate._player.step == step
        assert not re.search(r"\b(nan|inf)\b", html(plate))


def test_formulas_carry_the_numbers_of_the_step():
    plate = open_softmax()
    run, number = plate.facts()["_"][:2]
    visit = run.visits[run.steps[number].visit]
    alpha = visit.update.alpha[run.focus_rows[visit.i]]
    assert f"<mn>{alpha:.4g}</mn>" in plate.facts()["blocks"]["rescale"]


def test_another_play_opens_on_its_own_step_and_a_link_keeps_its_own():
    plate = open_softmax()
    plate.settings.step = 40
    plate.update()
    assert plate._player.step == 40
    plate.local.pattern = "rising"
    plate.update()
    assert plate.settings.step is None and plate._player.step == plate.facts()["_"][0].highlight
    plate.settings.param.update(causal=True, step=7)
    plate.update()
    assert plate._player.step == 7


def test_the_player_reports_its_step_and_nothing_else():
    plate = open_softmax()
    assert plate.settings.step is None  # opening is not a choice of the reader's
    plate._player.step = 23
    assert plate.settings.step == 23


def test_a_step_past_the_end_is_the_last():
    plate = open_softmax()
    plate.settings.step = 99_999
    plate.update()
    assert plate._player.step == len(json.loads(plate._player.trace)["steps"]["line"]) - 1


def test_words_of_the_player_are_in_the_prose():
    used = set(re.findall(r"words\.(\w+)", softmax.Stepper._esm))
    named = {
        "first",
        "back",
        "play",
        "forward",
        "last",
        "by_line",
        "by_tile",
        "skipped",
        "to-come",
        "current",
        "done",
    }
    named |= {f"title_{panel}" for panel in ("map", "row", "code", "tile", "memory", "carry")}
    named |= {f"tensor_{name}" for name in ("q", "o", "k", "v", "s", "p", "statistics")}
    words = softmax.pairs(text.sections("softmax")["words"])
    assert used | named <= set(words)
    assert all(words.values())


def test_try_links_name_real_settings():
    plate = open_softmax()
    links = re.findall(r'href="\?([^"]*)"', html(plate))
    assert len(links) >= 6
    for link in links:
        for pair in link.replace("&amp;", "&").split("&"):
            key, value = pair.split("=")
            if key in ("plate", "term"):  # a word of the glossary
                continue
            owner = plate.local if key in plate.local_keys else plate.settings
            spec = owner.param[key]
            if hasattr(spec, "objects"):
                assert value in spec.objects
            elif key != "causal":
                low, high = spec.bounds
                assert low <= int(value) <= high


def test_the_page_never_claims_bits():
    assert not re.search(r"identical|bit for bit|to the last bit", html(open_softmax()), re.I)


def test_the_exercise_has_the_golden_answer():
    page = html(open_softmax())
    # 1 + e^-1, e^-4, e^-4 + e^-5, 1 + e^-3, and the whole denominator twice, to four digits
    for number in ("1.368", "0.01832", "0.02505", "1.050"):
        assert number in page
    assert page.count("1.075") >= 2
