"""What one line of a recording says: columns, allowed words, units, and the row as a record.

A recording is a CSV file with the columns of `COLUMNS`, one figure a line. Every line stands alone: it says
which kernel ran on which shape, which quantity was measured in which unit, its 20th, 50th and 80th
percentile, and on which machine, with which versions, from which commit, and when. An empty cell means "does
not apply" (a library kernel has no tile of ours; the copy bandwidth of a machine has no sequence length).
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from workshop.problem import Problem

PROVIDERS = ("standard", "teaching", "fast", "sdpa-flash", "sdpa-cudnn", "sdpa-efficient")
DIRECTIONS = ("forward", "backward", "forward+backward")
DTYPES = ("bf16", "fp16", "fp32")

#: metric -> unit. SI, and "1" for a plain number.
UNITS = {
    "time": "s",
    "error-max": "1",
    "dram-read": "B",
    "dram-write": "B",
    "l2": "B",
    "l1-load": "B",
    "shared": "B",
    "registers": "1",
    "spills": "B",
    "copy-bandwidth": "B/s",
    "matmul-rate": "FLOP/s",
}
METRICS = tuple(UNITS)

#: Quantities of the machine itself: no provider, no direction, no heads.
MACHINE_METRICS = ("copy-bandwidth", "matmul-rate")
#: Quantities that may be zero; every other one is above zero.
MAY_BE_ZERO = ("spills", "error-max", "dram-read", "dram-write", "l1-load", "shared")
#: Providers whose tile the caller chooses, so that Br, Bc, warps and stages must be given.
TILED_PROVIDERS = ("teaching",)


@dataclass(frozen=True)
class Row:
    """One figure. Lengths are counts, `p20`, `p50`, `p80` are in `unit`, `time` is UTC in ISO 8601."""

    provider: str
    direction: str
    dtype: str
    batch: int | None
    heads: int | None
    kv_heads: int | None
    N: int | None
    d: int | None
    causal: bool | None
    Br: int | None
    Bc: int | None
    warps: int | None
    stages: int | None
    metric: str
    unit: str
    p20: float
    p50: float
    p80: float
    gpu: str
    driver: str
    torch: str
    triton: str
    commit: str
    time: str

    def case(self) -> dict:
        """What was run: the cells of `CASE_COLUMNS`."""
        return {name: getattr(self, name) for name in CASE_COLUMNS}

    def problem(self) -> Problem:
        """The shape, all heads. Raises ValueError for a row of the machine itself, which has none."""
        return Problem(N=self.N, d=self.d, H=self.heads, B=self.batch, dtype=self.dtype, causal=self.causal)

    def cells(self) -> list[str]:
        """The row as CSV cells, in the order of `COLUMNS`."""
        return [_cell(value) for value in asdict(self).values()]


COLUMNS = tuple(field.name for field in fields(Row))
#: What was run (all but what was measured and where).
CASE_COLUMNS = COLUMNS[: COLUMNS.index("metric")]

_INTEGERS = ("batch", "heads", "kv_heads", "N", "d", "Br", "Bc", "warps", "stages")
_FLOATS = ("p20", "p50", "p80")
_TIME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z")


def _cell(value) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        # Bytes and counts are whole numbers and read better so; 9 digits are far below any spread.
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else f"{value:.9g}"
    return str(value)


def parse(cells: dict[str, str]) -> Row:
    """One CSV line as a `Row`.

    Raises:
        ValueError: a cell is not of its column's kind; the message names column, expected and got.
    """
    values: dict[str, object] = {}
    for name in COLUMNS:
        text = cells[name]
        try:
            if name in _INTEGERS:
                values[name] = None if text == "" else int(text)
            elif name in _FLOATS:
                values[name] = float(text)
            elif name == "causal":
                values[name] = {"": None, "0": False, "1": True}[text]
            else:
                values[name] = text
        except (ValueError, KeyError):
            kind = "a whole number or nothing" if name in _INTEGERS else "0, 1 or nothing"
            kind = "a number" if name in _FLOATS else kind
            raise ValueError(f"column {name}: expected {kind}, got {text!r}") from None
    return Row(**values)


def problems(row: Row) -> list[str]:
    """What is wrong with a row, as sentences; empty when it follows the schema."""
    found = []

    def expect(true: bool, sentence: str) -> None:
        if not true:
            found.append(sentence)

    expect(row.metric in UNITS, f"metric: expected one of {METRICS}, got {row.metric!r}")
    unit = UNITS.get(row.metric)
    expect(row.unit == unit, f"unit of {row.metric}: expected {unit!r}, got {row.unit!r}")
    expect(row.dtype in DTYPES, f"dtype: expected one of {DTYPES}, got {row.dtype!r}")
    numbers = (row.p20, row.p50, row.p80)
    expect(all(math.isfinite(x) for x in numbers), f"p20, p50, p80: expected finite numbers, got {numbers}")
    expect(row.p20 <= row.p50 <= row.p80, f"expected p20 <= p50 <= p80, got {numbers}")
    least = 0 if row.metric in MAY_BE_ZERO else math.ulp(0.0)
    expect(
        row.p20 >= least,
        f"p20 of {row.metric}: expected {'0 or more' if not least else 'above 0'}, got {row.p20}",
    )
    for name in ("gpu", "driver", "torch", "triton", "commit"):
        expect(bool(getattr(row, name).strip()), f"{name}: expected a name or version, got nothing")
    expect(bool(_TIME.fullmatch(row.time)), f"time: expected YYYY-MM-DDThh:mm:ssZ, got {row.time!r}")

    shape = ("batch", "heads", "kv_heads")
    tile = ("Br", "Bc", "warps", "stages")
    for name in _INTEGERS:
        value = getattr(row, name)
        expect(value is None or value >= 1, f"{name}: expected 1 or more, got {value}")
    if row.metric in MACHINE_METRICS:
        for name in ("provider", "direction"):
            expect(
                getattr(row, name) == "",
                f"{name} of {row.metric}: expected nothing, got {getattr(row, name)!r}",
            )
        for name in (*shape, *tile, "causal"):
            expect(
                getattr(row, name) is None,
                f"{name} of {row.metric}: expected nothing, got {getattr(row, name)}",
            )
        return found
    expect(row.provider in PROVIDERS, f"provider: expected one of {PROVIDERS}, got {row.provider!r}")
    expect(row.direction in DIRECTIONS, f"direction: expected one of {DIRECTIONS}, got {row.direction!r}")
    for name in (*shape, "N", "d", "causal"):
        expect(getattr(row, name) is not None, f"{name}: expected a value, got nothing")
    if row.heads and row.kv_heads:
        expect(
            row.heads % row.kv_heads == 0, f"heads: expected a multiple of {row.kv_heads}, got {row.heads}"
        )
    if row.provider in TILED_PROVIDERS:
        for name in tile:
            expect(getattr(row, name) is not None, f"{name} of {row.provider}: expected a value, got nothing")
    return found


def read_rows(path: str | Path) -> tuple[Row, ...]:
    """All rows of a recording.

    Raises:
        ValueError: the header is not `COLUMNS`, or a line does not parse; the message names file and line.
    """
    with open(path, newline="", encoding="utf-8") as file:
        return tuple(_rows(csv.reader(file), str(path)))


def _rows(lines: Iterable[list[str]], name: str) -> Iterator[Row]:
    lines = iter(lines)
    header = next(lines, [])
    if tuple(header) != COLUMNS:
        raise ValueError(
            f"{name}: expected the columns {', '.join(COLUMNS)}, got {', '.join(header) or 'nothing'}"
        )
    for number, cells in enumerate(lines, start=2):
        if len(cells) != len(COLUMNS):
            raise ValueError(f"{name}, line {number}: expected {len(COLUMNS)} cells, got {len(cells)}")
        try:
            yield parse(dict(zip(COLUMNS, cells, strict=True)))
        except ValueError as error:
            raise ValueError(f"{name}, line {number}: {error}") from None


def append_rows(path: str | Path, rows: Iterable[Row]) -> None:
    """Add rows at the end of a recording, with the header first if the file is new. Each call reaches the
    disk.

    Raises:
        ValueError: a row does not follow the schema; nothing is written then.
    """
    rows = list(rows)
    for row in rows:
        wrong = problems(row)
        if wrong:
            raise ValueError(f"row not written: {'; '.join(wrong)}")
    path = Path(path)
    new = not path.exists() or path.stat().st_size == 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(COLUMNS)
        writer.writerows(row.cells() for row in rows)
