"""The schedule picture: which unit of a multiprocessor is busy when, for one generation of FlashAttention."""

from __future__ import annotations

import math
from typing import ClassVar

from plates.drawn import Drawn, Picture
from plates.text import STATIC, static
from workshop import schedule, units
from workshop.generations import Generation, Units
from workshop.problem import Problem, Tile

_PERIODS = 3.0  # of the even loop are shown, besides the start
_PARTS = ("", "AB")


class ScheduleView(Drawn):
    """Lanes over time; drawn in the browser from ``picture``."""

    picture = Picture("null", doc="As made by ``picture``.")

    _esm = STATIC / "schedule.js"
    _stylesheets: ClassVar[list[str]] = [static("schedule.css")]


def clocks(value: float, words: dict[str, str]) -> str:
    """A number of clocks as text."""
    return f"{units.count(value)} {words['clocks']}"


def _ticks(span: float) -> list[float]:
    """Round numbers of clocks from 0, about six of them."""
    power = 10.0 ** math.floor(math.log10(span / 6))
    step = next(power * k for k in (1, 2, 5, 10) if span / (power * k) <= 7)
    return [step * k for k in range(int(span / step) + 1)]


def picture(
    generation: Generation, rates: Units, problem: Problem, tile: Tile, words: dict[str, str]
) -> tuple[dict, schedule.Schedule]:
    """Return the lanes of the first few tiles for ``ScheduleView``, and the schedule they are from."""
    found = schedule.schedule(generation, rates, problem, tile)
    start = next(task.start for task in found.tasks if task.kind == "scores")
    span = start + _PERIODS * found.period
    parts = _PARTS[generation.query_tiles - 1]
    lanes = []
    for lane in schedule.LANES:
        tasks = []
        for task in found.tasks:
            if task.lane != lane or task.start >= span:
                continue
            part = parts[task.part] if parts else ""
            number = task.visit + 1
            tasks.append(
                {
                    "from": task.start / span,
                    "to": min(task.end / span, 1.0),
                    "cut": task.end > span,
                    "kind": task.kind,
                    "part": task.part,
                    "short": f"{part}{number}",
                    "text": words[f"short_{task.kind}"].format(part=part, visit=number).strip(),
                    "title": words[f"long_{task.kind}"].format(
                        part=f" {part}" if part else "",
                        visit=number,
                        clocks=clocks(task.end - task.start, words),
                    ),
                }
            )
        lanes.append(
            {
                "name": words[f"lane_{lane}"],
                "busy": words["busy"].format(share=units.percent(found.busy(lane))),
                "tasks": tasks,
            }
        )
    ticks = [{"at": tick / span, "text": units.number(tick, 4)} for tick in _ticks(span)]
    return {"lanes": lanes, "ticks": ticks, "axis": words["axis_clocks"]}, found
