"""Tables of what others measured and published, from ``workshop.results``, and our recording beside them."""

from __future__ import annotations

import html
from dataclasses import replace
from functools import lru_cache

from plates import provenance, text
from plates.language import Labels
from plates.settings import LANGUAGES
from workshop import results, units
from workshop.hardware import GPUS
from workshop.kernels.identify import known_gpu
from workshop.recordings.as_published import as_published


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
    note = words["memory_note"].format(more=units.percent(2**20 / 1e6 - 1))
    return f'{text.table(columns, rows)}<p class="note">{note}</p>'


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


def recorded(words: Labels, lang: str) -> str:
    """Return the table of speeds recorded under the published conditions, with its provenance; "" without them."""
    evidence = provenance.evidence()
    found = as_published(evidence.recording) if evidence else ()
    if not found:
        return ""
    names = text.labels("machine", lang)
    columns = [
        (words["kernel"], False),
        (words["what"], False),
        (words["full"], True),
        (words["causal"], True),
    ]
    columns += [(words["share"], True)]
    rows = []
    for one in found:
        row = one.rows[0]
        peak = GPUS[known_gpu(row.gpu)].rate(row.dtype).flops
        what = words.listed([words.said(row.direction), row.dtype, f"d\u00a0=\u00a0{row.d}"], "parts")
        rates = [units.rate_flops(one.full), units.rate_flops(one.causal), units.percent(one.full / peak)]
        rows.append([f'<span class="together">{names[f"provider_{one.provider}"]}</span>', what, *rates])
    used = replace(evidence.recording, rows=tuple(row for one in found for row in one.rows))
    tokens = found[0].rows[0]
    said = words["recorded_said"].format(
        tokens=units.count(tokens.N),
        columns=units.count(tokens.heads * tokens.d),
        gpu=html.escape(tokens.gpu),
    )
    return f"<p>{said}</p>{text.table(columns, rows)}{provenance.line(used, ('time',), names)}"


@lru_cache(maxsize=len(LANGUAGES))
def tables(lang: str) -> str:
    """Return all tables with their headings, in the words of the review. They do not depend on any setting."""
    words = text.labels("review", lang)
    parts = (("training", training), ("memory", memory), ("speed", speed))
    cited = "".join(
        f"<h3>{words[f'head_{name}']} {text.kind('cited', lang=lang)}</h3>{make(words, lang)}"
        for name, make in parts
    )
    ours = recorded(words, lang)
    tag = text.kind("recorded", lang=lang)
    return cited + (f"<h3>{words['head_recorded']} {tag}</h3>{ours}" if ours else "")
