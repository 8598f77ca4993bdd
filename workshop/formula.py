"""A formula as one record: its text, its letters, what it says, and the function that computes it.

The expression is the only place where a formula is written. LaTeX, the same with the reader's numbers, and the
reading for a screen reader are drawn from it (`expressions`), and the tests evaluate it against the function.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from workshop import expressions, units
from workshop.expressions import READING
from workshop.hardware import DEFAULT_GPU, GPU
from workshop.problem import Problem, Tile
from workshop.symbols import SYMBOLS, Symbol

_FORMATS = {
    "elements": units.elements,
    "bytes": units.bytes_,
    "FLOP": units.flops,
    "seconds": units.seconds,
    "FLOP/B": units.intensity,
    "": units.number,
}


@dataclass(frozen=True)
class Formula:
    """One formula.

    slug, name: key and title. left: LaTeX of the left side. expression: the right side (see `expressions`),
    and causal_expression: the one that holds under a causal mask where it differs. plain: one sentence that
    says what it counts. unit: "elements", "bytes", "FLOP", "seconds", "FLOP/B" or "" (a pure number).
    function: for formulas of the problem, function(problem, tile, gpu) -> number; for those of one softmax
    step, function of the expression's names. inputs: names and values for the expression, from (problem,
    tile, gpu); None for a softmax step. rounded_up: the function counts whole elements where the expression
    is fractional.
    """

    slug: str
    name: str
    left: str
    expression: str
    plain: str
    unit: str
    function: Callable
    inputs: Callable[[Problem, Tile, GPU], Mapping] | None = None
    causal_expression: str | None = None
    rounded_up: bool = False

    def tree(self, causal: bool = False):
        """The parsed expression that holds with or without a causal mask."""
        return expressions.parse((causal and self.causal_expression) or self.expression)

    @property
    def latex(self) -> str:
        """The formula in letters, left = right, not causal."""
        return self.latex_for(False)

    def latex_for(self, causal: bool) -> str:
        """The formula in letters, left = right, with or without a causal mask."""
        return f"{self.left} = " + expressions.latex(self.tree(causal), lambda name: SYMBOLS[name].latex)

    def spoken(self, causal: bool = False, words: Mapping[str, str] = READING) -> str:
        """The formula in words. `words`: English, or the table of another language (see `expressions.READING`)."""

        def letter(name: str) -> str:
            said = SYMBOLS[name].spoken
            return words.get(said, said)

        right = expressions.spoken(self.tree(causal), letter, words)
        return words["equals"].format(a=words.get(self.name, self.name), b=right).rstrip(",")

    def symbols(self, causal: bool = False) -> dict[str, Symbol]:
        """The letters of the formula, in order, for a legend."""
        return {name: SYMBOLS[name] for name in expressions.names(self.tree(causal))}

    def value(self, problem: Problem, tile: Tile, gpu: GPU | None = None):
        """The function's value for the reader's settings, in `unit` (SI)."""
        return self.function(problem, tile, gpu or DEFAULT_GPU)

    def evaluate(self, problem: Problem, tile: Tile, gpu: GPU | None = None):
        """The expression's value for the reader's settings: what the typeset formula comes to."""
        return expressions.evaluate(self.tree(problem.causal), self.inputs(problem, tile, gpu or DEFAULT_GPU))

    def substituted(self, problem: Problem, tile: Tile, gpu: GPU | None = None) -> str:
        """LaTeX with the reader's numbers for the letters, and the result with its unit."""
        gpu = gpu or DEFAULT_GPU
        return self._filled(problem.causal, self.inputs(problem, tile, gpu), self.value(problem, tile, gpu))

    def with_values(self, **values: float) -> str:
        """`substituted` for the formulas of one softmax step, which take the step's numbers by name."""
        return self._filled(False, values, self.function(**values))

    def formatted(self, value) -> str:
        """A value of this formula as text with its unit."""
        return _FORMATS[self.unit](value)

    def _filled(self, causal, values, result):
        tree = self.tree(causal)
        powers = expressions.any_power(values[name] for name in expressions.names(tree))
        right = expressions.latex(
            tree, lambda name: expressions.number_latex(values[name], powers), r" \cdot "
        )
        shown = expressions.number_latex(result) if self.unit == "" else rf"\text{{{self.formatted(result)}}}"
        return f"{right} = {shown}"
