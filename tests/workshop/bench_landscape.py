"""How long the 64 x 64 landscape takes: `python -m tests.workshop.bench_landscape`. A figure to read, not a
test."""

import statistics
import time

import numpy as np

from workshop.problem import Problem
from workshop.sram import landscape

REPEATS = 51


def main():
    """Prints the median and the slowest of REPEATS calls, after one to warm up, with and without a mask."""
    blocks = np.arange(16, 1025, 16)
    for causal in (False, True):
        problem = Problem(causal=causal)
        landscape(problem, 228, blocks, blocks)
        spans = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            landscape(problem, 228, blocks, blocks)
            spans.append(1e3 * (time.perf_counter() - start))
        print(
            f"{len(blocks)} x {len(blocks)} tiles, {'causal' if causal else 'not causal'}: "
            f"median {statistics.median(spans):.2f} ms, slowest {max(spans):.2f} ms of {REPEATS}"
        )


if __name__ == "__main__":
    main()
