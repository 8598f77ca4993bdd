"""Bytes that a model says a recorded run moves: one answer for curves, points and counters."""

from __future__ import annotations

from workshop import training_traffic
from workshop.problem import Problem, Tile
from workshop.traffic import ledger

from .schema import Row


def model_of(row: Row) -> str:
    """The model of the bytes that a provider moves at least: `standard`, or `compulsory` for every fused one."""
    return "standard" if row.provider == "standard" else "compulsory"


def moved(model: str, problem: Problem, direction: str = "forward") -> float:
    """Bytes of a layer that "standard" (with the mask's own pass when causal) or "compulsory" moves."""
    if direction == "forward+backward":
        one = training_traffic.both(model, problem, Tile())
    else:
        one = ledger(model, problem, Tile(), mask_pass=model == "standard" and problem.causal)
    return float(one.bytes(problem.dtype) * problem.heads)


def modelled_bytes(row: Row) -> float:
    """Bytes that the model of a row's provider moves for its whole call."""
    return moved(model_of(row), row.problem(), row.direction)
