"""The same output by several tile orders and widths, down to the bits that differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workshop.precision import ORDERS, Rounded, tiled


@dataclass(frozen=True)
class Written:
    """One output element as one way of adding wrote it.

    way: an order of ORDERS, "tile" (another width, see `Bc`), "whole" (one tile for the row) or "truth" (float64,
    rounded to the format). bits: sign, exponent, fraction. differs: for each bit, whether it is another than the
    first way's. elements: how many elements of the whole output are other numbers than the first way's.
    """

    way: str
    Bc: int
    value: float
    bits: tuple[str, str, str]
    differs: tuple[bool, ...]
    elements: int


@dataclass(frozen=True)
class Bits:
    """The `row` and `column` shown, what each way `written` there, and how many of `count` elements any two ways
    write differently (`differing`)."""

    row: int
    column: int
    written: tuple[Written, ...]
    differing: int
    count: int


def ways(keys: int, Bc: int, order: str) -> list[tuple[str, int, str]]:
    """(way, Bc, order of `tiled`) to compare, the reader's own order first, no width twice."""
    found = [(order, Bc, order)]
    found += [(other, Bc, other) for other in ORDERS if other != order]
    found += [("tile", width, order) for width in (max(1, Bc // 2), 2 * Bc) if width < keys and width != Bc]
    if Bc < keys:
        found.append(("whole", keys, "forward"))
    return found


def write(problem: Rounded, Bc: int, order: str = "forward") -> Bits:
    """Compute the output in every way, and pick the element on which most ways disagree."""
    tried = ways(len(problem.k), Bc, order)
    outputs = np.stack([tiled(problem, width, order=how).output for _, width, how in tried])
    sorted_ = np.sort(outputs, axis=0)
    distinct = (np.diff(sorted_, axis=0) != 0).sum(axis=0)
    # Of the larger half of the elements, where the last bits are not the leftovers of a cancellation, one with most
    # different results, and of those one whose results lie furthest apart.
    size = np.abs(outputs[0])
    shown = np.where(size >= np.median(size), distinct, -1)
    spread = sorted_[-1] - sorted_[0]
    row, column = np.unravel_index(np.lexsort((spread.ravel(), shown.ravel()))[-1], shown.shape)
    truth = problem.format.round(problem.truth)
    tried.append(("truth", Bc, order))
    base = problem.format.split(float(outputs[0, row, column]))
    written = []
    for (way, width, _), output in zip(tried, [*outputs, truth], strict=True):
        value = float(output[row, column])
        bits = problem.format.split(value)
        differs = tuple(a != b for a, b in zip("".join(bits), "".join(base), strict=True))
        elements = int((output != outputs[0]).sum())
        written.append(Written(way, width, value, bits, differs, elements))
    return Bits(int(row), int(column), tuple(written), int((distinct > 0).sum()), distinct.size)
