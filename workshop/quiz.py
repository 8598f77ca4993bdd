"""The quiz: which questions there are, and for the computed ones the answer and the answers of plausible mistakes.

Words are prose (`plates/prose/quiz.md`); this module knows only numbers. A computed question names its right value
and, by key, the value that each mistake would give: counting one head, forgetting a tensor, taking the other
model. Choices are told apart by their text, so two that round to the same are one; if fewer than four are left,
multiples of the right value fill up.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

from workshop import break_even, masks, online_softmax, roofline, schedule, sram, traffic, units
from workshop.generations import GENERATIONS, UNITS
from workshop.hardware import GPU
from workshop.problem import Problem, Tile
from workshop.residency import resident_blocks

LEVELS = ("concept", "numbers", "kernel")
CHOICES = 4
RIGHT = "right"
_STAGES = 2
_SPARSE = 2  # data sheets print the rate with structured sparsity, twice the dense one


@dataclass(frozen=True)
class Question:
    """One question, in the order in which its choices are shown.

    slug: its section of the prose. level: one of LEVELS. plate: slug of the plate that shows the answer.
    choices: keys. right: the key of the right one. texts: {key: text} of computed choices; empty where the prose
    words them. facts: {name: text or bool} for the prose. computed: whether the reader's settings change it.
    """

    slug: str
    level: str
    plate: str
    choices: tuple[str, ...]
    right: str
    texts: dict[str, str] = field(default_factory=dict)
    facts: dict[str, str | bool] = field(default_factory=dict)
    computed: bool = False


def _shuffled(slug: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Keys in an order that depends on the slug alone, so that a question does not move while it is read."""
    return tuple(sorted(keys, key=lambda key: crc32(f"{slug}/{key}".encode())))


def _fillers(value: float) -> Iterator[tuple[str, float]]:
    """Multiples and parts of the right value, never 0: what fills up choices that coincide."""
    whole = isinstance(value, int)
    for factor in (2, 4, 8, 3, 10, 16):
        yield f"times_{factor}", value * factor
        smaller = value / factor
        if not whole or (value % factor == 0 and smaller >= 1):
            yield f"over_{factor}", int(smaller) if whole else smaller


def choose(value: float, mistakes: dict[str, float], text: Callable[[float], str]) -> dict[str, tuple]:
    """Return {key: (value, text)} of CHOICES choices with distinct texts, the right one under RIGHT, by size.

    value: positive and finite. mistakes: values of wrong ways, most instructive first; those that are not
    positive and finite, or read like another choice, are left out. Raises ValueError for a bad right value.
    """
    if not 0 < value < float("inf"):
        raise ValueError(f"value: expected a positive finite number; got {value!r}")
    found = {RIGHT: (value, text(value))}
    candidates = [*mistakes.items(), *_fillers(value)]
    for key, wrong in candidates:
        if len(found) == CHOICES:
            break
        shown = text(wrong) if 0 < wrong < float("inf") else ""
        if shown and shown not in [seen for _, seen in found.values()]:
            found[key] = (wrong, shown)
    return dict(sorted(found.items(), key=lambda item: item[1][0]))


_Setting = tuple[Problem, Tile, GPU]
_COMPUTED: dict[str, tuple[str, str, Callable]] = {}
_DECIDED: dict[str, tuple[str, str, tuple[str, ...], Callable]] = {}


def _computed(slug: str, level: str, plate: str):
    """Register a function (problem, tile, gpu) -> (value, mistakes, text of a value, facts)."""

    def register(function):
        _COMPUTED[slug] = (level, plate, function)
        return function

    return register


def _decided(slug: str, level: str, plate: str, *choices: str):
    """Register a function (problem, tile, gpu) -> (key of the right choice, facts); the prose words the choices."""

    def register(function):
        _DECIDED[slug] = (level, plate, choices, function)
        return function

    return register


# Concept: the prose words them, the first key is right ------------------------------------------------------

_WORDED = {
    # slug: (level, plate, right key, wrong keys)
    "changes": ("concept", "wall", "order", ("fewer", "approximate", "precision")),
    "matrix": ("concept", "wall", "scores", ("keys", "output", "weights")),
    "slow": ("concept", "roofline", "waits", ("arithmetic", "exponentials", "launches")),
    "quadratic": ("concept", "memory", "compute", ("nothing", "everything", "traffic_only")),
    "running": ("concept", "softmax", "shrink", ("restart", "keep", "average")),
    "exact": ("concept", "softmax", "real", ("bits", "approximate", "short")),
    "sources": ("concept", "traffic", "boundary", ("wrong", "hardware", "dtype")),
    "reads": ("concept", "tiles", "block", ("once", "query", "never")),
    "causal": ("concept", "sparsity", "skips", ("always", "never", "memory")),
    "backward": ("concept", "memory", "cheaper", ("accuracy", "impossible", "flops")),
    "decode": ("concept", "serving", "cache", ("scores", "softmax", "weights")),
    "spill": ("kernel", "machine", "registers", ("shared", "l2", "nothing")),
    "outer": ("kernel", "softmax", "queries", ("keys", "heads", "either")),
    "diagonal": ("kernel", "sparsity", "crossed", ("all", "below", "above")),
    "split": ("kernel", "serving", "rescale", ("add", "mean", "impossible")),
    "asynchrony": ("kernel", "review", "overlap", ("outer", "exact", "cache")),
    "blackwell": ("kernel", "review", "exponentials", ("hbm", "matmul", "registers")),
    "tolerance": ("kernel", "softmax", "twice", ("equal", "epsilon", "percent")),
}

# Numbers ------------------------------------------------------------------------------------------------


@_computed("score", "numbers", "wall")
def _score(problem: Problem, tile: Tile, gpu: GPU):
    one = problem.N**2 * problem.element_bytes
    mistakes = {
        "one_head": one,
        "inputs": problem.N * problem.d * problem.heads * problem.element_bytes,
        "elements": problem.N**2 * problem.heads,
        "both": 2 * one * problem.heads,
    }
    return problem.score_bytes, mistakes, units.bytes_, {"one": units.bytes_(one)}


@_computed("ratio", "numbers", "traffic")
def _ratio(problem: Problem, tile: Tile, gpu: GPU):
    total = {model: traffic.ledger(model, problem, tile, gpu).total for model in traffic.MODELS}
    mistakes = {
        "tiled": total["standard"] / total["tiled"],
        "compulsory": total["standard"] / total["compulsory"],
        "limit": float(break_even.gain_limit("bound", problem, tile, gpu)),
    }
    facts = {name: units.bytes_(total[name] * problem.element_bytes) for name in ("standard", "bound")}
    return total["standard"] / total["bound"], mistakes, units.ratio, facts


@_computed("passes", "numbers", "tiles")
def _passes(problem: Problem, tile: Tile, gpu: GPU):
    rows, columns = masks.ceil_div(problem.N, tile.Br), masks.ceil_div(problem.N, tile.Bc)
    mistakes = {
        "once": 1,
        "keys": columns,
        "whole": problem.N // tile.Br,
        "tiles": rows * columns,
        "rows": tile.Br,
    }
    return rows, mistakes, units.count, {}


@_computed("visits", "numbers", "sparsity")
def _visits(problem: Problem, tile: Tile, gpu: GPU):
    seen, total = masks.visited(problem.N, tile.Br, tile.Bc, problem.causal)
    rows, columns = masks.ceil_div(problem.N, tile.Br), masks.ceil_div(problem.N, tile.Bc)
    mistakes = {
        "unmasked": total,
        "half": total // 2,
        "whole": (problem.N // tile.Br) * (problem.N // tile.Bc),
        "sum": rows + columns,
    }
    facts = {"total": units.count(total), "blocks": f"{units.count(rows)} × {units.count(columns)}"}
    return seen, mistakes, units.count, facts


@_computed("working", "numbers", "tiles")
def _working(problem: Problem, tile: Tile, gpu: GPU):
    found = sram.working_set(problem, tile)
    mistakes = {
        "no_scores": found.total - found.s,
        "inputs": found.q + found.k + found.v,
        "accumulators": sram.working_set(problem, tile, fp32_accumulators=True).total,
        "scores": found.s,
    }
    facts = {"budget": units.binary(found.budget), "fits": found.fits}
    return found.total, mistakes, units.binary, facts


@_computed("intensity", "numbers", "roofline")
def _intensity(problem: Problem, tile: Tile, gpu: GPU):
    standard = roofline.time("standard", problem, tile, gpu).intensity
    mistakes = {
        "half": standard / 2,
        "elements": standard * problem.element_bytes,
        "bound": roofline.time("bound", problem, tile, gpu).intensity,
        "ridge": gpu.ridge(problem.dtype),
    }
    return standard, mistakes, units.intensity, {"ridge": units.intensity(gpu.ridge(problem.dtype))}


@_computed("ridge", "numbers", "roofline")
def _ridge(problem: Problem, tile: Tile, gpu: GPU):
    ridge = gpu.ridge(problem.dtype)
    vector = gpu.rate("fp32").flops / gpu.bandwidth
    mistakes = {"sparse": ridge * _SPARSE, "vector": vector, "elements": ridge * problem.element_bytes}
    rate = gpu.rate(problem.dtype)
    facts = {
        "peak": units.rate_flops(rate.flops),
        "bandwidth": units.rate_bytes(gpu.bandwidth),
        "used": rate.dtype,
    }
    return ridge, mistakes, units.intensity, facts


@_decided("binding", "numbers", "roofline", "memory", "compute", "launch", "mask")
def _binding(problem: Problem, tile: Tile, gpu: GPU):
    time = roofline.time("standard", problem, tile, gpu)
    facts = {
        "compute": units.seconds(time.compute_s),
        "memory": units.seconds(time.memory_s),
        "intensity": units.intensity(time.intensity),
        "ridge": units.intensity(gpu.ridge(problem.dtype)),
    }
    return time.binding, facts


@_computed("flops", "numbers", "memory")
def _flops(problem: Problem, tile: Tile, gpu: GPU):
    work = roofline.flops(problem, "standard", tile)
    mistakes = {
        "one_product": work // 2,
        "one_head": work // problem.heads,
        "no_head_size": work // problem.d,
        "backward": roofline.flops(problem, "standard", tile, direction="backward"),
    }
    return work, mistakes, units.flops, {}


@_computed("kept", "numbers", "memory")
def _kept(problem: Problem, tile: Tile, gpu: GPU):
    rows = problem.N * problem.heads
    mistakes = {
        "scores": problem.score_bytes,
        "two": 2 * rows * sram.FP32_BYTES,
        "one_head": problem.N * sram.FP32_BYTES,
        "output": rows * problem.d * problem.element_bytes,
    }
    return rows * sram.FP32_BYTES, mistakes, units.bytes_, {"scores": units.bytes_(problem.score_bytes)}


@_computed("cache", "numbers", "serving")
def _cache(problem: Problem, tile: Tile, gpu: GPU):
    token = 2 * problem.H * problem.d * problem.element_bytes
    mistakes = {
        "keys_only": token // 2,
        "one_head": 2 * problem.d * problem.element_bytes,
        "scores": problem.H * problem.N * problem.element_bytes,
        "all": token * problem.N,
    }
    return token, mistakes, units.bytes_, {"all": units.bytes_(token * problem.N)}


@_computed("even", "numbers", "traffic")
def _even(problem: Problem, tile: Tile, gpu: GPU):
    least = break_even.bound_M(problem.d)
    mistakes = {
        "square": problem.d**2,
        "double": 2 * problem.d,
        "quarter": problem.d**2 // 4,
        "sequence": problem.N,
    }
    facts = {"bytes": units.binary(least * problem.element_bytes), "M": units.count(tile.M(problem))}
    return least, mistakes, units.elements, facts


# Kernel -------------------------------------------------------------------------------------------------


@_computed("shared", "kernel", "tiles")
def _shared(problem: Problem, tile: Tile, gpu: GPU):
    view = sram.kernel_view(problem, tile, _STAGES)
    mistakes = {
        "one_stage": sram.kernel_view(problem, tile, 1).shared,
        "registers": view.shared + view.registers,
        "no_queries": view.shared - view.q,
        "everything": sram.working_set(problem, tile).total,
    }
    return view.shared, mistakes, units.binary, {"registers": units.binary(view.registers)}


@_decided("launch", "kernel", "machine", "starts", "refuses", "slower", "halves")
def _launch(problem: Problem, tile: Tile, gpu: GPU):
    view = sram.kernel_view(problem, tile, _STAGES)
    facts = {"need": units.binary(view.shared), "limit": units.binary(gpu.smem_block)}
    return ("starts" if view.launches(gpu) else "refuses"), facts


@_computed("resident", "kernel", "machine")
def _resident(problem: Problem, tile: Tile, gpu: GPU):
    found = resident_blocks(gpu, tile, problem.d, problem.dtype)
    mistakes = {
        "one_each": gpu.sms,
        "one_unit": found.per_sm,
        "blocks": masks.ceil_div(problem.N, tile.Br) * problem.heads,
        "double": 2 * found.blocks,
    }
    facts = {"each": units.count(found.per_sm), "sms": units.count(gpu.sms), "limiter": found.limiter}
    return found.blocks, mistakes, units.count, facts


@_computed("waves", "kernel", "machine")
def _waves(problem: Problem, tile: Tile, gpu: GPU):
    blocks = masks.ceil_div(problem.N, tile.Br)
    resident = resident_blocks(gpu, tile, problem.d, problem.dtype).blocks
    mistakes = {
        "every_block": blocks,
        "resident": resident,
        "whole": blocks // resident,
        "heads": problem.heads,
    }
    facts = {"blocks": units.count(blocks), "resident": units.count(resident)}
    return masks.ceil_div(blocks, resident), mistakes, units.count, facts


@_computed("alpha", "kernel", "softmax")
def _alpha(problem: Problem, tile: Tile, gpu: GPU):
    old, new = 1.0, 5.0
    value = float(online_softmax.rescale(np.float64(old), np.float64(new)))
    mistakes = {"inverse": 1 / value, "maximum": float(np.exp(-new)), "none": 1.0}
    return value, mistakes, units.number, {"old": units.number(old), "new": units.number(new)}


@_computed("gradient", "kernel", "memory")
def _gradient(problem: Problem, tile: Tile, gpu: GPU):
    work = {way: roofline.flops(problem, "bound", tile, direction=way) for way in roofline.DIRECTIONS}
    stored = {
        way: roofline.flops(problem, "standard", tile, direction=way) for way in ("forward", "backward")
    }
    mistakes = {
        "stored": stored["backward"] / stored["forward"],
        "both": work["both"] / work["forward"],
        "same": work["forward"] / work["forward"],
    }
    return work["backward"] / work["forward"], mistakes, units.ratio, {}


@_computed("exponentials", "kernel", "review")
def _exponentials(problem: Problem, tile: Tile, gpu: GPU):
    generation, rates = GENERATIONS["fa3"], UNITS["h100"]
    time = schedule.durations(generation, rates, problem, tile)
    share = time["softmax"] / (time["scores"] + time["output"])
    mistakes = {"one_product": 2 * share, "inverse": 1 / share, "none": share / problem.d}
    facts = {
        "chip": rates.record.name,
        "rate": units.count(rates.exponential),
        "tensor": units.count(rates.tensor_rate(problem.dtype)),
        "used": rates.record.rate(problem.dtype).dtype,
        "products": units.count(4 * problem.d),
    }
    return share, mistakes, units.percent, facts


# How far the reader's settings reach: these stay the same at every setting.
_FIXED = ("alpha", "gradient")
# Order within a level: from what everyone should know to what few do.
_ORDER = (
    *("changes", "matrix", "slow", "reads", "running", "exact", "quadratic", "backward", "sources", "causal"),
    *("decode", "score", "ratio", "passes", "visits", "working", "ridge", "intensity", "binding", "flops"),
    *("kept", "cache", "even", "alpha", "outer", "shared", "launch", "spill", "resident", "waves"),
    *("diagonal", "gradient", "split", "tolerance", "exponentials", "asynchrony", "blackwell"),
)


def _build(slug: str, setting: _Setting) -> Question:
    if slug in _WORDED:
        level, plate, right, wrong = _WORDED[slug]
        return Question(slug, level, plate, _shuffled(slug, (right, *wrong)), right)
    if slug in _DECIDED:
        level, plate, choices, function = _DECIDED[slug]
        right, facts = function(*setting)
        return Question(slug, level, plate, choices, right, {}, facts, True)
    level, plate, function = _COMPUTED[slug]
    value, mistakes, text, facts = function(*setting)
    found = choose(value, mistakes, text)
    texts = {key: shown for key, (_, shown) in found.items()}
    facts = {**facts, "answer": texts[RIGHT]}
    return Question(slug, level, plate, tuple(found), RIGHT, texts, facts, slug not in _FIXED)


def slugs() -> tuple[str, ...]:
    """All questions, by level, then from easy to hard."""
    return _ORDER


def questions(problem: Problem, tile: Tile, gpu: GPU) -> tuple[Question, ...]:
    """All questions with the numbers of the reader's settings."""
    return tuple(_build(slug, (problem, tile, gpu)) for slug in _ORDER)
