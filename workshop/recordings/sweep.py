"""A tile sweep as a grid: of each Br x Bc the fastest number of warps, what was refused, and what spilled."""

from __future__ import annotations

from dataclasses import dataclass

from . import Note, Recording, Row
from .curves import case_of

_TILE = ("Br", "Bc", "warps", "stages")
_SHAPE = ("direction", "dtype", "batch", "heads", "N", "d", "causal")


@dataclass(frozen=True)
class Cell:
    """One tile. best: its fastest `time` row, or None. tried: warps with a time. spills, registers, shared: of the
    kernel of `best`, B a thread, a thread, B a block, or None. refused: why, if no number of warps launched."""

    Br: int
    Bc: int
    best: Row | None
    tried: tuple[int, ...]
    spills: float | None
    registers: float | None
    shared: float | None
    refused: Note | None

    @property
    def rate(self) -> float | None:
        """FLOP/s of the fastest run, or None."""
        return None if self.best is None else case_of(self.best).flops() / self.best.p50


@dataclass(frozen=True)
class Sweep:
    """The tiles of one shape, at one number of stages. Br, Bc: the sides, ascending. cells: {(Br, Bc): Cell}, only
    those that were tried."""

    shape: Row
    stages: int
    Br: tuple[int, ...]
    Bc: tuple[int, ...]
    cells: dict[tuple[int, int], Cell]

    @property
    def fastest(self) -> Cell | None:
        """The cell with the highest rate."""
        timed = [cell for cell in self.cells.values() if cell.best is not None]
        return max(timed, key=lambda cell: cell.rate, default=None)

    @property
    def largest_clean(self) -> Cell | None:
        """What a rule of thumb takes: the cell of most scores that spills no register, the tallest of equals."""
        clean = [cell for cell in self.cells.values() if cell.best is not None and not cell.spills]
        return max(clean, key=lambda cell: (cell.Br * cell.Bc, cell.Br), default=None)


def swept_heads(recording: Recording, least: int = 9) -> tuple[int, ...]:
    """Head sizes with a sweep of at least so many tiles at two stages."""
    tiles: dict[int, set] = {}
    for row in recording.where(metric="time", provider="teaching", direction="forward", stages=2).rows:
        tiles.setdefault(row.d, set()).add((row.Br, row.Bc))
    return tuple(sorted(d for d, found in tiles.items() if len(found) >= least))


def sweep(recording: Recording, d: int, *, causal: bool = False, stages: int = 2) -> Sweep | None:
    """The forward sweep of one head size and mask at the shape with most tiles; None where there is none."""
    timed = recording.where(
        metric="time", provider="teaching", direction="forward", d=d, causal=causal, stages=stages
    )
    shapes: dict[tuple, list[Row]] = {}
    for row in timed.rows:
        shapes.setdefault(tuple(getattr(row, name) for name in _SHAPE), []).append(row)
    if not shapes:
        return None
    rows = max(shapes.values(), key=lambda found: len({(row.Br, row.Bc) for row in found}))
    shape = {name: getattr(rows[0], name) for name in _SHAPE}
    here = recording.where(provider="teaching", stages=stages, **shape)
    facts = {(row.metric, row.Br, row.Bc, row.warps): row.p50 for row in here.rows}
    refused = {
        (note.case["Br"], note.case["Bc"]): note
        for note in recording.notes
        if note.kind == "refused"
        and note.case.get("provider") == "teaching"
        and note.case.get("stages") == stages
        and all(note.case.get(name) == value for name, value in shape.items())
    }
    tiles = {(row.Br, row.Bc) for row in rows} | set(refused)
    cells = {}
    for Br, Bc in sorted(tiles):
        runs = [row for row in rows if (row.Br, row.Bc) == (Br, Bc)]
        best = min(runs, key=lambda row: row.p50, default=None)
        warps = best.warps if best else None
        cells[Br, Bc] = Cell(
            Br,
            Bc,
            best,
            tuple(sorted(row.warps for row in runs)),
            *(facts.get((metric, Br, Bc, warps)) for metric in ("spills", "registers", "shared")),
            refused.get((Br, Bc)) if best is None else None,
        )
    sides = [tuple(sorted({tile[k] for tile in tiles})) for k in (0, 1)]
    return Sweep(rows[0], stages, *sides, cells)
