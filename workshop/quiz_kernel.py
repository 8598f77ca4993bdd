"""Computed questions about kernels: what they hold, whether they start, how they run."""

import numpy as np

from workshop import masks, online_softmax, roofline, schedule, sram, units
from workshop.generations import GENERATIONS, UNITS
from workshop.hardware import GPU
from workshop.kernel_memory import padded_head
from workshop.problem import Problem, Tile
from workshop.quiz_choices import Register
from workshop.residency import TENSOR_COLUMNS, resident_blocks

QUESTIONS = Register("kernel")
_STAGES = 2


@QUESTIONS.number("shared", "tiles")
def _shared(problem: Problem, tile: Tile, gpu: GPU):
    view = sram.kernel_view(problem, tile, _STAGES, gpu)
    mistakes = {
        "one_stage": sram.kernel_view(problem, tile, 1, gpu).shared,
        "registers": view.shared + view.registers,
        "no_queries": view.shared - view.q,
        "everything": sram.working_set(problem, tile).total,
    }
    head = padded_head(problem.d)
    facts = {
        "registers": units.binary(view.registers),
        "q": units.binary(view.q),
        "kv": units.binary(view.k + view.v),
        "p": units.binary(view.p),
        "passes": view.p > 0,
        "copied": view.buffers < _STAGES,
        "pads": head != problem.d,
        "padded": units.count(head),
    }
    return view.shared, mistakes, units.binary, facts


@QUESTIONS.decision("launch", "machine", "starts", "refuses", "slower", "halves")
def _launch(problem: Problem, tile: Tile, gpu: GPU):
    found = resident_blocks(gpu, tile, problem.d, problem.dtype, _STAGES)
    facts = {
        "need": units.binary(found.shared_bytes),
        "limit": units.binary(gpu.smem_block),
        "columns": units.count(found.tensor_columns),
        "most_columns": units.count(TENSOR_COLUMNS),
        "by_columns": not found.fits and found.shared_bytes <= gpu.smem_block,
    }
    return ("starts" if found.fits else "refuses"), facts


@QUESTIONS.number("resident", "machine")
def _resident(problem: Problem, tile: Tile, gpu: GPU):
    found = resident_blocks(gpu, tile, problem.d, problem.dtype)
    mistakes = {
        "one_each": gpu.sms,
        "one_unit": found.per_sm,
        "blocks": masks.ceil_div(problem.N, tile.Br) * problem.heads,
        "double": 2 * found.blocks,
    }
    facts = {
        "each": units.count(found.per_sm),
        "sms": units.count(gpu.sms),
        "limiter": found.limiter,
        "fits": found.fits,
    }
    return found.blocks, mistakes, units.count, facts


@QUESTIONS.number("waves", "machine")
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


@QUESTIONS.number("alpha", "softmax")
def _alpha(problem: Problem, tile: Tile, gpu: GPU):
    old, new = 1.0, 5.0
    value = float(online_softmax.rescale(np.float64(old), np.float64(new)))
    mistakes = {"inverse": 1 / value, "maximum": float(np.exp(-new)), "none": 1.0}
    return value, mistakes, units.number, {"old": units.number(old), "new": units.number(new)}


@QUESTIONS.number("gradient", "memory")
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


@QUESTIONS.number("exponentials", "review")
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
