"""Parts far down a page: all of them come, in order, each filled before it is seen; without a server at once."""

from __future__ import annotations

import sys

import panel as pn

from plates import typography
from plates.later import Arrived, Later
from plates.machine import Machine
from plates.settings import Settings
from tests.plates.walk import pass_time


def parts(seen: list):
    """Three parts, of one or two panes, that note when they are built."""

    def part(*names):
        def build():
            seen.append(names[0])
            return [pn.pane.HTML(name) for name in names]

        return build

    return [part("a", "b"), part("c"), part("d")]


def shown(later: Later) -> list[str]:
    return [view.object for view in later.view if not isinstance(view, Arrived)]


def growing(later: Later) -> bool:
    return "growing" in later.view.css_classes


def draw(column: pn.Column) -> None:
    """Let the browser say that it has drawn all of ``column``."""
    column[-1]._handle_msg("drawn")


def test_without_a_server_everything_is_there_at_once():
    later = Later(parts([]), lambda: None)
    assert shown(later) == ["a", "b", "c", "d"] and not growing(later)


def test_a_served_page_gets_one_part_after_another_each_when_the_one_before_is_drawn(served):
    built, filled = [], []
    later = Later(parts(built), lambda: filled.append((list(built), shown(later))))
    assert shown(later) == [] and built == [] and growing(later)
    for expected in (["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]):
        draw(later.view)
        draw(later.view)  # a browser may say it twice
        pass_time(served)
        pass_time(served)
        assert shown(later) == expected
        assert growing(later), "drawn is what the browser says, not what it was sent"
    draw(later.view)
    assert not growing(later) and not served.session_callbacks, "nothing waits when all is drawn"
    # each part was filled when it was built and not yet on show
    assert filled == [(["a"], []), (["a", "c"], ["a", "b"]), (["a", "c", "d"], ["a", "b", "c"])]


def test_nothing_comes_while_a_column_is_drawn_anew(served):
    """Its plate was left and shown again between two parts."""
    later = Later(parts([]))
    draw(later.view)
    later.sent()
    pass_time(served)
    assert shown(later) == [], "the browser is building the column"
    draw(later.view)
    pass_time(served)
    assert shown(later) == ["a", "b"]
    assert not served.session_callbacks, "each part waits for the one before"


def test_a_part_that_fails_is_told_and_keeps_no_other_from_coming(served):
    def broken():
        raise RuntimeError("bad moment")

    first, *rest = parts([])
    told = []
    later = Later([first, broken, *rest], failed=lambda: told.append(str(sys.exception())))
    for _ in range(5):
        draw(later.view)
        pass_time(served)
    assert shown(later) == ["a", "b", "c", "d"] and not growing(later)
    assert told == ["bad moment"]


def test_parts_built_after_a_move_show_what_was_moved_to(served):
    """The reader moves a slider before the lower half of the plate stands."""
    plate = Machine(Settings(plate="machine", N=4096, Br=64, Bc=64))
    plate.view()
    plate.sent()
    assert plate._law is None and plate._sweeps is None
    plate.settings.param.update(Br=128)
    plate.update()
    for _ in range(20):
        for column in plate._columns:
            draw(column.view)
        pass_time(served)
    assert plate._run is not None
    ring = plate._law._ring.data
    case = plate._latest["_"].case
    assert case.row.Br == 128 and ring["y"] == [case.level(name).counted for name in ("L1", "DRAM")]
    x = plate._latest["_"].sweep.Br.index(128) + 0.5
    assert plate._sweeps.measured.rings["yours"].data["x"] == [x]
    texts = {name: pane.object for name, pane in plate._texts.items()}
    assert texts == {
        name: typography.finished(plate._html(name, plate._latest), plate.settings.lang) for name in texts
    }
