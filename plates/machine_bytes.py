"""Model beside counter: one case as bars at every boundary, and all counted cases as a table."""

from __future__ import annotations

import html
from functools import lru_cache

from plates import text
from plates.language import Labels
from workshop import units
from workshop.recordings.boundaries import Boundary
from workshop.recordings.evidence import Counted, Evidence, agrees

ROLE = {"L1": "chip", "L2": "muted", "DRAM": "hbm"}


def off(residual: float, words: Labels) -> str:
    """A residual in words with its sign: "0.04 % above the model"."""
    if abs(residual) < 5e-5:
        return words["off_none"]
    return words["off_above" if residual > 0 else "off_below"].format(share=share(residual))


def share(residual: float) -> str:
    """The size of a residual in percent, two decimals below one percent."""
    size = abs(residual) * 100
    if size < 0.005:
        return "< 0.01 %"
    return f"{size:.2f} %" if size < 1 else f"{size:.1f} %"


def verdict(boundary: Boundary, words: Labels) -> str:
    """Whether counter and model agree at a boundary, in a word; the bar of the claim decides, not the claim."""
    same = agrees(boundary)
    return words["no_model"] if same is None else words["agrees" if same else "differs"]


def _bar(kind: str, value: float, longest: float, label: str, readout: str, lang: str) -> str:
    tag = text.kind("model" if kind == "modelled" else "recorded", lang=lang)
    shown = text.inline_readout(readout, round(value), units.bytes_(value))
    width = f"{100 * value / longest:.3f}%"
    return (
        f'<div class="row"><div class="track"><i class="{kind}" style="width:{width}"></i></div>'
        f"<span><b>{shown}</b> {label} {tag}</span></div>"
    )


def lanes(case: Counted, standard: tuple | None, words: Labels) -> str:
    """The boundaries of one case as HTML: model hatched, counter solid, on one linear scale of bytes.

    ``standard``: (row, counted bytes, model bytes) of standard attention on the same shape, or None.
    """
    longest = max(max(level.counted, level.modelled or 0) for level in case.levels)
    if standard:
        longest = max(longest, standard[1], standard[2])
    rows = []
    for level in case.levels:
        name = level.level.lower()
        bars = ""
        if level.modelled is not None:
            label = words["bar_model"].format(model=words.said(level.model))
            bars += _bar("modelled", level.modelled, longest, label, f"bytes-{name}-model", words.lang)
        bars += _bar(
            "counted", level.counted, longest, words["bar_counted"], f"bytes-{name}-counted", words.lang
        )
        said = words["l2_note"] if level.residual is None else off(level.residual, words)
        sentence = html.escape(words.said(f"{level.sentence[:1].upper()}{level.sentence[1:]}."))
        rows.append(
            f'<section class="level" style="--c:var(--{ROLE[level.level]})"><h3>{words[f"level_{level.level}"]} '
            f"<span>{said}</span></h3>{bars}<p>{sentence}</p></section>"
        )
    if standard:
        _, counted, model = standard
        bars = _bar(
            "modelled",
            model,
            longest,
            words["bar_model"].format(model=words.said("standard")),
            "bytes-standard-model",
            words.lang,
        )
        bars += _bar("counted", counted, longest, words["bar_counted"], "bytes-standard-counted", words.lang)
        rows.append(
            f'<section class="level" style="--c:var(--standard)"><h3>{words["level_standard"]} '
            f"<span>{off(counted / model - 1, words)}</span></h3>{bars}<p>{words['standard_note']}</p></section>"
        )
    return f'<div class="boundaries">{"".join(rows)}</div>'


def table(found: Evidence, chosen: Counted | None, words: Labels) -> str:
    """Every counted case as a folded table; a row's link moves the page's settings to that case."""
    columns = [
        ("heads", True), ("N", True), ("d", True), ("tile", True), ("mask", False), ("l1", True), ("l1_off", True),
        ("dram", True), ("dram_model", False), ("dram_off", True), ("verdict", False),
    ]  # fmt: skip
    rows = _rows(found, words.lang)
    here = next((k for k, case in enumerate(found.cases) if case is chosen), None)
    body = text.table([(words[f"counted_{name}"], number) for name, number in columns], rows, chosen=here)
    return f"<details><summary>{words['counted_all'].format(count=len(rows))}</summary>{body}</details>"


@lru_cache(maxsize=8)
def _rows(found: Evidence, lang: str) -> list[list[str]]:
    """The cells of the table, once for a recording: only the chosen row changes with the settings."""
    words, rows = text.labels("machine", lang), []
    for case in found.cases:
        row, l1, dram = case.row, case.level("L1"), case.level("DRAM")
        rows.append(
            [
                units.count(row.heads),
                f'<a href="{link(case)}">{units.count(row.N)}</a>',
                str(row.d),
                words["tile_warps"].format(Br=row.Br, Bc=row.Bc, warps=row.warps),
                words["mask_on" if row.causal else "mask_off"],
                units.bytes_(l1.counted),
                _signed(l1.residual),
                units.bytes_(dram.counted),
                f"{words.said(dram.model)} {units.bytes_(dram.modelled)}",
                _signed(dram.residual),
                verdict(dram, words) if dram.claimed else words["not_claimed"],
            ]
        )
    return rows


def _signed(residual: float | None) -> str:
    if residual is None:
        return ""
    if abs(residual) < 5e-5:
        return share(residual)
    return f"{'+' if residual > 0 else '−'}{share(residual)}"


def link(case: Counted) -> str:
    """The query that moves the page's settings to a counted case."""
    row = case.row
    return (
        f"?N={row.N}&amp;d={row.d}&amp;H={row.heads}&amp;B={row.batch}&amp;Br={row.Br}&amp;Bc={row.Bc}"
        f"&amp;causal={int(row.causal)}&amp;dtype={row.dtype}"
    )


def shape(case: Counted, words: Labels) -> str:
    """A case in a few words."""
    row = case.row
    heads = words["one_head"] if row.heads == 1 else words["many_heads"].format(heads=row.heads)
    items = [f"N = {units.count(row.N)}", heads, f"d = {row.d}", f"{row.Br}×{row.Bc}"]
    return words.listed([*items, words["mask_on"]] if row.causal else items, "parts")
