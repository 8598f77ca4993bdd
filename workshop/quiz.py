"""The quiz: which questions there are, and for the computed ones the answer and the answers of plausible mistakes.

Words are prose (`plates/prose/quiz.md`); this module knows only numbers. A computed question names its right value
and, by key, the value that each mistake would give: counting one head, forgetting a tensor, taking the other
model. Choices are told apart by their text, so two that round to the same are one; if fewer than four are left,
multiples of the right value fill up (`quiz_choices`). The computed ones are in `quiz_numbers` and `quiz_kernel`.
"""

from dataclasses import dataclass, field
from zlib import crc32

from workshop import quiz_kernel, quiz_numbers
from workshop.hardware import GPU
from workshop.problem import Problem, Tile
from workshop.quiz_choices import CHOICES, RIGHT, Setting, choose

__all__ = ["CHOICES", "LEVELS", "RIGHT", "Question", "choose", "questions", "slugs"]

LEVELS = ("concept", "numbers", "kernel")
_COMPUTED = {**quiz_numbers.QUESTIONS.computed, **quiz_kernel.QUESTIONS.computed}
_DECIDED = {**quiz_numbers.QUESTIONS.decided, **quiz_kernel.QUESTIONS.decided}


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

# How far the reader's settings reach: these stay the same at every setting.
_FIXED = ("alpha", "gradient")
# Order within a level: from what everyone should know to what few do.
_ORDER = (
    *("changes", "matrix", "slow", "reads", "running", "exact", "quadratic", "backward", "sources", "causal"),
    *("decode", "score", "ratio", "passes", "visits", "working", "ridge", "intensity", "binding", "flops"),
    *("kept", "cache", "even", "alpha", "outer", "shared", "launch", "spill", "resident", "waves"),
    *("diagonal", "gradient", "split", "tolerance", "exponentials", "asynchrony", "blackwell"),
)


def _build(slug: str, setting: Setting) -> Question:
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
