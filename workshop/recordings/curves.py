"""Times of a recording as curves against N, as rates, and beside what the machine and the model allow.

Rates count 4 N^2 d operations a head forward, half when causal, 3.5 times that with the backward pass, whatever a
kernel really computed: a kernel that skips masked tiles looks as fast as it is, one that does not looks slow.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from workshop import roofline, training_traffic
from workshop.hardware import GPU
from workshop.kernels.plan import Case
from workshop.problem import Problem, Tile

from . import Recording, Row
from .modelled import moved

#: How the model's words for a pass map to a recording's.
_BOTH = "forward+backward"


def case_of(row: Row) -> Case:
    """The case of a row."""
    return Case(**row.case())


def rate(row: Row) -> float:
    """FLOP/s of a `time` row, at its median."""
    return case_of(row).flops() / row.p50


@dataclass(frozen=True)
class Curve:
    """One provider's `time` rows against N, ascending. Arrays of one length: N; seconds p20, p50, p80 (of all heads
    of the row); rate, slow, fast: FLOP/s at p50, p80, p20. rows: where they are from."""

    provider: str
    rows: tuple[Row, ...]

    @property
    def N(self) -> np.ndarray:
        return np.array([row.N for row in self.rows], dtype=np.int64)

    def _rate(self, name: str) -> np.ndarray:
        return np.array([case_of(row).flops() / getattr(row, name) for row in self.rows])

    @property
    def rate(self) -> np.ndarray:
        return self._rate("p50")

    @property
    def slow(self) -> np.ndarray:
        return self._rate("p80")

    @property
    def fast(self) -> np.ndarray:
        return self._rate("p20")

    def at(self, N: int) -> Row | None:
        """The row of one N, or None."""
        return next((row for row in self.rows if row.N == N), None)


def _main_tile(rows: tuple[Row, ...]) -> tuple:
    """The tile timed at most lengths; of equals, the fastest. A tile sweep beside the curve has one length."""

    def tile(row: Row) -> tuple:
        return row.Br, row.Bc, row.warps, row.stages

    lengths = Counter(t for t, _ in {(tile(row), row.N) for row in rows})
    quickest = {t: min(row.p50 for row in rows if tile(row) == t) for t in lengths}
    return min(lengths, key=lambda t: (-lengths[t], quickest[t]))


def curves(
    recording: Recording, *, d: int, causal: bool, direction: str = "forward", dtype: str = "bf16"
) -> dict[str, Curve]:
    """provider -> `Curve`, in the order of the schema; a provider without rows is left out.

    Where a length was timed with several tiles or numbers of heads, the tile of most lengths and the most heads
    are taken; grouped K,V heads are left out.
    """
    found = recording.where(
        metric="time", d=d, causal=causal, direction=direction, dtype=dtype, batch=1, provider=bool
    )
    out = {}
    for provider in _in_order(found):
        rows = tuple(row for row in found.rows if row.provider == provider and row.heads == row.kv_heads)
        if not rows:
            continue
        if provider == "teaching":  # the others choose a tile for each length
            main = _main_tile(rows)
            rows = tuple(row for row in rows if (row.Br, row.Bc, row.warps, row.stages) == main)
        best = {}
        for row in rows:
            if row.N not in best or row.heads > best[row.N].heads:
                best[row.N] = row
        out[provider] = Curve(provider, tuple(best[N] for N in sorted(best)))
    return out


def _in_order(recording: Recording) -> list[str]:
    from . import PROVIDERS

    there = {row.provider for row in recording.rows}
    return [name for name in PROVIDERS if name in there]


@dataclass(frozen=True)
class Ceilings:
    """What the machine itself was measured to do: matmul, FLOP/s, of a large matrix product; copy, B/s, read plus
    written, of a large copy. None where it was not measured."""

    matmul: Row | None
    copy: Row | None

    def attainable(self, flops: float, moved: float) -> float | None:
        """FLOP/s that the measured rates allow a job of so many FLOPs and bytes; None without both rates."""
        if self.matmul is None or self.copy is None:
            return None
        return min(self.matmul.p50, self.copy.p50 * flops / moved)


def ceilings(recording: Recording) -> Ceilings:
    """The measured ceilings of a recording's machine."""
    return Ceilings(recording.get(metric="matmul-rate"), recording.get(metric="copy-bandwidth"))


def _flops(problem: Problem, direction: str) -> float:
    case = Case(
        "standard", direction, heads=problem.heads, N=problem.N, d=problem.d, causal=problem.causal,
    )  # fmt: skip
    return case.flops()


def roof(found: Ceilings, model: str, problem: Problem, direction: str, Ns) -> np.ndarray | None:
    """FLOP/s that the measured machine allows at each N to a kernel that moves the bytes of `model` ("standard" or
    "compulsory"); None where the machine's rates were not measured."""
    if found.matmul is None or found.copy is None:
        return None
    out = []
    for N in Ns:
        there = Problem(int(N), problem.d, problem.H, problem.B, problem.dtype, problem.causal)
        out.append(found.attainable(_flops(there, direction), moved(model, there, direction)))
    return np.array(out)


def modelled(problem: Problem, tile: Tile, gpu: GPU, direction: str, Ns) -> tuple[np.ndarray, np.ndarray]:
    """The `bound` model on data-sheet rates at each N: seconds of a layer, and FLOP/s by the recording's count.

    Forward: `roofline.time`. With the backward pass: `training_traffic.times`.
    """
    seconds = []
    for N in Ns:
        there = Problem(int(N), problem.d, problem.H, problem.B, problem.dtype, problem.causal)
        if direction == _BOTH:
            seconds.append(float(training_traffic.times("bound", there, tile, np.array([int(N)]), gpu)[0]))
        else:
            seconds.append(roofline.time("bound", there, tile, gpu).lower)
    work = [
        _flops(Problem(int(N), problem.d, problem.H, problem.B, problem.dtype, problem.causal), direction)
        for N in Ns
    ]
    return np.array(seconds), np.array(work) / np.array(seconds)
