"""The texts of plate `machine`: facts for its prose, tables, notes on what was recorded instead, and provenance."""

from __future__ import annotations

from functools import lru_cache

from plates import machine_bytes, machine_time, provenance, text
from plates.language import Labels
from plates.machine_error import number
from plates.machine_seen import HEADS, Seen
from plates.settings import Settings
from workshop import units
from workshop.recordings import Recording
from workshop.recordings.boundaries import COMPULSORY_UP_TO, WAVES_FROM
from workshop.recordings.curves import rate
from workshop.recordings.evidence import Counted, Evidence, agrees
from workshop.recordings.nearest import differences

_BLOCKS = (
    "machine lanes cases bytes_note bytes_from law_from times_table times_note times_from sweep_note sweep_from "
    "error_note error_from replay missing"
).split()
_FACTS = (
    "gpu l2 sms matmul copy cases agree_l1 agree_dram claimed unclaimed worst_l1 broken waves_example out_of_step "
    "edge_low edge_high bytes_text law_text passes_text rate_text seconds_text sweep_text error_text "
    "curve_heads d direction mask dtype"
).split()
_SWEEP = (
    "sweep_text sweep_N sweep_d refused_count spilled_count tiles_count fastest fastest_rate fastest_spill rule "
    "rule_rate"
).split()


def nothing(words: Labels) -> dict:
    """The facts where no recording is shipped: every name, with a word that says so."""
    blocks = dict.fromkeys(_BLOCKS, "") | {"machine": f'<p class="verdict">{words["no_recording"]}</p>'}
    return dict.fromkeys((*_FACTS, *_SWEEP), words["unknown"]) | {
        "swept": False,
        "rule_finds": False,
        "model_tag": "",
        "blocks": blocks,
        "_": None,
        "words": words,
    }


def fill(seen: Seen, words: Labels, s: Settings, direction: str) -> dict:
    """All facts. ``direction``: a key of ``machine_seen.DIRECTIONS``. ``facts["_at"]``: length of the times' table."""
    facts: dict = {"blocks": {}, "_": seen, "words": words}
    _fill_machine(facts, seen, words, s, direction)
    _fill_bytes(facts, seen, words, s)
    _fill_times(facts, seen, words, s)
    _fill_sweep(facts, seen, words, s)
    _fill_errors(facts, seen, words, s)
    return facts


def _fill_machine(facts: dict, seen: Seen, words: Labels, s: Settings, direction: str) -> None:
    recording, own = seen.evidence.recording, seen.times.ceilings
    device = recording.device
    facts |= {
        "gpu": recording.rows[0].gpu,
        "l2": units.bytes_(device["l2_bytes"]) if "l2_bytes" in device else words["unknown"],
        "sms": device.get("sms", words["unknown"]),
        "matmul": units.rate_flops(own.matmul.p50) if own.matmul else words["unknown"],
        "copy": units.rate_bytes(own.copy.p50) if own.copy else words["unknown"],
        "direction": words[f"direction_{direction}"],
        "mask": words["mask_on" if s.causal else "mask_off"],
        "d": seen.times.problem.d,
        "curve_heads": HEADS,
        "dtype": seen.times.problem.dtype,
    }
    facts["blocks"]["machine"] = ""
    facts["model_tag"] = text.kind("model", lang=words.lang)


@lru_cache(maxsize=8)
def _of_all_cases(found: Evidence, lang: str) -> dict:
    """What is said of all counted cases together, once for a recording: no setting changes it."""
    cases, words = found.cases, text.labels("machine", lang)
    l1 = [c.level("L1") for c in cases]
    claimed = [c for c in cases if c.level("DRAM").claimed]
    good = [c for c in claimed if agrees(c.level("DRAM"))]
    bad = [c for c in claimed if not agrees(c.level("DRAM"))]
    several = [c for c in cases if c.problem.heads > 1 and c.level("DRAM").model == "waves"]
    example = max(
        (c for c in several if c.level("DRAM").claimed),
        key=lambda c: c.passes - c.waves_alone,
        default=None,
    )
    return {
        "cases": len(cases),
        "agree_l1": sum(bool(agrees(level)) for level in l1),
        "worst_l1": machine_bytes.share(max((level.residual for level in l1), key=abs, default=0.0)),
        "agree_dram": len(good),
        "claimed": len(claimed),
        "unclaimed": len(cases) - len(claimed),
        "broken": _broken(bad, words),
        "waves_example": _several(example, words),
        "out_of_step": _out_of_step(cases, words),
    }


def _fill_bytes(facts: dict, seen: Seen, words: Labels, s: Settings) -> None:
    case = seen.case
    recording = seen.evidence.recording
    blocks = facts["blocks"]
    facts |= _of_all_cases(seen.evidence, words.lang)
    l2 = recording.device.get("l2_bytes", 0)
    facts["edge_low"] = units.bytes_(COMPULSORY_UP_TO * l2)
    facts["edge_high"] = units.bytes_(WAVES_FROM * l2)
    if case is None:
        blocks |= dict.fromkeys(("lanes", "cases", "bytes_from", "law_from", "missing"), "")
        blocks["bytes_note"] = f"<p>{words['no_counters']}</p>"
        facts |= dict.fromkeys(("bytes_text", "law_text", "passes_text"), words["no_counters"])
        return
    other = differences(case.row, seen.wanted | {"dtype": s.dtype})
    note = provenance.nearest_note(other, words)
    shape = words["sentence"].format(text=machine_bytes.shape(case, words))
    link = f' <a href="{machine_bytes.link(case)}">{words["go_there"]}</a>' if other else ""
    blocks["bytes_note"] = f'<p class="what"><b>{shape}</b> {note}{link}</p>'
    blocks["lanes"] = machine_bytes.lanes(case, seen.standard, words)
    blocks["cases"] = machine_bytes.table(seen.evidence, case, words)
    counters = ("l1-load", "l2", "dram-read", "dram-write")
    same = {name: getattr(case.row, name) for name in ("N", "heads", "d", "causal")}
    blocks["bytes_from"] = provenance.line(seen.evidence.where(metric=counters, **same), counters, words)
    every = seen.evidence.where(metric=counters, provider="teaching")
    blocks["law_from"] = provenance.line(every, (), words)
    missing = seen.evidence.missing
    items = "".join(f"<li>{words.said(one)}</li>" for one in missing)
    blocks["missing"] = f"<p>{words['left_out']}</p><ul>{items}</ul>" if missing else ""
    levels = {level.level: level for level in case.levels}
    facts["bytes_text"] = words["bytes_text"].format(
        shape=machine_bytes.shape(case, words),
        l1=units.bytes_(levels["L1"].counted), l1_model=units.bytes_(levels["L1"].modelled),
        dram=units.bytes_(levels["DRAM"].counted), model=words.said(levels["DRAM"].model),
        dram_model=units.bytes_(levels["DRAM"].modelled),
    )  # fmt: skip
    facts["law_text"] = words["law_text"].format(**facts)
    facts["passes_text"] = words["passes_text"].format(**facts)


def _broken(bad: list[Counted], words: Labels) -> str:
    if not bad:
        return words["none_broken"]
    items = [
        words["one_broken"].format(
            shape=machine_bytes.shape(c, words), off=machine_bytes.off(c.level("DRAM").residual, words)
        )
        for c in bad
    ]
    return words["some_broken"].format(count=len(bad), cases=words.listed(items, "clauses"))


def _out_of_step(cases: tuple[Counted, ...], words: Labels) -> str:
    levels = [(c, c.level("DRAM")) for c in cases if c.out_of_step and not c.level("DRAM").claimed]
    apart = [(level.counted / level.modelled, c) for c, level in levels if level.model == "waves"]
    if not apart:
        return words["none_out_of_step"]
    most, case = max(apart, key=lambda pair: pair[0])
    return words["out_of_step"].format(most=units.ratio(most), shape=machine_bytes.shape(case, words))


def _several(case: Counted | None, words: Labels) -> str:
    if case is None:
        return words["no_several"]
    return words["several"].format(
        shape=machine_bytes.shape(case, words), alone=case.waves_alone,
        counted=units.number(case.passes), shared=units.number(case.waves_shared),
    )  # fmt: skip


def _fill_times(facts: dict, seen: Seen, words: Labels, s: Settings) -> None:
    shown, blocks = seen.times, facts["blocks"]
    recording = seen.evidence.recording
    table, at = machine_time.table(shown, s.N, words)
    blocks["times_table"] = table
    changed = {"d": (shown.problem.d, s.d), "dtype": (shown.problem.dtype, s.dtype)}
    if at is not None:
        changed |= {"N": (at, s.N), "heads": (_heads_at(shown, at), s.problem.heads)}
        shape = words["times_at"].format(
            N=units.count(at), d=shown.problem.d, heads=_heads_at(shown, at), dtype=shown.problem.dtype,
            mask=facts["mask"], direction=facts["direction"],
        )  # fmt: skip
        other = {name: pair for name, pair in changed.items() if pair[0] != pair[1]}
        blocks["times_note"] = f'<p class="what"><b>{shape}</b> {provenance.nearest_note(other, words)}</p>'
    else:
        blocks["times_note"] = ""
    metrics = ("time", "matmul-rate", "copy-bandwidth")
    rows = set(map(id, shown.rows))
    used = Recording(recording.name, tuple(r for r in recording.rows if id(r) in rows), recording.provenance)
    blocks["times_from"] = provenance.line(used, metrics, words)
    facts["_at"] = at
    said = [
        f"{words[f'provider_{p}']} {units.rate_flops(rate(c.at(at)))}"
        for p, c in shown.curves.items()
        if at is not None and c.at(at)
    ]
    listed = words.listed(said) or words["no_times"]
    facts["rate_text"] = words["rate_text"].format(N=units.count(at or s.N), listed=listed, **_some(facts))
    facts["seconds_text"] = facts["rate_text"]
    spoken = words["sentence"].format(text=listed)
    tag, replay = text.kind("recorded", lang=words.lang), words["replay"].format(gpu=facts["gpu"])
    blocks["replay"] = f'<div class="replayed"><p>{tag} {replay}</p><p>{spoken}</p></div>'


def _some(facts: dict) -> dict:
    return {name: facts[name] for name in ("matmul", "copy", "gpu")}


def _heads_at(shown: machine_time.Times, at: int) -> int:
    return next(curve.at(at).heads for curve in shown.curves.values() if curve.at(at))


def _fill_sweep(facts: dict, seen: Seen, words: Labels, s: Settings) -> None:
    found, blocks = seen.sweep, facts["blocks"]
    if found is None:
        blocks |= {"sweep_note": f"<p>{words['no_sweep']}</p>", "sweep_from": ""}
        facts |= dict.fromkeys(_SWEEP, words["unknown"]) | {"swept": False, "rule_finds": False}
        return
    row, best, rule = found.shape, found.fastest, found.largest_clean
    refused = [c for c in found.cells.values() if c.best is None]
    spilled = [c for c in found.cells.values() if c.spills]
    facts |= {
        "swept": True,
        "rule_finds": rule is best,
        "rule": f"{rule.Br}×{rule.Bc}" if rule else words["unknown"],
        "rule_rate": units.rate_flops(rule.rate) if rule else words["unknown"],
        "sweep_N": units.count(row.N),
        "sweep_d": row.d,
        "refused_count": len(refused),
        "spilled_count": len(spilled),
        "tiles_count": len(found.cells),
        "fastest": f"{best.Br}×{best.Bc}",
        "fastest_rate": units.rate_flops(best.rate),
        "fastest_spill": words["best_spills" if best.spills else "best_clean"].format(
            spills=units.exact_bytes(best.spills or 0)
        ),
    }
    facts["sweep_text"] = words["sweep_text"].format(**{k: v for k, v in facts.items() if k != "words"})
    shape = {name: value for name, value in seen.wanted.items() if name not in ("Br", "Bc")}
    other = differences(row, shape | {"dtype": s.dtype})
    shape = words["sweep_shape"].format(
        N=units.count(row.N),
        d=row.d,
        heads=row.heads,
        dtype=row.dtype,
        stages=found.stages,
        mask=provenance.shown("causal", row.causal, words),
    )
    why = next((c.refused.sentence for c in refused if c.refused), "")
    why = (
        f" {words['refusal'].format(tile=f'{refused[0].Br}×{refused[0].Bc}', sentence=words.said(why))}"
        if why
        else ""
    )
    blocks["sweep_note"] = f'<p class="what"><b>{shape}</b> {provenance.nearest_note(other, words)}{why}</p>'
    metrics = ("time", "shared", "registers", "spills")
    used = seen.evidence.where(
        metric=metrics, provider="teaching", N=row.N, d=row.d, causal=row.causal, stages=found.stages
    )
    blocks["sweep_from"] = provenance.line(used, metrics, words)


def _fill_errors(facts: dict, seen: Seen, words: Labels, s: Settings) -> None:
    found, blocks = seen.errors, facts["blocks"]
    if found is None:
        blocks |= {"error_note": f"<p>{words['no_errors']}</p>", "error_from": ""}
        facts["error_text"] = words["no_errors"]
        return
    row = next(iter(found.rows.values()))
    other = differences(row, {"N": s.N, "d": s.d, "causal": s.causal, "dtype": s.dtype})
    shape = words["error_shape"].format(
        N=units.count(row.N), d=row.d, heads=row.heads, dtype=row.dtype,
        mask=words["mask_on" if row.causal else "mask_off"], direction=facts["direction"],
    )  # fmt: skip
    judged = words["no_rule"]
    if found.limit:
        broken = words.listed(words[f"provider_{p}"] for p in found.broken)
        judged = words["rule_broken"].format(names=broken) if broken else words["rule_kept"]
    blocks["error_note"] = (
        f'<p class="what"><b>{shape}</b> {judged} {provenance.nearest_note(other, words)}</p>'
    )
    listed = words.listed(f"{words[f'provider_{p}']} {number(r.p50)}" for p, r in found.rows.items())
    facts["error_text"] = f"{shape} {words['sentence'].format(text=listed)} {judged}"
    same = {name: getattr(row, name) for name in ("N", "d", "dtype", "causal", "direction")}
    used = seen.evidence.where(metric="error-max", **same)
    blocks["error_from"] = provenance.line(used, ("error-max",), words)
