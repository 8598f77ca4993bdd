"""Recorded speeds under the conditions of the papers' figures, to stand beside what their authors published."""

from __future__ import annotations

from dataclasses import dataclass

from workshop.kernels.plan import PUBLISHED_COLUMNS, PUBLISHED_TOKENS

from . import PROVIDERS, Recording, Row
from .curves import rate


@dataclass(frozen=True)
class Recorded:
    """One kernel at one head size: its `time` rows without and with a causal mask, forward, 16,384 tokens in one
    sequence. full, causal: FLOP/s."""

    provider: str
    d: int
    rows: tuple[Row, Row]

    @property
    def full(self) -> float:
        return rate(self.rows[0])

    @property
    def causal(self) -> float:
        return rate(self.rows[1])


def as_published(recording: Recording) -> tuple[Recorded, ...]:
    """Every kernel and head size recorded with and without the mask: kernels in the schema's order, d ascending.

    Of several tiles of one kernel the fastest. Empty where nothing of the kind is recorded.
    """
    found = recording.where(metric="time", direction="forward", N=PUBLISHED_TOKENS, batch=1)
    out = []
    for provider in PROVIDERS:
        for d in sorted({row.d for row in found.where(provider=provider, causal=False).rows}):
            shape = {"provider": provider, "d": d, "heads": PUBLISHED_COLUMNS // d}
            both = [
                min(found.where(causal=causal, **shape).rows, key=lambda row: row.p50, default=None)
                for causal in (False, True)
            ]
            if None not in both:
                out.append(Recorded(provider, d, tuple(both)))
    return tuple(out)
