"""What the sparsity plate tabulates: four ways to compute the masked attention, and what gathering moves."""

from __future__ import annotations

from collections.abc import Callable

from plates import text
from workshop import roofline, units
from workshop.block_masks import Counts, Transfer
from workshop.hardware import GPU
from workshop.problem import Problem, Tile


def ways(
    counts: Counts, problem: Problem, tile: Tile, gpu: GPU, times: dict, gather_bytes: int, words: dict
) -> str:
    """Four ways to compute the masked attention: FLOPs and bytes a head, time a layer."""
    rate, heads = gpu.rate(problem.dtype).flops, problem.heads
    standard = roofline.time("standard", problem, tile, gpu)
    pairs = 4 * problem.d * counts.live * heads
    gather_s = max(pairs / rate, gather_bytes * heads / gpu.bandwidth)
    found = {
        "standard": (standard.flops, standard.bytes, standard.lower),
        "dense": (times["dense"].flops, times["dense"].bytes, times["dense"].lower),
        "mask": (times["mask"].flops, times["mask"].bytes, times["mask"].lower),
        "gather": (pairs, gather_bytes * heads, gather_s),
    }
    role = {"standard": "standard", "dense": "ink", "mask": "flash", "gather": "muted"}
    rows = []
    for name, (work, moved, seconds) in found.items():
        cells = [units.flops(work // heads), units.bytes_(moved // heads)]
        shown = text.inline_readout(f"mask-time-{name}", seconds, units.seconds(seconds))
        label = f'<b style="color:var(--{role[name]})">{words[f"way_{name}"]}</b>'
        rows.append([label, *cells, shown, words[f"note_{name}"]])
    columns = [(words["column_way"], False)]
    columns += [(words[f"column_{name}"], True) for name in ("flops", "bytes", "time")]
    return text.table([*columns, (words["column_note"], False)], rows)


def gathered(
    lines: tuple[Transfer, ...], total: int, words: dict, lang: str, said: Callable[[str], str]
) -> str:
    """The lines of the gathering program, folded away. said: a sentence of the models in the reader's language."""
    named = text.labels("page", lang, "ledger")
    rows = [[said(t.tensor), named[t.direction], units.bytes_(t.bytes), said(t.why)] for t in lines]
    columns = [(named[name], name == "bytes") for name in ("tensor", "direction", "bytes", "why")]
    body = text.table(columns, rows, [named["total"], "", units.bytes_(total), ""])
    return f"<details><summary>{words['gather_ledger']}</summary>{body}</details>"
