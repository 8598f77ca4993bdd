"""Number controls: what a browser says of a stop that came or went meanwhile, and what two sides write at once."""

from __future__ import annotations

import panel as pn
import pytest

from plates.controls import NumberControl
from plates.settings import Settings


@pytest.mark.parametrize(("place", "stop"), [(99, -1), (-1, 0), (3, 3)])
def test_a_place_counted_on_an_older_list_of_stops_is_the_nearest_there_is(place, stop):
    settings = Settings()
    control = NumberControl(settings, "N", "N", "tokens")
    control._slider._process_events({"value": place})
    assert settings.N == list(control._slider.options.values())[stop]


def test_a_typed_number_is_a_stop_while_it_is_set():
    settings = Settings()
    control = NumberControl(settings, "N", "N", "tokens")
    settings.N = 777
    assert control._slider.value == 777 and control._box.value == "777"
    settings.N = 512
    assert 777 not in control._slider.options.values()


def test_where_both_sides_wrote_python_says_once_more_what_it_holds(monkeypatch):
    settings = Settings()
    control = NumberControl(settings, "N", "N", "tokens")
    model = control._slider.get_root().data
    said, asked = [], []
    model.on_change("value", lambda name, old, new: said.append(new))
    monkeypatch.setattr(control._agreement._rest, "ask", lambda: asked.append(control._agreement))
    control._slider._process_events({"value": 5})  # long after Python wrote: nothing can have crossed
    assert not asked
    settings.N = 512  # Back
    control._slider._process_events({"value": 7})  # pressed before that arrived
    assert asked == [control._agreement]
    said.clear()
    control._agreement._say()
    assert said == [list(control._slider.options.values()).index(settings.N)]
    assert pn.state.curdoc is None
