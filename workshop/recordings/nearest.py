"""Which recorded shape answers a reader's settings: the same one where it was recorded, else the nearest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from . import Row

#: What a step away costs: a doubling of a size, or another mask. A shape with the reader's mask and head size is
#: preferred to one with the reader's length, because they change what the kernel does and N only how often.
WEIGHTS = {"causal": 16.0, "d": 6.0, "Br": 1.5, "N": 1.0, "heads": 0.5, "Bc": 0.5}


def distance(row: Row, wanted: Mapping[str, int | bool]) -> float:
    """How far a row's shape is from `wanted`, 0 for the same; cells that the row leaves empty do not count."""
    total = 0.0
    for name, value in wanted.items():
        got = getattr(row, name)
        if got is None or got == value:
            continue
        total += WEIGHTS[name] * (1.0 if name == "causal" else abs(math.log2(got / value)))
    return total


def nearest(rows: Iterable[Row], wanted: Mapping[str, int | bool]) -> Row | None:
    """The row nearest to `wanted`, the first of equals; None without rows.

    wanted: any of the keys of `WEIGHTS`; sizes are above 0.
    """
    return min(rows, key=lambda row: distance(row, wanted), default=None)


def differences(row: Row, wanted: Mapping[str, int | bool]) -> dict[str, tuple[int | bool, int | bool]]:
    """{column: (recorded, wanted)} where the two differ."""
    pairs = {name: (getattr(row, name), value) for name, value in wanted.items()}
    return {name: pair for name, pair in pairs.items() if pair[0] is not None and pair[0] != pair[1]}
