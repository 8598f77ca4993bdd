"""The ladder: one head's traffic at each boundary where a plate counts it, and the rung of the plate on show."""

from __future__ import annotations

from html import escape

from plates import text
from plates.roles import MODEL
from workshop import sram, traffic, units
from workshop.hardware import GPU
from workshop.problem import Problem, Tile

RUNGS = ("standard", "tiled", "bound", "waves")


def moved(problem: Problem, tile: Tile, gpu: GPU) -> dict[str, int]:
    """Return the bytes of a head at each rung; those of `tiled` with what spills."""
    ledgers = {model: traffic.ledger(model, problem, tile, gpu) for model in RUNGS}
    ledgers["tiled"] = sram.spill_ledger(problem, tile)
    return {model: ledger.bytes(problem.dtype) for model, ledger in ledgers.items()}


def html(problem: Problem, tile: Tile, gpu: GPU, own: str, lang: str) -> str:
    """Return the ladder with the rung ``own`` marked as the one that the plate's headline stands on."""
    words, names = text.labels("ladder", lang), text.labels("traffic", lang)
    found = moved(problem, tile, gpu)
    spills = not sram.working_set(problem, tile).fits
    facts = text.unbroken({"Br": units.count(tile.Br), "M": units.binary(tile.M_bytes)})

    def rung(model: str) -> str:
        where = words["tiled_spill" if model == "tiled" and spills else model].format(**facts)
        mark = f" <i>{words['here']}</i>" if model == own else ""
        return (
            f'<li class="rung{" own" if model == own else ""}" style="--c:var(--{MODEL[model]});'
            f'--long:{100 * found[model] / max(found.values()):.2f}%" data-rung="{model}">'
            f'<span class="name"><a href="?plate=review&amp;term={model}">{names[model]}</a>{mark}</span>'
            f"<b>{units.bytes_(found[model])}</b><u></u>"
            f"<small>{escape(where)}; {_beside(model, found, words)}</small></li>"
        )

    return (
        f'<div class="ladder"><p>{words["title"]}</p><ol>{"".join(rung(model) for model in RUNGS)}</ol></div>'
    )


def _beside(model: str, found: dict[str, int], words: dict[str, str]) -> str:
    if model == "standard":
        return words["first"]
    high, low = max(found["standard"], found[model]), min(found["standard"], found[model])
    key = "same" if high == low else "less" if found[model] == low else "more"
    return words[key].format(ratio=units.ratio(high / low))
