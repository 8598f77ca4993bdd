"""The picture of FlashAttention's loop beside standard attention's trips: the same boxes, scale and player."""

from __future__ import annotations

from collections.abc import Callable

from plates import text
from plates.language import Labels
from workshop import sram, traffic, units
from workshop.hardware import GPU
from workshop.ledger import Line
from workshop.stream import Place, Stream

SPILLED = "working set"  # of the ledger, what the chip has no room for
MOST_MARKS = 160  # passes that can be told apart on a strip
# What lies on the chip, part by part of the working set, and in which stages of a pass it is at work.
HELD = {
    "q": (("q",), ("load", "stream")),
    "kv": (("k", "v"), ("stream",)),
    "s": (("s",), ("stream",)),
    "o": (("o", "statistics"), ("stream", "leave")),
}


def picture(
    found: Stream, moved: list[int], gpu: GPU, words: Labels, said: Callable[[str], str] = str
) -> dict:
    """Return what the picture draws: lines of the ledger, what the chip holds, and where the loop stands at each step.

    moved: bytes that standard attention has moved after each of its trips. The loop has moved as many until it is
    done; one that moves more than standard attention has a step more.
    """
    problem, tile, size = found.problem, found.tile, found.problem.element_bytes
    total, standard = found.ledger.total * size, moved[-1]
    set_ = sram.working_set(problem, tile)
    crossed = [0, *(min(total, one) for one in moved), *([total] if total > standard else [])]
    values = text.unbroken(
        {
            "blocks": units.count(found.blocks),
            "passes": words["pass_one" if found.blocks == 1 else "passes"].format(
                n=units.count(found.blocks)
            ),
            "total": units.bytes_(total),
            "standard": units.bytes_(standard),
            "ratio": units.ratio(max(total, standard) / min(total, standard)),
            "excess": units.bytes_(set_.spill_bytes),
            "need": units.binary(set_.total),
            "budget": units.binary(set_.budget),
        }
    )
    lines = [line for line in found.ledger if line.elements]

    def step(k: int) -> dict:
        place = found.at(crossed[k] // size)
        last = k + 1 == len(crossed)
        return {
            "bytes": crossed[k],
            "text": units.bytes_(crossed[k]),
            "passes": place.passes,
            "stage": place.stage,
            "done": units.count(place.done),
            "say": ending() if last else tell(place),
        }

    def tell(place: Place) -> str:
        kept = "causal" if problem.causal and place.stage == "stream" else place.stage
        return words[f"stream_{kept}"].format(
            **values, i=units.count(min(place.done + 1, found.blocks)), left=units.count(place.done)
        )

    def ending() -> str:
        end = words["stream_worse" if total > standard else "stream_better"].format(**values)
        end = end[0].upper() + end[1:]
        if not found.excess:
            return end
        return words["stream_both"].format(first=end, second=words["stream_spills"].format(**values))

    def lane(line: Line) -> dict:
        return {
            "name": words["excess"] if line.tensor == SPILLED else said(line.tensor),
            "tensor": line.tensor,
            "write": line.direction == "write",
            "bytes": line.elements * size,
            "text": units.bytes_(line.elements * size),
            "again": line.tensor not in ("Q", "O"),
            "spilled": line.tensor == SPILLED,
        }

    def held(name: str) -> dict:
        parts, stages = HELD[name]
        amount = sum(getattr(set_, part) for part in parts)
        return {"name": words[f"held_{name}"], "text": units.binary(amount), "stages": list(stages)}

    # Q comes before what streams past it, O after it, whatever the order of the ledger
    order = sorted(lines, key=lambda line: (line.tensor == "O") - (line.tensor == "Q"))
    late = max(0, total - standard)
    return {
        "total": total,
        "total_text": values["total"],
        "blocks": found.blocks,
        "passes": values["passes"],
        "marks": [int(end) * size for end in found.ends] if found.blocks <= MOST_MARKS else [],
        "steps": [step(k) for k in range(len(crossed))],
        "lines": [lane(line) for line in order],
        "held": [held(name) for name in HELD],
        "room": words["room"].format(**values),
        "over": bool(found.excess),
        "causal": problem.causal,
        "late": {"say": words["late"].format(**values), "bytes": late, "text": units.bytes_(late)},
        "label": words["strip_spill" if found.excess else "strip_stream"],
        "waves": _waves(found, gpu, words),
        "spoken": words["spoken_stream"].format(
            **values,
            list=words.listed(
                (
                    words["spoken_trip"].format(
                        tensor=said(line.tensor),
                        way=words["out" if line.direction == "write" else "in"],
                        bytes=units.bytes_(line.elements * size),
                    )
                    for line in order
                ),
                "clauses",
            ),
            end=ending(),
        ),
    }


def _waves(found: Stream, gpu: GPU, words: Labels) -> dict | None:
    """What the memory itself is asked for when blocks side by side share what they fetch; None where the tile spills,
    of which `waves` knows nothing."""
    if found.excess:
        return None
    amount = traffic.ledger("waves", found.problem, found.tile, gpu).bytes(found.problem.dtype)
    return {"bytes": amount, "text": units.bytes_(amount), "label": words["strip_waves"]}
