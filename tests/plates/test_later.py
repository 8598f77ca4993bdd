"""Parts far down a page: all of them come, in order, each filled before it is seen; without a server at once."""

from __future__ import annotations

import panel as pn
from bokeh.document import Document

from plates import typography
from plates.later import Later
from plates.machine import Machine
from plates.settings import Settings


def parts(seen: list):
    """Three parts, of one or two panes, that note when they are built."""

    def part(*names):
        def build():
            seen.append(names[0])
            return [pn.pane.HTML(name) for name in names]

        return build

    return [part("a", "b"), part("c"), part("d")]


def shown(later: Later) -> list[str]:
    return [pane.object for pane in later.view]


def step(doc: Document) -> None:
    """Let the time pass until the only waiting callback is due."""
    (waiting,) = doc.session_callbacks
    doc.remove_timeout_callback(waiting)
    waiting.callback()


def test_without_a_server_everything_is_there_at_once():
    later = Later(parts([]), lambda: None)
    assert shown(later) == ["a", "b", "c", "d"]


def test_a_served_page_gets_one_part_after_another(served):
    built, filled = [], []
    later = Later(parts(built), lambda: filled.append((list(built), shown(later))))
    assert shown(later) == [] and built == []
    for expected in (["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]):
        step(served)
        assert shown(later) == expected
    assert not served.session_callbacks, "nothing waits when all is built"
    # each part was filled when it was built and not yet on show
    assert filled == [(["a"], []), (["a", "c"], ["a", "b"]), (["a", "c", "d"], ["a", "b", "c"])]


def test_parts_built_after_a_move_show_what_was_moved_to(served):
    """The reader moves a slider before the lower half of the plate stands."""
    plate = Machine(Settings(plate="machine", N=4096, Br=64, Bc=64))
    plate.view()
    assert plate._law is None and plate._sweeps is None
    plate.settings.param.update(Br=128)
    plate.update()
    while served.session_callbacks:
        for waiting in list(served.session_callbacks):
            served.remove_timeout_callback(waiting)
            waiting.callback()
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
