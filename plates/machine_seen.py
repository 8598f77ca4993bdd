"""What plate `machine` shows for one state of the settings: recorded cases that answer it, models beside."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from plates import machine_time
from plates.machine_error import Errors, errors
from plates.machine_sweep import Expected, expected
from plates.settings import Settings
from workshop.hardware import GPU, GPUS
from workshop.kernels.identify import known_gpu
from workshop.problem import Problem
from workshop.recordings.curves import Curve, ceilings, curves
from workshop.recordings.evidence import Counted, Evidence
from workshop.recordings.nearest import nearest
from workshop.recordings.sweep import Sweep, sweep, swept_heads

DIRECTIONS = {"forward": "forward", "both": "forward+backward"}
HEADS = 32  # of the recorded curves against N


@dataclass(frozen=True)
class Seen:
    """The recorded cases nearest to the settings; None where the recording has nothing of the kind.

    wanted: the reader's shape by the recording's columns. standard: (row, bytes counted, bytes modelled) on the shape
    of ``case``. gpu: data sheet of the recording's machine.
    """

    evidence: Evidence
    gpu: GPU
    wanted: dict
    case: Counted | None
    standard: tuple | None
    times: machine_time.Times
    sweep: Sweep | None
    expected: Expected | None
    errors: Errors | None


def wanted(s: Settings) -> dict:
    """The reader's shape by the columns of a recording."""
    return {"N": s.N, "heads": s.problem.heads, "d": s.d, "causal": s.causal, "Br": s.Br, "Bc": s.Bc}


def look(found: Evidence, s: Settings, direction: str) -> Seen:
    """Gather ``Seen``. ``direction``: a key of ``DIRECTIONS``."""
    shape, passes = wanted(s), DIRECTIONS[direction]
    gpu = GPUS[known_gpu(found.recording.rows[0].gpu) or "h200-sxm"]
    row = nearest([case.row for case in found.cases], shape)
    case = next((case for case in found.cases if case.row is row), None)
    timed = found.where(metric="time", direction=passes)
    d = _nearest_size(timed.values("d"), s.d)
    dtype = _format(s.dtype, found.where(metric="time", direction=passes, d=d).values("dtype"))
    size = _nearest_size(_swept_heads(found), s.d)
    swept = _sweep(found, size, s.causal) or _sweep(found, size, not s.causal)
    measured = found.where(metric="error-max", direction=passes)
    return Seen(
        evidence=found,
        gpu=gpu,
        wanted=shape,
        case=case,
        standard=found.standard(row) if case else None,
        times=machine_time.times(
            _curves(found, d, s.causal, passes, dtype),
            _ceilings(found),
            Problem(N=s.N, d=d, H=HEADS, B=1, dtype=dtype, causal=s.causal),
            s.tile,
            gpu,
            passes,
        ),
        sweep=swept,
        expected=expected(swept, s.sram, gpu) if swept else None,
        errors=errors(
            measured,
            {name: shape[name] for name in ("N", "d", "causal", "heads")},
            dtype=_format(s.dtype, measured.values("dtype")),
            direction=passes,
        ),
    )


# Worked out once for a recording: a slider asks again at every step.
_ceilings = lru_cache(maxsize=8)(lambda found: ceilings(found.recording))
_swept_heads = lru_cache(maxsize=8)(lambda found: swept_heads(found.where(provider="teaching")))


@lru_cache(maxsize=64)
def _curves(found: Evidence, d: int, causal: bool, passes: str, dtype: str) -> dict[str, Curve]:
    timed = found.where(metric="time", direction=passes, d=d)
    return curves(timed, d=d, causal=causal, direction=passes, dtype=dtype)


@lru_cache(maxsize=16)
def _sweep(found: Evidence, d: int, causal: bool) -> Sweep | None:
    return sweep(found.recording, d, causal=causal)


def _nearest_size(there: Iterable[int], d: int) -> int:
    """The recorded head size nearest to d; d itself where none is."""
    return min(there, key=lambda value: (abs(value - d), value), default=d)


def _format(asked: str, there: list[str]) -> str:
    """The number format asked for where it was recorded, else bf16."""
    return asked if asked in there else "bf16"
