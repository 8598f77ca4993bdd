"""Every formula on the pages as one record: its text, its letters, what it says, and the function that
computes it.

The expression is the only place where a formula is written. LaTeX, the same with the reader's numbers, and
the reading for a screen reader are drawn from it (`expressions`), and the tests evaluate it against the
function.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from workshop import expressions, masks, online_softmax, roofline, sram, traffic, units
from workshop.hardware import DEFAULT_GPU, GPU
from workshop.masks import ceil_div
from workshop.problem import Problem, Tile


@dataclass(frozen=True)
class Symbol:
    """A letter of the formulas: its LaTeX, how it is read, and what it means with its unit."""

    latex: str
    spoken: str
    meaning: str


SYMBOLS: Mapping[str, Symbol] = MappingProxyType(
    {
        "N": Symbol("N", "N", "sequence length, tokens"),
        "d": Symbol("d", "d", "head size, elements"),
        "H": Symbol("H", "H", "heads"),
        "B": Symbol("B", "B", "batch"),
        "b": Symbol("b", "b", "bytes an element"),
        "M": Symbol("M", "M", "on-chip memory, elements"),
        "budget": Symbol(r"M_{\mathrm{bytes}}", "M in bytes", "on-chip memory, bytes"),
        "Br": Symbol("B_r", "B r", "rows of a Q block"),
        "Bc": Symbol("B_c", "B c", "rows of a K, V block"),
        "Tr": Symbol("T_r", "T r", "Q blocks, N / Br rounded up"),
        "Tc": Symbol("T_c", "T c", "K, V blocks of Algorithm 1: N / Bc, with Bc = M / 4d, both rounded up"),
        "R": Symbol("R", "R", "Q blocks resident on the whole GPU at once"),
        "kv_rows": Symbol("\\rho", "rho", "rows of K read, visited tiles only, over all Q blocks"),
        "wave_rows": Symbol(
            "\\rho_w", "rho w", "rows of K read, visited tiles only, added up over the waves"
        ),
        "q_rows": Symbol("\\rho_q", "rho q", "rows of Q read, visited tiles only, over all K, V blocks"),
        "scores": Symbol(r"\mathrm{scores}", "scores", "scores computed: elements of visited tiles"),
        "visits": Symbol(r"\mathrm{visits}", "visits", "tiles visited"),
        "W": Symbol("W", "W", "working set of a tile, bytes"),
        "F": Symbol(r"\mathrm{FLOPs}", "FLOPs", "floating-point operations of a layer"),
        "D": Symbol(r"\mathrm{bytes}", "bytes", "bytes moved for a layer"),
        "peak": Symbol(r"\mathrm{peak}", "peak", "arithmetic rate at peak, FLOP/s"),
        "beta": Symbol(r"\mathrm{bandwidth}", "bandwidth", "memory bandwidth, B/s"),
        "m": Symbol("m", "m", "running maximum of a row before this block"),
        "m_new": Symbol("m'", "m new", "running maximum after this block"),
        "s": Symbol("\\max_j S_j", "the block's largest score", "largest score of this block in the row"),
        "alpha": Symbol("\\alpha", "alpha", "rescale factor"),
        "l": Symbol("\\ell", "l", "running sum of exponentials before this block"),
        "l_new": Symbol("\\ell'", "l new", "running sum after this block"),
        "p": Symbol("\\textstyle\\sum_j P_j", "the block's sum of P", "sum of this block's exponentials"),
        "o": Symbol("O", "O", "unscaled output before this block"),
        "o_new": Symbol("O'", "O new", "unscaled output after this block"),
        "pv": Symbol(
            "\\textstyle\\sum_j P_j V_j", "the block's P times V", "this block's share of the output"
        ),
    }
)


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
        """ "left = right" in letters, not causal."""
        return self.latex_for(False)

    def latex_for(self, causal: bool) -> str:
        """ "left = right" in letters, with or without a causal mask."""
        return f"{self.left} = " + expressions.latex(self.tree(causal), lambda name: SYMBOLS[name].latex)

    def spoken(self, causal: bool = False) -> str:
        """The formula in words."""
        right = expressions.spoken(self.tree(causal), lambda name: SYMBOLS[name].spoken)
        return f"{self.name} equals {right}".rstrip(",")

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

    def substituted_spoken(self, problem: Problem, tile: Tile, gpu: GPU | None = None) -> str:
        """`substituted` in words."""
        gpu = gpu or DEFAULT_GPU
        values = self.inputs(problem, tile, gpu)
        right = expressions.spoken(
            self.tree(problem.causal), lambda name: expressions.number_spoken(values[name])
        )
        return f"{right.rstrip(',')} equals {self.formatted(self.value(problem, tile, gpu))}"

    def with_values(self, **values: float) -> str:
        """`substituted` for the formulas of one softmax step, which take the step's numbers by name."""
        return self._filled(False, values, self.function(**values))

    def formatted(self, value) -> str:
        """A value of this formula as text with its unit."""
        return _FORMATS[self.unit](value)

    def _filled(self, causal, values, result):
        right = expressions.latex(
            self.tree(causal), lambda name: expressions.number_latex(values[name]), r" \cdot "
        )
        shown = expressions.number_latex(result) if self.unit == "" else rf"\text{{{self.formatted(result)}}}"
        return f"{right} = {shown}"


_FORMATS = {
    "elements": units.elements,
    "bytes": units.bytes_,
    "FLOP": units.flops,
    "seconds": units.seconds,
    "FLOP/B": units.intensity,
    "": units.number,
}


def _inputs(problem: Problem, tile: Tile, gpu: GPU) -> dict:
    """All letters of the problem's formulas as numbers, but those that depend on a model's own totals."""
    N, d, M = problem.N, problem.d, tile.M(problem)
    Br1, Bc1 = traffic.algorithm_1_blocks(M, d)
    resident = traffic.resident_blocks(gpu, tile, d, problem.dtype).blocks
    visits, _ = masks.visited(N, tile.Br, tile.Bc, problem.causal)
    return {
        "N": N,
        "d": d,
        "H": problem.H,
        "B": problem.B,
        "b": problem.element_bytes,
        "M": M,
        "budget": tile.M_bytes,
        "Br": tile.Br,
        "Bc": tile.Bc,
        "Tr": ceil_div(N, tile.Br),
        "Tc": ceil_div(N, Bc1),
        "R": resident,
        "kv_rows": masks.kv_rows(N, tile.Br, tile.Bc, problem.causal),
        "wave_rows": masks.kv_rows(N, tile.Br * resident, tile.Bc, problem.causal),
        "q_rows": masks.q_rows(N, Br1, Bc1, problem.causal),
        "scores": masks.visited_elements(N, tile.Br, tile.Bc, problem.causal),
        "visits": visits,
        "W": sram.working_set(problem, tile).total,
        "peak": gpu.rate(problem.dtype).flops,
        "beta": gpu.bandwidth,
    }


def _traffic(model, name, expression, plain, **more):
    def function(problem, tile, gpu):
        return traffic.ledger(model, problem, tile, gpu).total

    left = rf"\mathrm{{{model}}}".replace("_", "\\ ")
    return Formula(
        f"traffic-{model.replace('_', '-')}",
        name,
        left,
        expression,
        plain,
        "elements",
        function,
        _inputs,
        **more,
    )


def _of_model(kind, model, name, left, expression, plain, unit, pick):
    """A formula of the roofline for one model: F and D are that model's FLOPs and bytes."""

    def inputs(problem, tile, gpu):
        found = roofline.time(model, problem, tile, gpu)
        return _inputs(problem, tile, gpu) | {"F": found.flops, "D": found.bytes}

    def function(problem, tile, gpu):
        return pick(roofline.time(model, problem, tile, gpu))

    slug = f"{kind}-{model.replace('_', '-')}"
    return Formula(slug, name, left, expression, plain, unit, function, inputs)


def _spill_bytes(problem, tile, gpu):
    extra = sram.spill_ledger(problem, tile).of("working set")
    return extra * problem.element_bytes


def _rescale(m, m_new):
    return float(online_softmax.rescale(np.float64(m), np.float64(m_new)))


def _finish(m=0.0, l=1.0, o=0.0):
    """(output, logsumexp) of one row of one column by the step trace's own rule; 0 and -inf for an empty
    row."""
    state = online_softmax.State(np.array([m]), np.array([l]), np.array([[o]]))
    output, logsumexp = online_softmax.finish(state)
    return float(output[0, 0]), float(logsumexp[0])


_TRAFFIC = (
    _traffic(
        "standard",
        "Standard attention",
        "4*N*d + 4*N**2",
        "Q, K and V are read, O is written; the scores S and their softmax P are written and read again.",
    ),
    _traffic(
        "bound",
        "Bound of Theorem 2",
        "4*N*d + 2*N**2*d**2/M",
        "Inputs and output once, and K and V again for every Q block that fills the whole on-chip memory.",
        causal_expression="4*N*d + N**2*d**2/M*(1 + min(1, M/(N*d)))",
        rounded_up=True,
    ),
    _traffic(
        "tiled",
        "Tiled, Q block outside",
        "2*N*d + 2*N*d*Tr",
        "Q and O once, K and V once for every Q block.",
        causal_expression="2*N*d + 2*d*kv_rows",
    ),
    _traffic(
        "algorithm_1",
        "Algorithm 1, K, V block outside",
        "2*N*d + 2*N*d*Tc + N*d*(Tc - 1) + 2*N*(2*Tc - 1)",
        "K and V once; for every K, V block Q is read, O and the statistics are read (but the first time) "
        "and written.",
        causal_expression="2*N*d + 2*d*q_rows + d*(q_rows - N) + 2*(2*q_rows - N)",
    ),
    _traffic(
        "compulsory",
        "Compulsory traffic",
        "4*N*d",
        "Q, K and V read once, O written once: nobody can do with less.",
    ),
    _traffic(
        "waves",
        "Waves of resident blocks",
        "2*N*d + 2*N*d*ceil(Tr/R)",
        "Q and O once, K and V once for every wave of Q blocks that the GPU holds at the same time.",
        causal_expression="2*N*d + 2*d*wave_rows",
    ),
)
_MEMORY = (
    Formula(
        "score-bytes",
        "Score matrices of a layer",
        r"\mathrm{score\ bytes}",
        "H*B*N**2*b",
        "One N by N matrix for every head of every sequence in the batch.",
        "bytes",
        lambda problem, tile, gpu: problem.score_bytes,
        _inputs,
    ),
    Formula(
        "working-set",
        "Working set of a tile",
        "W",
        "(2*Br*d + 2*Bc*d + Br*Bc + 2*Br)*b",
        "Q and O, K and V, the scores of the tile, and two statistics a row.",
        "bytes",
        lambda problem, tile, gpu: sram.working_set(problem, tile).total,
        _inputs,
    ),
    Formula(
        "spill",
        "Spill traffic of a head",
        r"\mathrm{spill}",
        "2*max(0, W - budget)*visits",
        "What does not fit is written out and read back on every tile visited.",
        "bytes",
        _spill_bytes,
        _inputs,
    ),
)
_WORK = (
    Formula(
        "flops-standard",
        "Arithmetic of a layer, standard",
        r"\mathrm{FLOPs}",
        "4*N**2*d*H*B",
        "Two matrix products a head, N by N by d, two operations a multiply-add; a mask saves none.",
        "FLOP",
        lambda problem, tile, gpu: roofline.flops(problem, "standard", tile),
        _inputs,
    ),
    Formula(
        "flops-flash",
        "Arithmetic of a layer, FlashAttention",
        r"\mathrm{FLOPs}",
        "4*N**2*d*H*B",
        "The same two products; under a causal mask only the tiles visited.",
        "FLOP",
        lambda problem, tile, gpu: roofline.flops(problem, "tiled", tile),
        _inputs,
        causal_expression="4*scores*d*H*B",
    ),
    Formula(
        "ridge",
        "Ridge of the roofline",
        r"I_{\mathrm{ridge}}",
        "peak/beta",
        "Operations a byte at which arithmetic and memory take the same time.",
        "FLOP/B",
        lambda problem, tile, gpu: gpu.ridge(problem.dtype),
        _inputs,
    ),
)
_TIMES = tuple(
    _of_model(
        "time",
        model,
        f"Time of a layer, {model.replace('_', ' ')}",
        "t",
        "max(F/peak, D/beta)",
        "The longer of the arithmetic at peak and the traffic at full bandwidth: a lower bound.",
        "seconds",
        lambda found: found.lower,
    )
    for model in traffic.MODELS
)
_INTENSITIES = tuple(
    _of_model(
        "intensity",
        model,
        f"Arithmetic intensity, {model.replace('_', ' ')}",
        "I",
        "F/D",
        "Operations for every byte moved.",
        "FLOP/B",
        lambda found: found.intensity,
    )
    for model in traffic.MODELS
)
_SOFTMAX = (
    Formula(
        "softmax-maximum",
        "The new maximum",
        "m'",
        "max(m, s)",
        "The larger of the row's maximum so far and this block's.",
        "",
        lambda m, s: max(m, s),
    ),
    Formula(
        "softmax-rescale",
        "The rescale factor",
        r"\alpha",
        "exp(m - m_new)",
        "Brings what was summed under the old maximum to the new one; it is never above 1.",
        "",
        _rescale,
    ),
    Formula(
        "softmax-sum",
        "The new sum",
        r"\ell'",
        "alpha*l + p",
        "The old sum rescaled, plus this block's exponentials.",
        "",
        lambda alpha, l, p: alpha * l + p,
    ),
    Formula(
        "softmax-output",
        "The new output",
        "O'",
        "alpha*o + pv",
        "The old output rescaled, plus this block's exponentials times V.",
        "",
        lambda alpha, o, pv: alpha * o + pv,
    ),
    Formula(
        "softmax-final",
        "The finished output",
        r"O_{\mathrm{final}}",
        "o_new/l_new",
        "One division at the very end.",
        "",
        lambda o_new, l_new: _finish(l=l_new, o=o_new)[0],
    ),
    Formula(
        "softmax-logsumexp",
        "The logsumexp of a row",
        "L",
        "m_new + log(l_new)",
        "The one number a row that the backward pass needs.",
        "",
        lambda m_new, l_new: _finish(m=m_new, l=l_new)[1],
    ),
)
FORMULAS: Mapping[str, Formula] = MappingProxyType(
    {formula.slug: formula for formula in (*_TRAFFIC, *_MEMORY, *_WORK, *_TIMES, *_INTENSITIES, *_SOFTMAX)}
)
