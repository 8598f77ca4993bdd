"""What a component draws travels as one text, and only from Python to the browser."""

from __future__ import annotations

import json

import param
import pytest
from bokeh.document import Document
from param import descendents

from plates.drawn import Drawn, Picture, sent
from plates.registry import PLATES
from plates.split_view import play


class Sheet(Drawn):
    drawing = Picture("null", doc="What to draw.")
    step = param.Integer(0)

    _esm = "export function render() {}"


PLAY = play(3)


def shown(sheet: Sheet):
    doc = Document()
    model = sheet.get_root(doc)
    doc.add_root(model)
    return model.data


def test_what_is_sent_is_read_back_and_comes_to_the_browser():
    sheet = Sheet(drawing=sent(PLAY))
    wire = shown(sheet)
    assert json.loads(wire.drawing) == PLAY
    for new in (play(5), [1, {"a": "é"}], {}, None):
        sheet.drawing = sent(new)
        assert json.loads(wire.drawing) == new


def test_a_number_that_a_browser_could_not_read_is_no_picture():
    with pytest.raises(ValueError, match="not JSON compliant"):
        sent({"x": float("nan")})


def test_what_a_browser_says_of_a_picture_is_not_taken():
    sheet = Sheet(drawing=sent(PLAY))
    wire = shown(sheet)
    wire.drawing, wire.step = "null", 2  # as a message from the browser sets them
    assert json.loads(sheet.drawing) == PLAY and sheet.step == 2
    sheet.drawing = sent(play(4))
    assert json.loads(wire.drawing) == play(4)


def test_every_component_of_a_plate_that_draws_is_one():
    assert PLATES  # which imports them
    names = {cls.__name__ for cls in descendents(Drawn)} - {"Drawn", "Sheet"}
    assert {"Stepper", "Trips", "Loop", "MaskView", "SplitView", "ScheduleView", "Quiz", "Predict"} <= names
