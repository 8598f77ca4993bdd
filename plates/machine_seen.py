"""What plate `machine` shows for one state of the settings: recorded cases that answer it, models beside."""

from __future__ import annotations

from dataclasses import dataclass

from plates import machine_time
from plates.machine_error import Errors, errors
from plates.machine_sweep import Expected, expected
from plates.settings import Settings
from workshop.hardware import GPU, GPUS
from workshop.kernels.identify import known_gpu
from workshop.problem import Problem
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
    recording, shape = found.recording, wanted(s)
    gpu = GPUS[known_gpu(recording.rows[0].gpu) or "h200-sxm"]
    row = nearest([case.row for case in found.cases], shape)
    case = next((case for case in found.cases if case.row is row), None)
    passes = DIRECTIONS[direction]
    timed = recording.where(metric="time", direction=passes)
    curve = nearest(timed.rows, {"d": s.d})
    d = curve.d if curve else s.d
    dtype = _format(s.dtype, timed.where(d=d).values("dtype"))
    heads = swept_heads(recording)
    swept = sweep(recording, min(heads, key=lambda value: (abs(value - s.d), value))) if heads else None
    measured = recording.where(metric="error-max", direction=passes).values("dtype")
    return Seen(
        evidence=found,
        gpu=gpu,
        wanted=shape,
        case=case,
        standard=found.standard(row) if case else None,
        times=machine_time.times(
            recording, Problem(N=s.N, d=d, H=HEADS, B=1, dtype=dtype, causal=s.causal), s.tile, gpu, passes
        ),
        sweep=swept,
        expected=expected(swept, s.sram, gpu) if swept else None,
        errors=errors(
            recording,
            {name: shape[name] for name in ("N", "d", "causal", "heads")},
            dtype=_format(s.dtype, measured),
            direction=passes,
        ),
    )


def _format(asked: str, there: list[str]) -> str:
    """The number format asked for where it was recorded, else bf16."""
    return asked if asked in there else "bf16"
