"""Says in one sentence what a step of a trace did, with its numbers, and prints the pseudocode it follows.

The words are `ENGLISH`, a table of templates; another language is another table with the same keys and
fields. Blocks, rows and keys are numbered from 1, as in the papers.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from workshop.steps import Step, Trace, Visit
from workshop.units import binary, bytes_, number

# Pseudocode: (line, indent). The text of a line is phrases["code <order> <line>"].
LISTINGS = {
    "query-outer": (
        ("each-q", 0),
        ("load-q", 1),
        ("each-kv", 1),
        ("load-kv", 2),
        ("scores", 2),
        ("maximum", 2),
        ("weights", 2),
        ("update", 2),
        ("store", 1),
    ),
    "key-outer": (
        ("each-kv", 0),
        ("load-kv", 1),
        ("each-q", 1),
        ("load-q", 2),
        ("scores", 2),
        ("maximum", 2),
        ("weights", 2),
        ("update", 2),
        ("store", 2),
    ),
}

_TILE_CODE = {
    "scores": "S = Qᵢ Kⱼᵀ / √d\nmasked S = −∞",
    "maximum": "m′ = max(m, row max S)\nα = exp(m − m′)",
    "weights": "P = exp(S − m′)",
    "update": "ℓ = α·ℓ + row sum P\nO = α·O + P Vⱼ;  m = m′",
}

ENGLISH: Mapping[str, str] = {
    "code query-outer each-q": "for each Q block i:",
    "code query-outer load-q": "load Qᵢ\nm = −∞, ℓ = 0, O = 0",
    "code query-outer each-kv": "for each K, V block j in sight:",
    "code query-outer load-kv": "load Kⱼ, Vⱼ",
    "code query-outer store": "store Oᵢ = O / ℓ,  Lᵢ = m + log ℓ",
    "code key-outer each-kv": "for each K, V block j:",
    "code key-outer load-kv": "load Kⱼ, Vⱼ",
    "code key-outer each-q": "for each Q block i that sees j:",
    "code key-outer load-q": "load Qᵢ, Oᵢ, m, ℓ\n(at first 0, −∞, 0);  O = Oᵢ·ℓ",
    "code key-outer store": "store Oᵢ = O / ℓ,  m,  ℓ",
    **{f"code {order} {line}": text for order in LISTINGS for line, text in _TILE_CODE.items()},
    "start": "Q, K and V, {matrix} each, wait in HBM and the chip is empty. "
    "{visited} of {tiles} tiles will be visited.",
    "load-q new": "Q block {i} of {Tr} ({rows}) moves onto the chip: {moved}. "
    "Nothing has been seen yet: m = −∞, ℓ = 0, O = 0.",
    "load-q again": "Q block {i} of {Tr} ({rows}) comes back with its O, m and ℓ: {moved}. "
    "O times ℓ undoes the last division.",
    "load-kv": "K and V block {j} of {Tc} ({keys}) stream in: {moved}. The chip now holds {held}.",
    "scores": "S = Q Kᵀ / √d between {rows} and {keys}: from {low} to {high}.",
    "scores masked": "S = Q Kᵀ / √d between {rows} and {keys}: from {low} to {high}; "
    "masked to −∞: {masked} of {count}.",
    "scores none": "S between {rows} and {keys}: all {count} scores are masked to −∞.",
    "maximum none": "Row {row} still sees no key: m stays −∞, and α is taken as 0 instead of NaN.",
    "maximum first": "Row {row} meets its first scores: m goes from −∞ to {m_new}, "
    "so α = exp(−∞) = 0 and nothing old remains.",
    "maximum same": "Row {row}: the tile's largest score, {tile_max}, does not beat m = {m_old}, "
    "so α is exactly 1. Rows that rescale: {rescaled} of {r}.",
    "maximum same none": "Row {row}: every score of the tile is masked, so m stays {m_old} "
    "and α is exactly 1. Rows that rescale: {rescaled} of {r}.",
    "maximum rises": "Row {row}: m rises from {m_old} to {m_new}, "
    "so α = exp({m_old} − {m_new_term}) = {alpha}. "
    "Rows that rescale: {rescaled} of {r}.",
    "weights": "P = exp(S − m′): every weight lies between 0 and 1; those of row {row} add up to {added}.",
    "update none": "Row {row}: no key, no weight. ℓ and O stay 0.",
    "update first": "Row {row}: ℓ = {added} and O = P V, the first piece.",
    "update same": "Row {row}: ℓ = {l_old} + {added} = {l_new}. O keeps its length and P V is added.",
    "update rises": "Row {row}: ℓ = {alpha} × {l_old} + {added} = {l_new}. "
    "O shrinks by the same α before P V is added.",
    "store final": "Q block {i} is complete: O / ℓ and one logsumexp a row go to HBM, {moved}.",
    "store final skipped": "Q block {i} is complete: O / ℓ and one logsumexp a row go to HBM, {moved}. "
    "Tiles above the diagonal that were never loaded: {skipped}.",
    "store again": "O / ℓ, m and ℓ of Q block {i} go back to HBM: {moved}. "
    "They are read again for the next K, V block.",
    "store last": "O / ℓ, m and ℓ of Q block {i} go to HBM for the last time: {moved}.",
    "compare": "{read} read, {written} written. Against the softmax of whole rows, both in float64, "
    "the largest difference is {error}.",
    "rows": "rows {first}–{last}",
    "row": "row {first}",
    "keys": "keys {first}–{last}",
    "key": "key {first}",
}


def score(value: float) -> str:
    """A score as text: three decimals, whole numbers from 1,000 on, −∞ for a masked one."""
    if np.isneginf(value):
        return "−∞"
    # + 0.0 turns a rounded −0.000 into 0.000.
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{round(float(value), 3) + 0.0:.3f}"
    return text.replace("-", "−")


def listing(order: str, phrases: Mapping[str, str] = ENGLISH) -> list[dict]:
    """The pseudocode of an order: [{"line": id, "indent": levels, "text": words}]."""
    return [
        {"line": line, "indent": indent, "text": phrases[f"code {order} {line}"]}
        for line, indent in LISTINGS[order]
    ]


def narrate(trace: Trace, index: int, phrases: Mapping[str, str] = ENGLISH) -> str:
    """One or two sentences on step `index` of `trace`, from the templates of `phrases`."""
    step = trace.steps[index]
    key, facts = _FACTS.get(step.line, _tile)(trace, step, phrases)
    return phrases[key].format(**facts)


def _span(phrases: Mapping[str, str], one: str, start: int, length: int) -> str:
    """ "rows 9–16" or "row 9": numbered from 1."""
    return phrases[one if length == 1 else one + "s"].format(first=start + 1, last=start + length)


def _moved(trace: Trace, step: Step) -> str:
    return bytes_(sum(move.elements for move in step.moves) * trace.element_bytes)


def _start(trace: Trace, step: Step, phrases):
    matrix = bytes_(trace.inputs.q.size * trace.element_bytes)
    return "start", {"matrix": matrix, "visited": len(trace.visits), "tiles": trace.kinds.size}


def _load_q(trace: Trace, step: Step, phrases):
    start = step.i * trace.Br
    rows = _span(phrases, "row", start, min(trace.Br, trace.N - start))
    again = any(move.tensor == "O" for move in step.moves)
    facts = {"i": step.i + 1, "Tr": trace.kinds.shape[0], "rows": rows, "moved": _moved(trace, step)}
    return "load-q again" if again else "load-q new", facts


def _load_kv(trace: Trace, step: Step, phrases):
    start = step.j * trace.Bc
    keys = _span(phrases, "key", start, min(trace.Bc, trace.N - start))
    held = binary(sum(step.resident.values()) * trace.element_bytes)
    facts = {"j": step.j + 1, "Tc": trace.kinds.shape[1], "keys": keys, "held": held}
    return "load-kv", facts | {"moved": _moved(trace, step)}


def _scores(trace: Trace, visit: Visit, phrases):
    s = visit.update.s
    finite = s[np.isfinite(s)]
    facts = {
        "rows": _span(phrases, "row", visit.row, s.shape[0]),
        "keys": _span(phrases, "key", visit.key, s.shape[1]),
        "count": s.size,
        "masked": s.size - finite.size,
    }
    if not finite.size:
        return "scores none", facts
    facts |= {"low": score(finite.min()), "high": score(finite.max())}
    return "scores masked" if facts["masked"] else "scores", facts


def _tile(trace: Trace, step: Step, phrases):
    """Scores, maximum, weights and update: the numbers of one row of the tile."""
    visit = trace.visits[step.visit]
    if step.line == "scores":
        return _scores(trace, visit, phrases)
    update, row = visit.update, trace.focus_rows[visit.i]
    m_old, m_new, alpha = update.before.m[row], update.after.m[row], update.alpha[row]
    facts = {
        "row": visit.row + row + 1,
        "r": len(update.alpha),
        "m_old": score(m_old),
        "m_new": score(m_new),
        "m_new_term": score(m_new) if m_new >= 0 else f"({score(m_new)})",
        "tile_max": score(update.s[row].max()),
        "alpha": number(alpha),
        "l_old": number(update.before.l[row]),
        "l_new": number(update.after.l[row]),
        "added": number(update.added_l[row]),
        "rescaled": int(np.sum((update.before.l > 0.0) & (update.alpha < 1.0))),
    }
    if step.line == "weights":
        return "weights", facts
    if np.isneginf(m_new):
        return f"{step.line} none", facts
    if np.isneginf(m_old):
        return f"{step.line} first", facts
    if alpha < 1.0:
        return f"{step.line} rises", facts
    hidden = step.line == "maximum" and np.isneginf(update.s[row].max())
    return f"{step.line} same" + (" none" if hidden else ""), facts


def _store(trace: Trace, step: Step, phrases):
    skipped = int(np.sum(trace.kinds[step.i] == 0))
    facts = {"i": step.i + 1, "moved": _moved(trace, step), "skipped": skipped}
    if trace.order == "query-outer":
        return "store final skipped" if skipped else "store final", facts
    last = int(np.flatnonzero(trace.kinds[step.i])[-1])
    return "store last" if step.j == last else "store again", facts


def _compare(trace: Trace, step: Step, phrases):
    facts = {"read": bytes_(step.read), "written": bytes_(step.written), "error": number(trace.error_max, 2)}
    return "compare", facts


_FACTS = {
    "start": _start,
    "load-q": _load_q,
    "load-kv": _load_kv,
    "store": _store,
    "compare": _compare,
}
