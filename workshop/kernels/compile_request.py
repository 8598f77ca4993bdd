"""From what a reader chose (problem, tile, GPU) to what is compiled, and what to say where the two differ."""

from __future__ import annotations

from dataclasses import dataclass

from workshop.hardware import GPU
from workshop.problem import Problem, Tile

from .compile_options import DTYPES, Options

#: What a typed-in GPU is compiled for: it has limits but no architecture.
STANDARD_TARGET = "sm_90"


@dataclass(frozen=True)
class Request:
    """options: what to compile, or None where there is nothing. gpu: whose limits to judge by. notes: sentences
    for the reader, in what the build differs from the choice, or why there is none."""

    options: Options | None
    gpu: GPU
    notes: tuple[str, ...] = ()


def request(problem: Problem, tile: Tile, gpu: GPU, stages: int = 2, warps: int | None = None) -> Request:
    """The build for a reader's choice.

    A tile is rounded up to sides that are powers of two from 16; a dtype that the kernel lacks, or a GPU that the
    compiler has no target for, gives no options and a sentence.
    """
    notes = []
    if gpu.target is None and gpu.slug != "custom":
        return Request(None, gpu, (f"The report compiles for NVIDIA GPUs only, and {gpu.name} is none.",))
    if problem.dtype not in DTYPES:
        known = ", ".join(DTYPES)
        return Request(
            None, gpu, (f"The kernel has no {problem.dtype} version ({known}), so nothing is compiled.",)
        )
    target = gpu.target or STANDARD_TARGET
    options = Options.nearest(
        tile.Br,
        tile.Bc,
        d=problem.d,
        dtype=problem.dtype,
        causal=problem.causal,
        target=target,
        stages=stages,
        warps=warps,
    )
    if (options.Br, options.Bc) != (tile.Br, tile.Bc):
        notes.append(
            f"Triton's blocks have sides that are powers of two from 16: {tile.Br} x {tile.Bc} is compiled as "
            f"{options.Br} x {options.Bc}."
        )
    if gpu.target is None:
        notes.append(f"A typed-in GPU has limits but no architecture: compiled for {target}.")
    return Request(options, gpu, tuple(notes))
