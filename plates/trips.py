"""The picture of standard attention's trips: the whole story is sent once and played in the browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import param

from plates.drawn import Drawn, Picture
from plates.language import Labels
from plates.text import static
from workshop import hierarchy, round_trips, units
from workshop.hardware import GPU
from workshop.problem import Problem


class Trips(Drawn):
    """Draws the trips of `workshop.round_trips` beside the loop of `workshop.stream`: whole at rest, played when asked.

    ``step`` is how many trips are done when the play rests, 0 to all (and one more while a loop that moves more than
    the trips comes to its end): written by the browser after a step, a pause or a drag, and by Python to jump. A value
    past the end is taken as the end.
    """

    data = Picture(
        "null", doc='What to draw: `picture`, with that of `stream` under "stream"; replacing it draws anew.'
    )
    step = param.Integer(0, doc="Steps done at rest.")
    words = param.Dict(doc="Labels, by key.")

    _esm = "".join(static(f"{name}.js") for name in ("transport", "boxes", "stream", "wall"))
    _stylesheets: ClassVar[list[str]] = [
        static(f"{name}.css") for name in ("range", "transport", "wall", "stream")
    ]


def share(found: tuple[round_trips.Pass, ...], words: Labels) -> str:
    """The share of the N x N matrices in all bytes; what only rounds to the whole is not called the whole."""
    shown = units.percent(round_trips.score_share(found))
    return words["share_almost"] if shown == units.percent(1.0) else shown


def squares(found: tuple[round_trips.Pass, ...], words: Labels) -> str:
    """What the N x N matrices are: S and P, and with a dropout pass what it makes of them."""
    dropped = any(trip.square and trip.tensor not in ("S", "P") for trip in round_trips.trips(found))
    return words["squares_dropped" if dropped else "squares"]


def _beside(square: int, shared: hierarchy.Level, words: Labels) -> tuple[str, str]:
    """S beside the shared memory of the chip and of one multiprocessor: always the larger by the smaller."""
    large, middle = square > shared.total, square > shared.each
    chip = units.ratio(square / shared.total if large else shared.total / square)
    sm = units.ratio(square / shared.each if middle else shared.each / square)
    first = words["scale_chip" if large else "scale_chip_under"].format(ratio=chip)
    slug = "scale_sm" if large else "scale_sm_over" if middle else "scale_sm_under"
    return first, words[slug].format(ratio=sm)


def picture(
    found: tuple[round_trips.Pass, ...],
    problem: Problem,
    gpu: GPU,
    words: Labels,
    said: Callable[[str], str] = str,
) -> dict:
    """Return what the picture draws: trips with bytes and sentences, passes, the matrices and the chip.

    ``said`` translates a sentence of the models. Sizes are those of one head, except that the whole chip stands on
    the other side.
    """
    every, so_far = round_trips.trips(found), round_trips.running(found)
    owner = [k for k, item in enumerate(found) for _ in item.trips]
    square = problem.N**2 * problem.element_bytes
    level = {item.slug: item for item in hierarchy.levels(gpu)}
    shared, memory = level["shared"], level["memory"]

    def way(item) -> str:
        return words["out" if item.direction == "write" else "in"]

    def trip(k: int) -> dict:
        item = every[k]
        seconds = units.seconds(item.bytes / gpu.bandwidth)
        values = {
            "n": k + 1,
            "tensor": said(item.tensor),
            "way": way(item),
            "bytes": units.bytes_(item.bytes),
        }
        return {
            "tensor": item.tensor,
            "name": said(item.tensor),
            "write": item.direction == "write",
            "square": item.square,
            "pass": owner[k],
            "bytes": item.bytes,
            "text": units.bytes_(item.bytes),
            "short": f"{said(item.tensor)} {way(item)}",
            "total": so_far[k],
            "total_text": units.bytes_(so_far[k]),
            "label": words["this_trip"].format(tensor=said(item.tensor), way=way(item), seconds=seconds),
            "say": words["say_trip"].format(
                **values, why=words.get(f"why_{found[owner[k]].slug}_{item.tensor}", said(item.why))
            ),
        }

    total = units.bytes_(so_far[-1])
    facts = {
        "trips": len(every),
        "total": total,
        "share": share(found, words),
        "squares": squares(found, words),
        "heads": units.count(problem.heads),
    }
    last = found[-1].trips[0].tensor
    return {
        "N": problem.N,
        "d": problem.d,
        "trips": [trip(k) for k in range(len(every))],
        "passes": [
            {
                "does": said(item.does),
                "work": [units.flops(item.flops), units.intensity(item.intensity)],
            }
            for item in found
        ],
        "square": {"bytes": square, "text": units.bytes_(square)},
        "memory": [
            {"strips": ["Q", "K"], "square": "S", "note": words["note_S"]},
            {"strips": ["V", "O"], "square": "P", "note": words[f"note_{'P' if last == 'P' else 'dropped'}"]},
        ],
        "hbm": {
            "title": words["hbm"].format(kind=said(gpu.memory_kind)),
            "note": words.listed([units.bytes_(memory.total), units.rate_bytes(gpu.bandwidth)], "parts"),
        },
        "chip": {
            "title": words["chip"],
            "note": words["chip_note"].format(pieces=units.count(shared.pieces)),
            "bytes": shared.total,
            "pieces": shared.pieces,
            "lines": [
                words["cell"].format(each=units.binary(shared.each)),
                words["cells"].format(total=units.binary(shared.total)),
            ],
        },
        "scale": [
            words["one_scale"],
            *_beside(square, shared, words),
        ],
        "nothing": units.bytes_(0),
        "total_text": total,
        "before": words["before"].format(**facts),
        "after": words["after"].format(**facts),
        "kernels": words["standard_head"].format(passes=len(found)),
        "spoken": words["spoken"].format(
            **facts,
            list=words.listed(
                (
                    words["spoken_trip"].format(
                        tensor=said(t.tensor), way=way(t), bytes=units.bytes_(t.bytes)
                    )
                    for t in every
                ),
                "clauses",
            ),
        ),
    }
