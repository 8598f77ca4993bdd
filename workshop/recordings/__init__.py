"""Measured data with provenance: a reader for the recordings shipped beside this file.

    >>> recording = load("h200")
    >>> recording.one(metric="l1-load", provider="teaching", N=4096, d=128, Br=64, Bc=64, ...).p50

A recording is two files: `NAME.csv` (figures; see `schema.py`) and `NAME.json` (how they were made: the
machine, versions, method, what was refused, skipped or failed and why, and the counters kernel by kernel).
Both are written by `python -m workshop measure`, never by hand. This module only reads; numpy and the
standard library are all it needs.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .schema import CASE_COLUMNS, COLUMNS, DIRECTIONS, METRICS, PROVIDERS, UNITS, Row, problems, read_rows

__all__ = [
    "CASE_COLUMNS",
    "COLUMNS",
    "DIRECTIONS",
    "METRICS",
    "PROVIDERS",
    "UNITS",
    "Note",
    "Recording",
    "Row",
    "available",
    "load",
    "problems",
    "read",
]

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Note:
    """A case without a figure: `kind` is "refused" (the GPU would not launch it), "skipped" (it was predicted
    not to fit and was never started) or "failed"; `sentence` says why; `required` and `limit` are set for a
    refusal, in the unit of `resource` (bytes of shared memory, or threads)."""

    kind: str
    case: dict[str, Any]
    sentence: str
    resource: str = ""
    required: int | None = None
    limit: int | None = None


@dataclass(frozen=True)
class Recording:
    """Rows of one file, or a selection of them. Immutable."""

    name: str
    rows: tuple[Row, ...]
    provenance: dict[str, Any] = field(default_factory=dict, repr=False)
    origin: str = "recorded"

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, **conditions) -> Recording:
        """The rows that meet every condition.

        A condition is a value (`N=4096`), a set of values (`provider={"fast", "standard"}`; any list, tuple
        or set), or a predicate (`N=lambda n: n and n >= 4096`). `Br=None` asks for rows whose cell is empty.

        Raises:
            ValueError: a condition names no column.
        """
        for name in conditions:
            if name not in COLUMNS:
                raise ValueError(f"expected a column of {', '.join(COLUMNS)}, got {name!r}")
        rows = (row for row in self.rows if all(_meets(getattr(row, n), c) for n, c in conditions.items()))
        return replace(self, rows=tuple(rows))

    def get(self, **conditions) -> Row | None:
        """The one row that meets the conditions, or None.

        Raises:
            ValueError: more than one row meets them.
        """
        rows = self.where(**conditions).rows
        if len(rows) > 1:
            raise ValueError(f"expected at most one row of {self.name} for {conditions}, got {len(rows)}")
        return rows[0] if rows else None

    def one(self, **conditions) -> Row:
        """The one row that meets the conditions.

        Raises:
            ValueError: none or more than one row meets them.
        """
        row = self.get(**conditions)
        if row is None:
            raise ValueError(f"expected one row of {self.name} for {conditions}, got none")
        return row

    def values(self, column: str) -> list:
        """The distinct values of a column, sorted, without the empty one."""
        return sorted({getattr(row, column) for row in self.rows} - {None, ""})

    def array(self, column: str) -> np.ndarray:
        """A column as an array; empty numeric cells are NaN."""
        values = [getattr(row, column) for row in self.rows]
        if any(isinstance(value, str) for value in values):
            return np.array(values, dtype=str)
        return np.array([np.nan if value is None else value for value in values], dtype=float)

    @property
    def notes(self) -> tuple[Note, ...]:
        """The cases without a figure, with the reason: refused, skipped, failed."""
        return tuple(
            Note(
                kind,
                entry["case"],
                entry["sentence"],
                entry.get("resource", ""),
                entry.get("required"),
                entry.get("limit"),
            )
            for kind in ("refused", "skipped", "failed")
            for entry in self.provenance.get(kind, ())
        )

    @property
    def kernels(self) -> tuple[dict[str, Any], ...]:
        """Hardware counters kernel by kernel: `case`, `kernel` (name), `launch`, `counters` {ncu metric:
        value}."""
        return tuple(self.provenance.get("kernels", ()))

    @property
    def device(self) -> dict[str, Any]:
        """What the driver said of the GPU: `name`, `sms`, `l2_bytes`, `memory_bytes`, `shared_block_bytes`,
        `shared_sm_bytes`, `registers_sm`, `capability`."""
        return dict(self.provenance.get("device", {}))

    def method(self, metric: str) -> str:
        """How a metric was measured, in a sentence or two; "" where the recording does not say."""
        return self.provenance.get("method", {}).get(metric, "")

    def source(self) -> str:
        """One line of provenance: GPU, driver, versions, commits and days of these rows."""
        return self._source

    @cached_property
    def _source(self) -> str:  # thousands of rows, and pages ask at every move of a slider
        if not self.rows:
            return f"{self.name}: no rows"
        days = sorted({row.time[:10] for row in self.rows})
        commits = sorted({row.commit[:10] for row in self.rows})
        first = self.rows[0]
        return (
            f"{first.gpu}, driver {first.driver}, torch {first.torch}, triton {first.triton}, "
            f"commit {', '.join(commits)}, {' and '.join(days)}"
        )


def _meets(value, condition) -> bool:
    if callable(condition):
        return bool(condition(value))
    if isinstance(condition, Collection) and not isinstance(condition, str):
        return value in condition
    return value == condition


def available() -> dict[str, Path]:
    """The shipped recordings, name -> CSV file."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.csv"))}


def read(path: str | Path) -> Recording:
    """A recording from any CSV file, with its JSON beside it where there is one.

    Raises:
        ValueError: the file does not follow the schema; the message names file, line, column, expected and
            got.
    """
    path = Path(path)
    sidecar = path.with_suffix(".json")
    provenance = json.loads(sidecar.read_text(encoding="utf-8")) if sidecar.exists() else {}
    return Recording(path.stem, read_rows(path), provenance)


@lru_cache(maxsize=8)
def load(name: str = "h200") -> Recording:
    """A shipped recording by name, read once.

    Raises:
        ValueError: there is none of that name; the message lists those there are.
    """
    files = available()
    if name not in files:
        raise ValueError(f"expected a recording of {', '.join(files) or 'none shipped'}, got {name!r}")
    return read(files[name])
