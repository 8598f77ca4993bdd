"""Figures: ticks, direct labels that do not collide, colours that follow the theme."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plates import figures
from plates.theme import PALETTES
from workshop import units


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.floats(0.01, 5))
def test_spread_keeps_order_and_gap(values, gap):
    placed = figures.spread(values, gap)
    order = sorted(range(len(values)), key=values.__getitem__)
    moved = [placed[i] for i in order]
    assert all(b - a >= gap * (1 - 1e-9) - 1e-9 for a, b in itertools.pairwise(moved))
    assert sum(placed) == pytest.approx(sum(values), abs=1e-6 * len(values) + 1e-9)


def test_spread_leaves_what_is_far_apart_alone():
    assert figures.spread([3.0, 1.0, 9.0], 1.0) == [3.0, 1.0, 9.0]


@given(st.floats(1e-9, 1e9), st.floats(1.5, 1e12), st.sampled_from([2, 10]))
def test_log_ticks_are_few_powers_within_the_range(low, factor, base):
    found = figures.log_ticks(low, low * factor, base)
    assert len(found) <= 8
    assert all(low * (1 - 1e-6) <= t <= low * factor * (1 + 1e-6) for t in found)


@pytest.mark.parametrize("bad", [(0, 1), (-1, 1), (2, 1)])
def test_log_ticks_refuses_what_has_no_logarithm(bad):
    with pytest.raises(ValueError, match="expected 0 < low < high"):
        figures.log_ticks(*bad)


@given(st.floats(1e-12, 1e6), st.floats(1.5, 1e12))
def test_ticks_of_time_are_round_as_they_are_read(low, factor):
    found = figures.time_ticks(low, low * factor, most=6)
    assert len(found) <= 6 and all(low * (1 - 1e-8) <= v <= low * factor * (1 + 1e-8) for v in found)
    for value in found:
        number = figures.round_text(units.seconds)(value).split(" ")[0].replace(",", "")
        assert number.rstrip("0") in ("1", "2", "4"), number
    with pytest.raises(ValueError, match="0 < low < high"):
        figures.time_ticks(0, 1)


@pytest.mark.parametrize(("first", "N"), [(64, 64), (1, 1), (64, 70), (64, 8192)])
def test_the_dot_of_the_readers_n_is_not_cut(first, N):
    start = figures.first_shown(first, N)
    assert start <= first and N / start >= 1.05


def test_ticks_have_no_idle_zeros():
    tick = figures.round_text(units.bytes_)
    assert [tick(v) for v in (1e7, 1e9, 2.5e9, 100e3)] == ["10 MB", "1 GB", "2.5 GB", "100 kB"]


def test_colours_follow_the_theme_and_back():
    themed = figures.Themed("light")
    fig = figures.chart(themed, x=(1, 10), y=(1, 10), x_label="x", x_log=True, y_log=True)
    line = fig.line([1, 2], [1, 2])
    themed.colour(line.glyph, line_color="standard")
    themed.apply("dark")
    assert line.glyph.line_color == PALETTES["dark"]["standard"]
    assert fig.background_fill_color == PALETTES["dark"]["paper"]
    themed.apply("light")
    assert line.glyph.line_color == PALETTES["light"]["standard"]


@pytest.mark.parametrize("x", [(0, 1), (-1, 1), (3, 2)])
def test_a_log_axis_refuses_zero(x):
    with pytest.raises(ValueError, match="expected a rising positive range for x"):
        figures.chart(figures.Themed("light"), x=x, y=(1, 2), x_label="x", x_log=True)


def test_presenting_enlarges_every_text_and_sets_it_back():
    themed = figures.Themed("light")
    fig = figures.chart(themed, x=(1, 10), y=(1, 10), x_label="x")
    name = figures.label(themed, fig, "standard", "standard")
    themed.present(True)
    assert name.text_font_size == f"{figures.BIG * figures.PROJECTOR:g}px"
    assert fig.xaxis[0].major_label_text_font_size == f"{figures.SMALL * figures.PROJECTOR:g}px"
    assert fig.height == round(420 * figures.PROJECTOR)
    late = figures.chart(themed, x=(1, 10), y=(1, 10), x_label="x")  # built while presenting
    assert late.height == fig.height
    assert late.xaxis[0].axis_label_text_font_size == f"{figures.SMALL * figures.PROJECTOR:g}px"
    themed.present(False)
    assert name.text_font_size == f"{figures.BIG}px" and late.height == fig.height == 420
