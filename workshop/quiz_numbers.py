"""Computed questions about bytes, FLOPs and times: the answer and the answers of plausible mistakes."""

from workshop import break_even, masks, roofline, sram, traffic, units
from workshop.hardware import GPU
from workshop.problem import Problem, Tile
from workshop.quiz_choices import Register

QUESTIONS = Register("numbers")
_SPARSE = 2  # data sheets print the rate with structured sparsity, twice the dense one


@QUESTIONS.number("score", "wall")
def _score(problem: Problem, tile: Tile, gpu: GPU):
    one = problem.N**2 * problem.element_bytes
    mistakes = {
        "one_head": one,
        "inputs": problem.N * problem.d * problem.heads * problem.element_bytes,
        "elements": problem.N**2 * problem.heads,
        "both": 2 * one * problem.heads,
    }
    return problem.score_bytes, mistakes, units.bytes_, {"one": units.bytes_(one)}


@QUESTIONS.number("ratio", "traffic")
def _ratio(problem: Problem, tile: Tile, gpu: GPU):
    total = {model: traffic.ledger(model, problem, tile, gpu).total for model in traffic.MODELS}
    mistakes = {
        "tiled": total["standard"] / total["tiled"],
        "compulsory": total["standard"] / total["compulsory"],
        "limit": float(break_even.gain_limit("bound", problem, tile, gpu)),
    }
    facts = {name: units.bytes_(total[name] * problem.element_bytes) for name in ("standard", "bound")}
    return total["standard"] / total["bound"], mistakes, units.ratio, facts


@QUESTIONS.number("passes", "tiles")
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


@QUESTIONS.number("visits", "sparsity")
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


@QUESTIONS.number("working", "tiles")
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


@QUESTIONS.number("intensity", "roofline")
def _intensity(problem: Problem, tile: Tile, gpu: GPU):
    standard = roofline.time("standard", problem, tile, gpu).intensity
    mistakes = {
        "half": standard / 2,
        "elements": standard * problem.element_bytes,
        "bound": roofline.time("bound", problem, tile, gpu).intensity,
        "ridge": gpu.ridge(problem.dtype),
    }
    return standard, mistakes, units.intensity, {"ridge": units.intensity(gpu.ridge(problem.dtype))}


@QUESTIONS.number("ridge", "roofline")
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


@QUESTIONS.decision("binding", "roofline", "memory", "compute", "launch", "mask")
def _binding(problem: Problem, tile: Tile, gpu: GPU):
    time = roofline.time("standard", problem, tile, gpu)
    facts = {
        "compute": units.seconds(time.compute_s),
        "memory": units.seconds(time.memory_s),
        "intensity": units.intensity(time.intensity),
        "ridge": units.intensity(gpu.ridge(problem.dtype)),
    }
    return time.binding, facts


@QUESTIONS.number("flops", "memory")
def _flops(problem: Problem, tile: Tile, gpu: GPU):
    work = roofline.flops(problem, "standard", tile)
    mistakes = {
        "one_product": work // 2,
        "one_head": work // problem.heads,
        "no_head_size": work // problem.d,
        "backward": roofline.flops(problem, "standard", tile, direction="backward"),
    }
    return work, mistakes, units.flops, {}


@QUESTIONS.number("kept", "memory")
def _kept(problem: Problem, tile: Tile, gpu: GPU):
    rows = problem.N * problem.heads
    mistakes = {
        "scores": problem.score_bytes,
        "two": 2 * rows * sram.FP32_BYTES,
        "one_head": problem.N * sram.FP32_BYTES,
        "output": rows * problem.d * problem.element_bytes,
    }
    return rows * sram.FP32_BYTES, mistakes, units.bytes_, {"scores": units.bytes_(problem.score_bytes)}


@QUESTIONS.number("cache", "serving")
def _cache(problem: Problem, tile: Tile, gpu: GPU):
    token = 2 * problem.H * problem.d * problem.element_bytes
    mistakes = {
        "keys_only": token // 2,
        "one_head": 2 * problem.d * problem.element_bytes,
        "scores": problem.H * problem.N * problem.element_bytes,
        "all": token * problem.N,
    }
    return token, mistakes, units.bytes_, {"all": units.bytes_(token * problem.N)}


@QUESTIONS.number("even", "traffic")
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
