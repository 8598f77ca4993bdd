"""One axis for block sizes 1 to 1,024: 64 round values, an octave from 8 on as wide as any other."""

from __future__ import annotations

import numpy as np

from plates import figures
from workshop import units

# 1, 2, 3, ... 15, then eight steps an octave: all multiples that kernels use are on it.
VALUES = np.array(
    [*range(1, 8), *(step << octave for octave in range(7) for step in range(8, 16)), 1024], dtype=np.int64
)
CELLS = len(VALUES)
_TICKS = (1, 8, 16, 32, 64, 128, 256, 512, 1024)


def position(value):
    """Return where a block size (int or array, 1 to 1,024) lies on the axis; VALUES[i] is at i + 0.5."""
    return np.interp(value, VALUES, np.arange(CELLS) + 0.5)


def value_at(place: float) -> int:
    """Return the block size of the cell at ``place`` on the axis; places outside belong to the nearest cell."""
    return int(VALUES[int(np.clip(np.floor(place), 0, CELLS - 1))])


def ticks(axis) -> None:
    """Label ``axis`` at powers of two."""
    figures.ticks(axis, [position(v) for v in _TICKS], [units.count(v) for v in _TICKS])
