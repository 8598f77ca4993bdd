"""Every counted case of a recording beside its models, and how often K and V were read: what the pictures draw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from workshop.masks import ceil_div
from workshop.problem import Problem
from workshop.waves import wave_passes

from . import Recording, Row
from .boundaries import BARS, IN_STEP, Boundary, boundaries, counted_cases, resident_blocks
from .modelled import modelled_bytes


def agrees(boundary: Boundary) -> bool | None:
    """Whether counter and model agree within the bar of the level; None where there is no model."""
    if boundary.residual is None:
        return None
    return abs(boundary.residual) <= BARS[boundary.level]


@dataclass(frozen=True)
class Counted:
    """One case of the teaching kernel whose bytes were counted. levels: L1, L2, DRAM. resident: blocks that the
    whole GPU holds at once, and per_sm: one multiprocessor."""

    row: Row
    levels: tuple[Boundary, ...]
    resident: int
    per_sm: int

    def level(self, name: str) -> Boundary:
        """The boundary "L1", "L2" or "DRAM". Raises ValueError for another name."""
        for boundary in self.levels:
            if boundary.level == name:
                return boundary
        raise ValueError(f"level: expected one of {[b.level for b in self.levels]}, got {name!r}")

    @property
    def problem(self) -> Problem:
        """The shape, all heads."""
        return self.row.problem()

    @property
    def head_bytes(self) -> int:
        """K and V of one head, B."""
        problem = self.problem
        return 2 * problem.N * problem.d * problem.element_bytes

    @property
    def query_blocks(self) -> int:
        """Tr: Q blocks of a head."""
        return ceil_div(self.row.N, self.row.Br)

    @property
    def out_of_step(self) -> bool:
        """Whether so many blocks share a multiprocessor that a wave need not read K and V together."""
        return self.per_sm > IN_STEP

    @property
    def passes(self) -> float:
        """Readings of K and V of a head from DRAM, as counted: (DRAM read - Q) / (K + V), averaged over the heads."""
        heads = self.problem.heads
        return (self.level("DRAM").counted - heads * self.head_bytes / 2) / (heads * self.head_bytes)

    @property
    def waves_alone(self) -> int:
        """Readings of K and V if each head ran alone: ceil(Tr / R), the `waves` model of one head."""
        return ceil_div(self.query_blocks, self.resident)

    @property
    def waves_shared(self) -> float:
        """Readings of K and V a head where a wave of blocks may straddle two heads and then reads both."""
        heads = self.problem.heads
        return wave_passes(self.query_blocks, self.resident, heads) / heads


@dataclass(frozen=True, eq=False)  # by identity, so that what is worked out for it can be remembered
class Evidence:
    """A recording's counters, worked out once."""

    recording: Recording

    def where(self, **conditions) -> Recording:
        """`Recording.where`, remembered: pages ask the same at every move of a slider. Several values as a tuple."""
        return _where(self, tuple(sorted(conditions.items())))

    @cached_property
    def cases(self) -> tuple[Counted, ...]:
        """Every counted case; one that lacks a counter is left out and named in `missing`."""
        return self._read[0]

    @property
    def missing(self) -> tuple[str, ...]:
        """Cases that could not be put beside a model, with the reason."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[tuple[Counted, ...], tuple[str, ...]]:
        found, missing = [], []
        for row in counted_cases(self.recording):
            try:
                resident = resident_blocks(self.recording, row)
                per_sm = resident // self.recording.device["sms"]
                found.append(Counted(row, boundaries(self.recording, row), resident, per_sm))
            except (ValueError, KeyError) as error:
                missing.append(f"N={row.N:,}, {row.heads} heads, d={row.d}, {row.Br}x{row.Bc}: {error}")
        return tuple(found), tuple(missing)

    def standard(self, like: Row) -> tuple[Row, float, float] | None:
        """Standard attention on the shape of `like`: its row, bytes counted through DRAM (read and written), and
        bytes of the `standard` model, all heads, with the mask's own pass when causal. None where not counted.
        """
        names = ("dtype", "batch", "heads", "kv_heads", "N", "d", "causal")
        same = {name: getattr(like, name) for name in names}
        counted = self.where(provider="standard", direction="forward", metric=("dram-read", "dram-write"))
        both = [counted.get(metric=metric, **same) for metric in ("dram-read", "dram-write")]
        if None in both:
            return None
        return both[0], sum(row.p50 for row in both), modelled_bytes(both[0])

    def dram(self, row: Row) -> float | None:
        """Bytes counted through DRAM, read and written, of the case of any row; None where not counted."""
        counted = self.where(metric=("dram-read", "dram-write"))
        found = [counted.get(**row.case(), metric=metric) for metric in ("dram-read", "dram-write")]
        return None if None in found else sum(one.p50 for one in found)


@lru_cache(maxsize=512)
def _where(found: Evidence, conditions: tuple) -> Recording:
    return found.recording.where(**dict(conditions))
