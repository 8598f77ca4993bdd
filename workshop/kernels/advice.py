"""Refusals as sentences: what a tile asked for, what a block may have, and the smallest change that would
launch."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from .compile_options import SIDES, Options
from .compile_report import Report
from .compile_verdict import expected, gpu_for, shared_formula, suggestions, would_not_launch
from .plan import Case

#: How an amount of each resource reads in a sentence: with its unit, and what it is an amount of.
_WORDS = {
    "shared memory": ("{:,} B", " of shared memory"),
    "threads": ("{:,} threads", ""),
    "tensor memory": ("{:,} columns", " of tensor memory"),
}
#: Major compute capability -> the target whose kernels use shared memory alike; every other feeds its tensor cores
#: from registers, as sm_80 does (`workshop.kernel_memory`).
_ALIKE = {"9": "sm_90", "10": "sm_100"}
NOTHING_SINGLE = "smaller Br and Bc"


def target_like(capability: str) -> str:
    """The compiler target that stands for a device of this compute capability, "9.0" and so on."""
    return _ALIKE.get(capability.split(".")[0], "sm_80")


def changes(case: Case, resource: str, required: int, limit: int, target: str) -> list[str]:
    """The smallest single changes after which the tile should launch, as words.

    The choice is that of `compile_verdict.search`, asked with figures that the formulas expect: where a kernel
    runs, nothing is compiled to word a refusal.
    """
    if None in case.tile:
        return []
    if case.Br not in SIDES or case.Bc not in SIDES:
        return [NOTHING_SINGLE]
    names = ("Br", "Bc", "d", "dtype", "warps", "stages", "causal")
    options = Options(**{name: getattr(case, name) for name in names}, target=target)
    bare = Report(options, shared_formula(options), 0, 0, 0, {}, 0, "", "", "")
    gpu = gpu_for(target)
    if resource == "shared memory":
        asked, gpu = replace(bare, shared_bytes=required), replace(gpu, smem_block=limit)
    else:
        asked = replace(bare, tensor_columns=required)
    found = suggestions(asked, gpu, partial(expected, asked))
    return [one.text for one in found] or [NOTHING_SINGLE]


def refusal(case: Case, resource: str, required: int, limit: int, gpu: str, capability: str) -> str:
    """What happened to a tile that the GPU would not launch, and what to try.

    Args:
        resource: "shared memory", "threads" or "tensor memory", as the compiler names it.
        required, limit: in that resource's unit.
        gpu, capability: the device's name and compute capability.
    """
    amount, what = _WORDS.get(resource, ("{:,}", f" of {resource}"))
    said = would_not_launch(f"{amount.format(required)}{what}", f"a block of {gpu}", amount.format(limit))
    if resource == "threads":
        return f"{said}; try fewer warps"
    if resource not in _WORDS:
        return f"{said}; try {NOTHING_SINGLE}"
    options = changes(case, resource, required, limit, target_like(capability))
    return said + (f"; try {' or '.join(options)}" if options else "")
