"""Number controls: what a browser says of a stop that came or went meanwhile, and what two sides write at once."""

from __future__ import annotations

import panel as pn
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plates.controls import ROUND, NumberControl
from plates.rail import STEP, Rail
from plates.settings import Settings


@pytest.mark.parametrize(
    ("text", "set_to", "said"),
    [
        ("1.5", 2, "not a whole number: set to 2"),
        ("8e9", 1 << 20, "1 to 1,048,576: set to 1,048,576"),
        ("many", 8192, "1 to 1,048,576, a whole number"),
        ("1,000", 1000, ""),
    ],
)
def test_a_box_names_the_fault_of_what_was_typed(text, set_to, said):
    settings = Settings()
    control = NumberControl(settings, "N", "N", "tokens")
    control._box.value = text
    assert settings.N == set_to
    assert control._box.helper_text == said
    assert control._box.value == f"{set_to:,}"


@pytest.mark.parametrize(("place", "stop"), [(9_999, -1), (-1, 0), (6, 3)])
def test_a_place_past_an_end_of_the_rail_is_the_end(place, stop):
    settings = Settings()
    control = NumberControl(settings, "N", "N", "tokens")
    control._slider._process_events({"value": place})
    assert settings.N == ROUND["N"][stop]


STOPS = st.lists(st.integers(1, 400), min_size=2, max_size=12, unique=True).map(sorted)


@given(STOPS, st.data())
def test_keys_from_a_typed_number_come_to_its_neighbours_whoever_knows_of_it(stops, data):
    """What the browser shows at each place, and what Python takes it for, before and after the typed number is gone."""
    rail = Rail(stops)
    typed = data.draw(st.integers(stops[0], stops[-1]))
    shown = rail.numbers(typed)
    place, now = rail.place(typed), typed
    assert shown[place] == typed
    rising = sorted({*stops, typed})
    for key in data.draw(st.lists(st.sampled_from([-1, 1]), max_size=20)):
        place = min(max(place + key * STEP, 0), rail.places - 1)
        meant = rail.number(place, typed, now)
        assert meant == shown[place]
        assert meant == rising[min(max(rising.index(now) + key, 0), len(rising) - 1)] or now != typed
        now = meant
    assert rail.numbers(now)[rail.place(now)] == now


@given(STOPS, st.data())
def test_a_stop_has_one_place_whatever_is_typed(stops, data):
    rail = Rail(stops)
    typed, now = (data.draw(st.integers(stops[0], stops[-1])) for _ in range(2))
    for stop in stops:
        assert rail.number(rail.place(stop), typed, now) == rail.numbers(typed)[rail.place(stop)] == stop


def wire(control: NumberControl) -> tuple[int, list[str]]:
    """Return what the browser is told: the place of the thumb and what each place shows."""
    model = next(iter(control._slider._models.values()))[0].data
    return model.value, model.options


@pytest.mark.parametrize(
    ("typed", "key", "reached"), [(777, 1, 1024), (777, -1, 768), (5, 1, 32), (5, -1, 1)]
)
def test_a_key_from_a_typed_number_goes_one_stop_and_at_rest_the_thumb_stands_on_it(typed, key, reached):
    settings = Settings(N=typed)
    control = NumberControl(settings, "N", "N", "tokens")
    model = control._slider.get_root().data
    place, labels = wire(control)
    assert labels[place] == f"{typed:,}"
    model.value = pressed = max(place + key * STEP, 0)
    control._slider._process_events({"value": pressed})
    assert settings.N == reached
    assert wire(control)[0] == pressed, "a correction would cross the next key"
    assert labels[model.value] == f"{reached:,}"
    control._agreement._say()
    place, labels = wire(control)
    assert place % STEP == 0 and labels[place] == f"{reached:,}" and f"{typed:,}" not in labels


def test_a_number_set_by_python_puts_the_thumb_on_its_own_place_whatever_keys_said_before():
    settings = Settings(N=777)
    control = NumberControl(settings, "N", "N", "tokens")
    model = control._slider.get_root().data
    model.value = control._rail.place(777) + STEP
    control._slider._process_events({"value": model.value})
    for number in (512, 777, 1024):
        settings.N = number
        place, labels = wire(control)
        assert place == control._rail.place(number) and labels[place] == f"{number:,}"


def test_a_key_that_panel_still_holds_back_is_not_lost_when_the_typed_number_is_forgotten():
    settings = Settings(N=777)
    control = NumberControl(settings, "N", "N", "tokens")
    model = control._slider.get_root().data
    place = control._rail.place(777)
    model.value = place + 2 * STEP
    control._slider._process_events({"value": model.value})
    assert settings.N == 1536
    control._slider._events = {"value": place - STEP}  # come, and to be heard in 50 ms
    model.value = place - STEP
    control._agreement._say()
    assert control._slider._events == {"value": place - STEP}
    control._slider._change_event(None)
    assert settings.N == 768
    control._agreement._say()
    assert wire(control)[0] == control._rail.place(768)


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
    control._slider._process_events({"value": 10})  # long after Python wrote: nothing can have crossed
    assert not asked
    settings.N = 512  # Back
    control._slider._process_events({"value": 14})  # pressed before that arrived
    assert asked == [control._agreement]
    said.clear()
    control._agreement._say()
    assert said == [control._rail.place(settings.N)]
    assert pn.state.curdoc is None
