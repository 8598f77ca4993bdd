"""Refusals as sentences: what a tile asked for, what a block may have, and the smallest change that would
launch."""

from __future__ import annotations

from dataclasses import replace

from workshop.kernel_memory import kernel_shared_bytes, padded_head

from .plan import ELEMENT_BYTES, Case

LEAST_SIDE = 16
#: How an amount of each resource reads in a sentence: with its unit, and what it is an amount of.
_WORDS = {
    "shared memory": ("{:,} B", " of shared memory"),
    "threads": ("{:,} threads", ""),
    "tensor memory": ("{:,} columns", " of tensor memory"),
}


def shared_model(case: Case) -> int:
    """Shared memory the tile should need: the Q tile and `stages` K and V tiles, d padded to a power of two,
    bytes."""
    d = int(padded_head(case.d))
    return int(kernel_shared_bytes(case.Br, case.Bc, d, ELEMENT_BYTES[case.dtype], case.stages))


def changes(case: Case, required: int, limit: int) -> list[str]:
    """The smallest single changes after which the tile fits, as words: a smaller Bc, fewer stages, a smaller
    Br.

    The model is scaled by what the compiler really asked for, so that an underestimate here is one there.
    """
    if None in case.tile:
        return []
    scale = required / shared_model(case)

    def first(candidates):
        return next((c for c in candidates if scale * shared_model(c) <= limit), None)

    def halved(name):
        side = getattr(case, name) // 2
        while side >= LEAST_SIDE:
            yield replace(case, **{name: side})
            side //= 2

    found = []
    smaller = first(halved("Bc"))
    if smaller:
        found.append(f"Bc={smaller.Bc}")
    shallower = first(replace(case, stages=n) for n in range(case.stages - 1, 0, -1))
    if shallower:
        found.append("one stage" if shallower.stages == 1 else f"{shallower.stages} stages")
    lower = first(halved("Br"))
    if lower and not found:
        found.append(f"Br={lower.Br}")
    return found or ["smaller Br and Bc"]


def refusal(case: Case, resource: str, required: int, limit: int, gpu: str) -> str:
    """What happened to a tile that the GPU would not launch, and what to try.

    Args:
        resource: "shared memory", "threads" or "tensor memory", as the compiler names it.
        required, limit: in that resource's unit.
        gpu: the device's name.
    """
    amount, what = _WORDS.get(resource, ("{:,}", f" of {resource}"))
    said = f"needs {amount.format(required)}{what}, a block of {gpu} has {amount.format(limit)}: it would not launch"
    if resource == "threads":
        return f"{said}; try fewer warps"
    options = changes(case, required, limit) if resource == "shared memory" else ["smaller Br and Bc"]
    return said + (f"; try {' or '.join(options)}" if options else "")
