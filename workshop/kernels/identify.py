"""Which row of the hardware table a device is, by the name its driver gives, and remarks on impossible
rates."""

from __future__ import annotations

import re

from workshop.hardware import GPUS

from .plan import PASS_FACTOR, Case

#: Driver name -> slug. A name that fits none (an H100 PCIe, say) has other rates, so it is not matched
#: loosely.
_NAMES = (
    (r"H200\b(?!.*NVL)", "h200-sxm"),
    (r"H100 (80GB HBM3|SXM)", "h100-sxm"),
    (r"A100-SXM4-40GB", "a100-sxm-40"),
    (r"A100-SXM4-80GB", "a100-sxm-80"),
    (r"\bB200\b", "b200"),
    (r"RTX 4090(?! (D|Laptop))", "rtx-4090"),
    (r"\bL4\b", "l4"),
    (r"MI300X\b", "mi300x"),
)
#: Ratio of the 80th to the 20th percentile above which a timing is remarked on.
WIDE = 1.15


def known_gpu(name: str) -> str | None:
    """The slug in `workshop.hardware.GPUS` of a device name such as "NVIDIA H200", or None."""
    return next((slug for pattern, slug in _NAMES if re.search(pattern, name) and slug in GPUS), None)


def peak_flops(name: str, dtype: str) -> float | None:
    """The dense data-sheet rate, FLOP/s, of a device for a dtype; None for a device that is not in the
    table."""
    slug = known_gpu(name)
    return None if slug is None else GPUS[slug].rate(dtype).flops


def remarks(case: Case, seconds, gpu: str) -> list[str]:
    """What a reader must be told about a timing: a rate above the data sheet's peak, or a wide spread.

    Args:
        seconds: anything with `p20`, `p50`, `p80` in seconds.
        gpu: the device's name.
    """
    said = []
    peak = peak_flops(gpu, case.dtype)
    rate = case.flops() / seconds.p50
    if peak is not None and rate > peak:
        said.append(
            f"{case.provider}: {rate / 1e12:,.0f} TFLOP/s is {100 * rate / peak:.0f} % of the data sheet's "
            "dense peak "
            f"({peak / 1e12:,.0f}). No kernel can do that: take the time for wrong, or the work for skipped."
        )
    if seconds.p80 > WIDE * seconds.p20:
        said.append(
            f"{case.provider}: the spread is wide (80th percentile {seconds.p80 / seconds.p20:.2f} times "
            "the 20th); "
            "something else may be using this device."
        )
    return said


def rate(row) -> float:
    """FLOP/s of a `time` row: 4 B H N^2 d operations forward, half when causal, 3.5 times that with the
    backward."""
    pairs = row.N**2 / 2 if row.causal else row.N**2
    return PASS_FACTOR[row.direction] * 4 * row.batch * row.heads * pairs * row.d / row.p50
