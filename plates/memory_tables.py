"""Tables of the plate `memory`: what is kept, the two passes, the gradient check, the paper's figures beside ours."""

from __future__ import annotations

from collections.abc import Callable

from plates import text
from plates.language import Labels
from workshop import backward, paper_figures, roofline, training_memory, training_traffic, units


def kept_table(
    kept: dict[str, training_memory.Store], words: dict[str, str], said: Callable[[str], str] = str
) -> str:
    """Return what each model keeps from forward to backward, tensor by tensor, with totals; ``said`` translates."""
    names = list(dict.fromkeys(item.tensor for store in kept.values() for item in store.items))
    rows = []
    for name in names:
        found = {m: next((i for i in store.items if i.tensor == name), None) for m, store in kept.items()}
        why = next(item.why for item in found.values() if item)
        rows.append(
            [name, *(units.bytes_(item.bytes) if item else "–" for item in found.values()), said(why)]
        )
    total = [words["total"], *(units.bytes_(store.total) for store in kept.values()), ""]
    columns = [(words["column_tensor"], False), (words["curve_standard"], True), (words["curve_flash"], True)]
    return text.table([*columns, (words["column_why"], False)], rows, total)


def pass_table(times: dict[str, tuple[roofline.Time, roofline.Time]], words: dict[str, str]) -> str:
    """Return forward and backward of both models: FLOPs, bytes, intensity, and the two times of a layer."""
    rows = []
    for model, parts in times.items():
        for way, part in zip(("forward", "backward"), parts, strict=True):
            rows.append(
                [
                    f'<b style="color:var(--{model})">{words[f"curve_{model}"]}</b>',
                    words[way],
                    units.flops(part.flops),
                    units.bytes_(part.bytes),
                    units.intensity(part.intensity),
                    units.seconds(part.compute_s),
                    units.seconds(part.memory_s),
                    words[f"binds_{part.binding}"],
                ]
            )
    names = ("model", "pass", "work", "bytes", "intensity", "compute", "memory", "binds")
    numbers = ("work", "bytes", "intensity", "compute", "memory")
    return text.table([(words[f"column_{name}"], name in numbers) for name in names], rows)


def report_table(report: backward.Report, words: dict[str, str]) -> str:
    """Return the gradient check: one tile's quantities, the finished sums, and the largest difference of all."""
    where = words["check_tile"].format(i=report.i + 1, j=report.j + 1)
    rows = [
        [
            label.format(name=check.quantity),
            " × ".join(map(str, check.shape)),
            units.number(check.largest),
            units.number(check.error, 2),
        ]
        for label, checks in ((where, report.tile), (words["check_sum"], report.sums))
        for check in checks
    ]
    total = [words["check_all"].format(tiles=units.count(report.visited)), "", ""]
    total.append(text.inline_readout("gradient-error", report.error, units.number(report.error, 2)))
    columns = [(words["column_quantity"], False)]
    columns += [(words[f"column_{name}"], True) for name in ("shape", "largest", "difference")]
    return text.table(columns, rows, total)


def _pair(values: tuple[float, float], formatter) -> list[str]:
    return [formatter(value) for value in values]


def figure_2(words: Labels) -> str:
    """Return the paper's Figure 2, left, in both versions, and our model of the same layer."""
    problem, tile, gpu = paper_figures.figure_2_setting()
    rows = [
        [
            words["paper_version"].format(version=words.said(found.version)),
            *_pair(found.flop, units.flops),
            *_pair(found.bytes, units.bytes_),
            *_pair(found.seconds, units.seconds),
        ]
        for found in paper_figures.FIGURE_2
    ]
    standard = training_traffic.time("standard", problem, tile, gpu)
    for boundary in training_traffic.BOUNDARIES:
        flash = training_traffic.time(boundary, problem, tile, gpu)
        rows.append(
            [
                words["paper_model"].format(
                    boundary=words[f"paper_{boundary}"].format(Br=tile.Br, Bc=tile.Bc)
                ),
                *(units.flops(sum(part.flops for part in parts)) for parts in (standard, flash)),
                *(units.bytes_(sum(part.bytes for part in parts)) for parts in (standard, flash)),
                *(f"≥ {units.seconds(sum(part.lower for part in parts))}" for parts in (standard, flash)),
            ]
        )
    columns = [(words["column_source"], False)]
    for name in ("work", "bytes", "time"):
        columns += [
            (words["column_of"].format(what=words[f"column_{name}"], model=words[f"curve_{m}"]), True)
            for m in training_memory.MODELS
        ]
    return text.table(columns, rows)


def memory_table(words: dict[str, str]) -> str:
    """Return the paper's memory table beside our peak and the counts that reproduce it, in MiB."""

    def mib(value: float) -> str:
        return units.count(value / paper_figures.MIB)

    rows = []
    for N, row in paper_figures.MEMORY.items():
        problem = paper_figures.memory_setting(N)
        peak = [training_memory.peak(m, problem).total for m in training_memory.MODELS]
        share = [p / paper_figures.MIB / printed for p, printed in zip(peak, row, strict=True)]
        fit = paper_figures.memory_fit(N)
        cells = [units.count(N)]
        for k in range(2):
            cells += [units.count(row[k]), mib(peak[k]), units.percent(share[k]), mib(fit[k])]
        rows.append(cells)
    columns = [("N", True)]
    for m in training_memory.MODELS:
        columns += [
            (words[f"column_{name}"].format(model=words[f"curve_{m}"]), True)
            for name in ("printed", "ours", "share", "fit")
        ]
    return text.table(columns, rows)
