"""The ramp of the maps has no hue, and texts stand off every one of its colours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plates import ramp
from plates.landscape import outline, without_islands
from tests.plates.test_theme import lab, linear


@pytest.mark.parametrize("colour", ramp.RAMP[::3])
def test_text_stands_off_every_colour(colour):
    assert ramp.contrast(ramp.ink_on(colour), colour) >= 4.5


def test_the_ramp_darkens_evenly_and_has_no_hue():
    seen = np.array([lab(linear(colour)) for colour in ramp.RAMP])
    assert (np.diff(seen[:, 0]) < 0.05).all() and seen[0, 0] - seen[-1, 0] > 80
    assert np.hypot(seen[:, 1], seen[:, 2]).max() < 12


@given(st.floats(1e-3, 1e12), st.floats(1, 1e6), st.floats(0, 1))
def test_a_value_has_a_colour_between_those_of_the_ends(low, factor, share):
    colour = ramp.at(low * factor**share, low, low * factor)
    assert colour in ramp.RAMP
    assert ramp.at(low, low, low * factor) == ramp.RAMP[0]


@given(st.lists(st.lists(st.booleans(), min_size=6, max_size=6), min_size=5, max_size=5))
def test_no_border_is_drawn_around_a_few_cells(cells):
    inside = np.array(cells)
    assert (without_islands(inside, 1) == inside).all()


def test_an_island_and_a_hole_of_three_cells_go_and_one_of_four_stays():
    inside = np.zeros((12, 12), dtype=bool)
    inside[:, 6:] = True
    inside[2, 1:4] = True  # an island of three
    inside[5:8, 9] = False  # a hole of three
    inside[8:10, 1:3] = True  # four
    found = without_islands(inside, 4)
    assert not found[2].any() or not found[2, :6].any()
    assert found[5:8, 9].all() and found[8:10, 1:3].all()
    assert len(outline(found)[0]) == 12 + 8
