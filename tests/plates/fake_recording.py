"""A recording made by code: the shipped one with the rows that a full measurement adds, so that every part has data.

The figures are smooth functions of the case, nothing was measured: only tests of pictures and texts use them.
"""

from __future__ import annotations

from dataclasses import replace

from workshop import recordings
from workshop.kernels.plan import LONG, SEQUENCES, TEACHING_TILES, Case
from workshop.recordings import PROVIDERS, Recording, Row
from workshop.recordings.evidence import Evidence

#: Share of 756 TFLOP/s that a provider reaches on long sequences, and the length at which it reaches half of it.
REACH = {
    "standard": (0.17, 300),
    "teaching": (0.6, 400),
    "fast": (0.88, 700),
    "sdpa-flash": (0.5, 500),
    "sdpa-cudnn": (0.86, 900),
    "sdpa-efficient": (0.3, 350),
}


def seconds(case: Case) -> float:
    """A smooth time for a case, s."""
    share, half = REACH[case.provider]
    slower = 0.9 if case.direction == "forward+backward" else 1.0
    return case.flops() / (756e12 * share * slower * case.N / (case.N + half))


def row(like: Row, case: Case, metric: str = "time", unit: str = "s", value: float | None = None) -> Row:
    """A row of ``case`` with the provenance of ``like``."""
    middle = seconds(case) if value is None else value
    return replace(
        like, **case.record(), metric=metric, unit=unit, p20=middle * 0.99, p50=middle, p80=middle * 1.02
    )


def times(like: Row) -> list[Row]:
    """Every provider against N, as a full recording has them."""
    rows = []
    for direction in ("forward", "forward+backward"):
        for provider in PROVIDERS:
            for d in (64, 128, 256):
                for causal in (False, True):
                    for N in (*SEQUENCES, LONG):
                        if provider == "standard" and N == LONG:
                            continue
                        tile = dict(zip(("Br", "Bc", "warps", "stages"), TEACHING_TILES[d], strict=True))
                        heads = 8 if N == LONG else 32
                        case = Case(
                            provider, direction, N=N, d=d, causal=causal, heads=heads, kv_heads=heads,
                            **(tile if provider == "teaching" else {}),
                        )  # fmt: skip
                        rows.append(row(like, case))
    return rows


def full() -> Recording:
    """The shipped recording's counters, sweep and errors, with made-up times for every provider."""
    shipped = recordings.load("h200")
    like = shipped.where(metric="time", provider="teaching").rows[0]
    made = times(like)
    seen = {_key(one) for one in made}
    kept = [
        one
        for one in shipped.rows
        if one.metric != "time" or (one.provider == "teaching" and _key(one) not in seen)
    ]
    errors = [
        row(like, replace(_case(one), provider="fast"), "error-max", "1", one.p50 * 0.8)
        for one in shipped.where(metric="error-max", provider="standard").rows
        if not shipped.where(metric="error-max", provider="fast").rows
    ]
    return Recording("fake", tuple(kept + made + errors), shipped.provenance)


def evidence() -> Evidence:
    """``full`` with its counters worked out."""
    return Evidence(full())


def _case(one: Row) -> Case:
    return Case(**{name: getattr(one, name) for name in Case.__dataclass_fields__})


def _key(one: Row) -> Case:
    return _case(one)
