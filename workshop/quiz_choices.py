"""Choices of the computed questions: the right value among those of plausible mistakes, and where they are kept."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from workshop.hardware import GPU
from workshop.problem import Problem, Tile

CHOICES = 4
RIGHT = "right"
Setting = tuple[Problem, Tile, GPU]


@dataclass(frozen=True)
class Register:
    """The questions of one module, all of one `level`.

    computed: {slug: (level, plate, function)}, function(problem, tile, gpu) -> (value, mistakes, text of a value,
    facts). decided: {slug: (level, plate, choices, function)}, function(problem, tile, gpu) -> (key of the right
    choice, facts); the prose words the choices.
    """

    level: str
    computed: dict[str, tuple[str, str, Callable]] = field(default_factory=dict)
    decided: dict[str, tuple[str, str, tuple[str, ...], Callable]] = field(default_factory=dict)

    def number(self, slug: str, plate: str):
        """Decorator: register a function of a computed question."""

        def register(function):
            self.computed[slug] = (self.level, plate, function)
            return function

        return register

    def decision(self, slug: str, plate: str, *choices: str):
        """Decorator: register a function that decides between worded choices."""

        def register(function):
            self.decided[slug] = (self.level, plate, choices, function)
            return function

        return register


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
