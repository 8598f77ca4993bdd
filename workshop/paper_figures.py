"""Figures that the FlashAttention paper prints about training, as printed, with the version they are from.

Dao, Fu, Ermon, Rudra, Ré, FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness. The text
of June 2022 and the later one give different bytes and times for the same experiment, so both are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from workshop.hardware import GPU, GPUS
from workshop.problem import Problem, Tile

MIB = 1024 * 1024


@dataclass(frozen=True)
class Figure2:
    """Figure 2, left, of one version of the text: (standard, flash) GFLOP, bytes, seconds, forward and backward."""

    version: str
    flop: tuple[float, float]
    bytes: tuple[float, float]
    seconds: tuple[float, float]


FIGURE_2 = (
    Figure2("June 2022", (66.6e9, 75.2e9), (40.3e9, 4.4e9), (41.7e-3, 7.3e-3)),
    Figure2("later text", (66.6e9, 75.2e9), (35.3e9, 4.4e9), (35.1e-3, 11.7e-3)),
)


def figure_2_setting() -> tuple[Problem, Tile, GPU]:
    """The experiment of Figure 2, left: GPT-2 medium on an A100; the tile is FlashAttention-2's for d = 64."""
    problem = Problem(N=1024, d=64, H=16, B=64, dtype="fp16")
    return problem, Tile(Br=128, Bc=128, sram=164), GPUS["a100-sxm-40"]


# The memory table of the appendix: N -> (standard, flash) in the table's "MB"; A100, batch 16, 8 heads of 64.
MEMORY = {1024: (1184, 209), 2048: (4416, 418), 4096: (17024, 836)}


def memory_setting(N: int) -> Problem:
    """The layer of the memory table at sequence length N; fp16."""
    return Problem(N=N, d=64, H=8, B=16, dtype="fp16")


def memory_fit(N: int) -> tuple[int, int]:
    """Bytes that reproduce the table's two columns when its MB are read as MiB: our reading, not the paper's.

    Standard: 4 matrices of N x N and 10 of N x d a head. Flash: 13 of N x d and 2 fp32 statistics a row.
    """
    problem = memory_setting(N)
    strip = problem.heads * N * problem.d * problem.element_bytes
    return 4 * problem.score_bytes + 10 * strip, 13 * strip + 2 * problem.heads * N * 4
