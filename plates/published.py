"""Tables of what others measured and published, from ``workshop.results``."""

from __future__ import annotations

import html

from plates import text
from plates.language import Labels
from workshop import results, units
from workshop.hardware import GPUS


def _source(words: str) -> str:
    return f'<span class="source">{html.escape(words)}</span>'


def _tera(rate: float) -> str:
    """A rate in TFLOP/s with every digit that was published."""
    return f"{units.count(rate / 1e12)} TFLOP/s"


def training(words: Labels, lang: str) -> str:
    """Return the table of training times and speed-ups."""
    columns = [(words["task"], False), (words["by"], False), (words["other_time"], True)]
    columns += [(words["flash_time"], True), (words["speedup"], True), (words["source"], False)]
    rows = [
        [
            html.escape(text.phrase(row.task, lang)),
            html.escape(text.phrase(row.baseline, lang)),
            units.seconds(row.baseline_s),
            units.seconds(row.flash_s),
            units.ratio(row.speedup),
            _source(text.phrase(row.source, lang)),
        ]
        for row in results.TRAINING
    ]
    rows += [
        [
            html.escape(text.phrase(row.task, lang)),
            html.escape(text.phrase(row.method, lang)),
            "",
            "",
            units.ratio(row.speedup),
            _source(text.phrase(row.source, lang)),
        ]
        for row in results.LONG_RANGE
    ]
    return text.table(columns, rows)


def memory(words: Labels, lang: str) -> str:
    """Return the table of training memory."""
    columns = [(words["length"], True), (words["other_memory"], True), (words["flash_memory"], True)]
    columns += [(words["saving"], True), (words["source"], False)]
    rows = [
        [
            units.count(row.N),
            units.bytes_(row.standard),
            units.bytes_(row.flash),
            units.ratio(row.standard / row.flash),
            _source(text.phrase(row.source, lang)),
        ]
        for row in results.MEMORY
    ]
    return text.table(columns, rows)


def speed(words: Labels, lang: str) -> str:
    """Return the table of kernel speeds."""
    columns = [(words["kernel"], False), (words["on"], False), (words["what"], False)]
    columns += [
        (words["full"], True),
        (words["causal"], True),
        (words["share"], True),
        (words["source"], False),
    ]
    rows = []
    for row in results.THROUGHPUT:
        head = [] if row.d is None else [f"d\u00a0=\u00a0{row.d}"]
        rows.append(
            [
                f'<span class="together">{html.escape(text.phrase(row.what, lang))}</span>',
                f'<span class="together">{html.escape(GPUS[row.gpu].name)}</span>',
                words.listed([words.said(row.direction), row.dtype, *head], "parts"),
                _tera(row.full),
                "" if row.causal is None else _tera(row.causal),
                units.percent(row.share),
                _source(text.phrase(row.source, lang)),
            ]
        )
    return text.table(columns, rows)


def tables(words: Labels, lang: str) -> str:
    """Return all tables with their headings."""
    parts = (("training", training), ("memory", memory), ("speed", speed))
    return "".join(
        f"<h3>{words[f'head_{name}']} {text.kind('cited', lang=lang)}</h3>{make(words, lang)}"
        for name, make in parts
    )
