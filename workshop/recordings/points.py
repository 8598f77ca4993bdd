"""Recorded runs as points of a roofline: measured rate, and FLOPs over the bytes that DRAM really moved."""

from __future__ import annotations

from dataclasses import dataclass

from . import Row
from .curves import case_of, curves, rate
from .evidence import Evidence
from .modelled import modelled_bytes


@dataclass(frozen=True)
class Point:
    """One provider's run. rate: FLOP/s. intensity: FLOP/B of `moved` bytes of the whole call. counted: whether the
    bytes were counted; if not they are the model's, `standard` or `compulsory`."""

    row: Row
    rate: float
    moved: float
    counted: bool

    @property
    def intensity(self) -> float:
        return case_of(self.row).flops() / self.moved


def points(found: Evidence, *, N: int, d: int, causal: bool, dtype: str = "bf16") -> dict[str, Point]:
    """provider -> its forward run at the recorded head size and length nearest to d and N.

    In the number format asked for where it was timed, else in bf16. Empty where no times are recorded for the mask.
    """
    timed = found.recording.where(metric="time", direction="forward", causal=causal)
    used = dtype if dtype in timed.values("dtype") else "bf16"
    sizes = sorted(timed.where(dtype=used).values("d"), key=lambda size: (abs(size - d), size))
    if not sizes:
        return {}
    drawn = curves(found.recording, d=sizes[0], causal=causal, dtype=used)
    lengths = {int(n) for curve in drawn.values() for n in curve.N}
    at = min(lengths, key=lambda n: (max(n / N, N / n), n))
    out = {}
    for provider, curve in drawn.items():
        row = curve.at(at)
        if row is None:
            continue
        counted = found.dram(row)
        out[provider] = Point(row, rate(row), counted or modelled_bytes(row), counted is not None)
    return out
