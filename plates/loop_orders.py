"""The two orders in which a kernel can walk the tiles, drawn as small maps with what stays and what streams."""

from __future__ import annotations

from dataclasses import dataclass

_ROWS = 4  # blocks a side of the drawing
_CELL, _LEFT, _TOP = 26, 26, 24


@dataclass(frozen=True)
class Order:
    """One loop order: its title, the role of its colour, whether queries are outside, and (term, words) pairs."""

    title: str
    role: str
    queries_outside: bool
    lines: tuple[tuple[str, str], ...]


def _way(queries_outside: bool) -> str:
    """A path through the middle of all tiles, one row (or column) after the other."""
    points = []
    for outer in range(_ROWS):
        for inner in (0, _ROWS - 1):
            row, column = (outer, inner) if queries_outside else (inner, outer)
            points.append((_LEFT + (column + 0.5) * _CELL, _TOP + (row + 0.5) * _CELL))
    return " ".join(f"{x:g},{y:g}" for x, y in points)


def _drawing(order: Order) -> str:
    side = _ROWS * _CELL
    cells = "".join(
        f'<rect class="cell" x="{_LEFT + i * _CELL}" y="{_TOP + j * _CELL}" width="{_CELL}" height="{_CELL}"/>'
        for j in range(_ROWS)
        for i in range(_ROWS)
    )
    rows, columns = ("kept", "moving") if order.queries_outside else ("moving", "kept")
    bars = "".join(
        f'<rect class="{rows}" x="{_LEFT - 9}" y="{_TOP + k * _CELL + 2}" width="5" height="{_CELL - 4}"/>'
        f'<rect class="{columns}" x="{_LEFT + k * _CELL + 2}" y="{_TOP - 9}" width="{_CELL - 4}" height="5"/>'
        for k in range(_ROWS)
    )
    x, y = _LEFT + (_ROWS - 0.5) * _CELL, _TOP + (_ROWS - 0.5) * _CELL
    tip = f"{x + 7:g},{y:g} {x - 4:g},{y - 6:g} {x - 4:g},{y + 6:g}"
    if not order.queries_outside:
        tip = f"{x:g},{y + 7:g} {x - 6:g},{y - 4:g} {x + 6:g},{y - 4:g}"
    return (
        f'<svg viewBox="0 0 {_LEFT + side + 4} {_TOP + side + 4}" aria-hidden="true">{cells}{bars}'
        f'<text x="0" y="{_TOP + side / 2 + 4}">Q</text><text x="{_LEFT + side / 2 - 13}" y="10">K, V</text>'
        f'<polyline class="way" points="{_way(order.queries_outside)}"/><polygon class="tip" points="{tip}"/></svg>'
    )


def orders(found: list[Order]) -> str:
    """Return the orders side by side as HTML."""
    cards = []
    for order in found:
        lines = "".join(f"<dt>{term}</dt><dd>{words}</dd>" for term, words in order.lines)
        cards.append(
            f'<div class="order" style="--c:var(--{order.role})"><h3>{order.title}</h3>'
            f"{_drawing(order)}<dl>{lines}</dl></div>"
        )
    return f'<div class="orders">{"".join(cards)}</div>'
