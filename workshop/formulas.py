"""Every formula on the pages: traffic, memory, arithmetic, time and one step of the running softmax."""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from workshop import masks, online_softmax, roofline, sram, traffic
from workshop.formula import Formula
from workshop.hardware import GPU
from workshop.masks import ceil_div
from workshop.problem import Problem, Tile
from workshop.symbols import SYMBOLS, Symbol

__all__ = ["FORMULAS", "SYMBOLS", "Formula", "Symbol"]


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
