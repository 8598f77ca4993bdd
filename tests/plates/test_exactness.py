"""The exactness lab without a browser: its numbers are the models', its words are there, links reproduce it."""

import itertools
import math
import re

import pytest

from plates import exactness, exactness_chart, text
from plates.registry import PLATES
from plates.shell import Atlas
from tests.plates.softmax_page import html, open_softmax, readout
from workshop import breakage, last_bits, precision, precision_torch, units
from workshop.number_formats import FORMATS
from workshop.score_patterns import make


@pytest.mark.parametrize("name", ["float32", "fp16", "bf16"])
@pytest.mark.parametrize("order", precision.ORDERS)
def test_readouts_are_the_models(name, order):
    plate = open_softmax(sN=40, sBc=8, labFormat=name, labOrder=order)
    problem = precision.Rounded(make("random", 40, 8), name)
    expected = precision.compare(problem, 8, order=order)
    assert float(readout(plate, "lab-error-full")[0]) == expected.full > 0
    assert float(readout(plate, "lab-error-tiled")[0]) == expected.tiled > 0
    assert float(readout(plate, "lab-limit")[0]) == expected.limit == 2 * expected.full
    assert readout(plate, "lab-rule") == ("holds", "holds")
    bits = last_bits.write(problem, 8, order)
    assert readout(plate, "lab-differing") == (str(bits.differing), f"{bits.differing} of 320")
    wrong = breakage.outcome("random", 40, 8, 8, name, order, "no-rescale")
    assert readout(plate, "lab-wrong")[0] == str(wrong.bad) and wrong.bad > 0


def test_causal_reaches_the_lab():
    full, causal = (open_softmax(causal=c, labFormat="float32") for c in (False, True))
    problem = precision.Rounded(make("random", 32, 8), "float32", causal=True)
    assert float(readout(causal, "lab-error-tiled")[0]) == precision.compare(problem, 8).tiled
    assert readout(full, "lab-error-tiled") != readout(causal, "lab-error-tiled")


def test_float64_is_the_yardstick_and_not_judged():
    plate = open_softmax(labFormat="float64")
    assert readout(plate, "lab-rule") == ("yardstick", "is the yardstick")
    assert 'data-readout="lab-limit"' not in html(plate)


def test_what_a_format_cannot_hold_is_said_and_not_drawn():
    plate = open_softmax(pattern="extreme", labFormat="fp16")
    assert readout(plate, "lab-rule")[0] == readout(plate, "lab-error-full")[0] == "outside"
    assert "outside the range of fp16" in plate.facts()["blocks"]["lab_bits"]
    assert plate._lab._chart._outside.data["y"] == [1]
    assert len(plate._lab._chart.sources["tiled"].data["x"]) == len(FORMATS) - 1


def test_the_rule_would_say_so_if_it_failed(monkeypatch):
    """The word comes from the numbers: a tiled run with a mistake in it fails."""
    honest = precision.compare
    monkeypatch.setattr(precision, "compare", lambda *a, **k: honest(*a, **k | {"broken": "no-rescale"}))
    exactness.compared.cache_clear()
    assert readout(open_softmax(), "lab-rule") == ("fails", "fails")
    exactness.compared.cache_clear()


def test_bits_on_the_page_are_those_of_the_model():
    plate = open_softmax(labFormat="float32", labOrder="backward")
    found = last_bits.write(precision.Rounded(make("random", 32, 8), "float32"), 8, "backward")
    lines = re.findall(
        r"<tr(?: class=\"truth\")?><th scope=row>(.*?)</tr>", plate.facts()["blocks"]["lab_bits"]
    )
    assert len(lines) == len(found.written)
    for line, way in zip(lines, found.written, strict=True):
        cells = re.findall(r'<td class=b><span aria-hidden="true">(.*?)</span>', line)
        assert [re.sub("<.?b>", "", cell) for cell in cells] == list(way.bits)
        assert line.count("<b>") == sum(way.differs)
        assert f"in {sum(way.differs)} bits" in line  # for those who do not see the marks
    assert any(sum(way.differs) for way in found.written)


@pytest.mark.parametrize("broken", precision.BREAKS)
def test_every_mistake_in_every_format_has_its_words(broken):
    plate = open_softmax(labBreak=broken)
    for name, pattern in itertools.product(FORMATS, ("random", "huge", "masked", "extreme")):
        plate.local.param.update(pattern=pattern, labFormat=name)
        shown = plate._lab.facts()["lab_blocks"]
        found = breakage.outcome(pattern, 32, 8, 8, name, "forward", broken)
        verdict = shown["lab_verdict"]
        assert ("first goes wrong" in verdict) == bool(found.bad)
        assert (f'data-readout="lab-wrong" data-value="{found.bad}"' in verdict) == found.fits
        words = re.sub(r"<[^>]*>", " ", " ".join(shown.values()))
        assert not re.search(r"\b(nan|inf|None)\b|[{}]", words)
        assert shown["lab_breaks"].count("<tr") == 1 + len(breakage.PATTERNS)


def test_the_table_of_a_mistake_is_the_models():
    plate = open_softmax(labFormat="float32", labBreak="bf16-sum")
    row = re.search(
        r"<tr><td[^>]*>A long row: 512 equal scores</td>(.*?)</tr>", plate.facts()["blocks"]["lab_breaks"]
    )
    cells = [re.sub("<[^>]*>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row[1])]
    assert cells[0] == "tile 33 of 64, keys 257–264"  # past the 256th key, where bf16 cannot add 1
    assert cells[1] == "32 of 32"


def test_the_chart_draws_the_errors():
    plate = open_softmax(labBreak="no-max", pattern="huge", labFormat="fp16")
    chart = plate._lab._chart
    drawn = plate.facts()["lab_"]
    assert list(drawn) == list(FORMATS)
    for k, (sound, wrong) in enumerate(drawn.values()):
        if sound.full:
            assert chart.sources["standard"].data["x"][k] == sound.full
        if math.isinf(wrong.tiled):
            assert chart.sources["broken"].data["t"][k] == "∞"
    assert any(math.isinf(wrong.tiled) for _, wrong in drawn.values())
    assert chart._limit.data["x"] == [c.limit for c, _ in list(drawn.values())[1:]]
    plate.local.labBreak = "none"
    plate.update()
    assert chart.sources["broken"].data["x"] == []


@pytest.mark.parametrize("value", [0.0, 1e-300, 1e-16, 1e-7, 1.0, 1e30, math.inf, math.nan])
def test_a_mark_stays_in_the_frame(value):
    found = exactness_chart.place(value, {"no_number": "NaN", "infinite": "∞"})
    assert exactness_chart.LOW < found["x"] < exactness_chart.HIGH and found["t"]
    middle = math.sqrt(exactness_chart.LOW * exactness_chart.HIGH)
    assert found["align"] == ("right" if found["x"] > middle else "left")


def test_pytorch_stands_beside_once_asked():
    plate = open_softmax()
    plate._lab._state, plate._lab._ask.visible = "unasked", True
    plate.update()
    assert "PyTorch, standard" not in html(plate) and "can be run on the same inputs" in html(plate)
    plate._lab.ask()
    assert not plate._lab._ask.visible
    shown = plate.facts()["blocks"]["lab_figures"]
    problem = precision.Rounded(make("random", 32, 8), "bf16")
    for error in precision_torch.errors(problem).values():
        assert f">{units.number(error, 2)}<" in shown


def test_without_pytorch_the_page_says_so(monkeypatch):
    monkeypatch.setattr(precision_torch, "installed", lambda: False)
    plate = open_softmax()
    assert "PyTorch is not installed on this server" in html(plate)
    assert not plate._lab._ask.visible and "PyTorch, standard" not in html(plate)
    assert readout(plate, "lab-rule")[0] == "holds"  # nothing else needs it


def test_a_pytorch_that_does_not_load_is_said(monkeypatch, caplog):
    def load():
        raise ImportError("no such library")

    plate = open_softmax()
    plate._lab._state = "unasked"
    monkeypatch.setattr(precision_torch, "load", load)
    plate._lab.ask()
    assert "could not be loaded" in html(plate) and "no such library" in caplog.text


def test_a_link_reproduces_the_lab_and_keeps_the_step():
    query = "?plate=softmax&labFormat=float32&labOrder=backward&labBreak=add-first&step=7"
    atlas = Atlas(PLATES, query)
    local = atlas.plates["softmax"].local
    assert (local.labFormat, local.labOrder, local.labBreak) == ("float32", "backward", "add-first")
    assert atlas.settings.step == 7
    local.labBreak = "sentinel"
    assert atlas.settings.step == 7  # another mistake is not another play
    written = atlas.search()
    for part in ("labFormat=float32", "labOrder=backward", "labBreak=sentinel", "step=7"):
        assert part in written


def test_the_lab_runs_again_only_when_its_inputs_change(monkeypatch):
    plate = open_softmax(sN=37)  # a size of its own: nothing of it is remembered from other tests
    calls = []
    honest = precision.tiled
    for module in (precision, breakage, last_bits):
        monkeypatch.setattr(module, "tiled", lambda *a, **k: calls.append(a) or honest(*a, **k))
    plate.settings.step = 30
    plate.update()
    plate.settings.dtype = "fp32"
    plate.local.order = "key-outer"
    plate.update()
    assert not calls
    plate.local.labBreak = "scale-late"
    plate.update()
    assert calls


def test_the_lab_never_claims_bits():
    assert not re.search(r"identical|bit for bit|to the last bit", text.sections("softmax")["lab"], re.I)
    assert not re.search(r"identical|bit for bit", html(open_softmax(labFormat="float32")), re.I)
