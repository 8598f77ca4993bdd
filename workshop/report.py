"""All models' answers for one setting: as one plain object (the JSON of the command line) and as a table."""

from workshop import masks, roofline, sram, traffic, units
from workshop.hardware import GPU
from workshop.problem import Problem, Tile


def as_dict(problem: Problem, tile: Tile, gpu: GPU) -> dict:
    """The answers as plain numbers, ready for JSON.

    Traffic is per head, in elements. `flops`, `time_s` (the roofline's lower bound) and `score_bytes` are per
    layer, that is for B x H heads; `flops` are those of the tile kernel, which visits only unmasked tiles.
    Working set, budget and spill are bytes of one tile. Bandwidth in B/s, peak in FLOP/s for the problem's
    dtype.
    """
    ledgers = {model: traffic.ledger(model, problem, tile, gpu) for model in traffic.MODELS}
    standard = ledgers["standard"].total
    memory = sram.working_set(problem, tile)
    rate = gpu.rate(problem.dtype)
    return {
        "problem": {
            "N": problem.N,
            "d": problem.d,
            "H": problem.H,
            "B": problem.B,
            "dtype": problem.dtype,
            "causal": problem.causal,
        },
        "tile": {"Br": tile.Br, "Bc": tile.Bc, "sram": tile.sram},
        "gpu": {"slug": gpu.slug, "name": gpu.name, "bandwidth": gpu.bandwidth, "peak": rate.flops},
        "traffic_elements": {model: ledger.total for model, ledger in ledgers.items()},
        "traffic_ratio": {model: standard / ledger.total for model, ledger in ledgers.items()},
        "flops": roofline.flops(problem, "tiled", tile),
        "time_s": {model: roofline.time(model, problem, tile, gpu).lower for model in traffic.MODELS},
        "score_bytes": problem.score_bytes,
        "working_set_bytes": memory.parts() | {"total": memory.total},
        "fits": memory.fits,
        "spill_bytes": memory.spill_bytes,
    }


def _columns(rows: list[list[str]]) -> list[str]:
    """Rows as lines: the first column flush left, the others flush right."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            text.rjust(width) if column else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _models(problem, tile, gpu) -> list[str]:
    rows = [["model", "traffic a head", "", "standard / model", "time a layer", "set by", "intensity"]]
    standard = traffic.ledger("standard", problem, tile, gpu).total
    for model in traffic.MODELS:
        ledger = traffic.ledger(model, problem, tile, gpu)
        time = roofline.time(model, problem, tile, gpu)
        rows.append(
            [
                model,
                units.elements(ledger.total),
                units.bytes_(ledger.bytes(problem.dtype)),
                units.ratio(standard / ledger.total),
                units.seconds(time.lower),
                time.binding,
                units.intensity(time.intensity),
            ]
        )
    return _columns(rows)


def _working_set(memory: sram.WorkingSet) -> list[str]:
    rows = [[name, units.exact_bytes(size)] for name, size in memory.parts().items()]
    rows += [["total", units.exact_bytes(memory.total)], ["budget", units.exact_bytes(memory.budget)]]
    verdict = "fits" if memory.fits else f"does not fit: {units.exact_bytes(memory.spill_bytes)} spill"
    return [*_columns(rows), verdict]


def as_table(problem: Problem, tile: Tile, gpu: GPU) -> str:
    """The answers for a reader in a terminal, every number with its unit."""
    rate = gpu.rate(problem.dtype)
    visits, tiles = masks.visited(problem.N, tile.Br, tile.Bc, problem.causal)
    resident = traffic.resident_blocks(gpu, tile, problem.d, problem.dtype)
    notes = [note for note in (rate.note, resident.note) if note]
    if problem.causal:
        notes.append("standard does not skip the masked half, the other models do.")
    lines = [
        f"Attention, forward: N {units.count(problem.N)} tokens, d {problem.d} elements, {problem.H} heads, "
        f"batch {units.count(problem.B)}, {problem.dtype}, {'causal' if problem.causal else 'not causal'}",
        f"Tile: Br {tile.Br} x Bc {tile.Bc} rows, {units.count(visits)} of {units.count(tiles)} tiles a head "
        f"visited; on-chip budget {tile.sram} KiB, M = {units.elements(tile.M(problem))}",
        f"GPU: {gpu.name}, {units.rate_bytes(gpu.bandwidth)}, {units.rate_flops(rate.flops)} ({rate.dtype}), "
        f"ridge {units.intensity(gpu.ridge(problem.dtype))}; "
        f"{units.count(resident.blocks)} Q blocks resident at once",
        "",
        *_models(problem, tile, gpu),
        "",
        f"Arithmetic of a layer: {units.flops(roofline.flops(problem, 'tiled', tile))} "
        f"(standard {units.flops(roofline.flops(problem, 'standard', tile))}); "
        f"score matrices of a layer: {units.bytes_(problem.score_bytes)}",
        "",
        "Working set of a tile",
        *(f"  {line}" for line in _working_set(sram.working_set(problem, tile))),
        "",
        "All modelled. Time is the roofline's lower bound: max(FLOPs / peak, bytes / bandwidth).",
        *notes,
    ]
    return "\n".join(lines)
