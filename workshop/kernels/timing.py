"""Timing: medians with a spread, the cache cold, the compiler's time left out.

On a GPU each repetition writes a buffer larger than the L2 cache before the clock starts, so that inputs come
from memory; the clock is a pair of device events around the call. Python takes longer to launch a short kernel
than the kernel takes to run, so the flush is repeated until it outlasts the launch: by the time the device
reaches the first event, the whole call waits in its queue, and the events bracket device work only.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

PERCENTILES = (20, 50, 80)
LEAST, MOST = 5, 100
#: The flush buffer, as a multiple of the L2 cache.
FLUSH_CACHES = 4
#: How much longer than the launch the flush lasts.
LEAD = 2.0
MOST_FLUSHES = 24


@dataclass(frozen=True)
class Spread:
    """The 20th, 50th and 80th percentile of `count` readings."""

    p20: float
    p50: float
    p80: float
    count: int

    @classmethod
    def of(cls, readings) -> Spread:
        """Percentiles of a non-empty list of readings.

        Raises:
            ValueError: no readings.
        """
        readings = list(readings)
        if not readings:
            raise ValueError("expected at least one reading, got none")
        return cls(*(float(p) for p in np.percentile(readings, PERCENTILES)), len(readings))


def repetitions(seconds_each: float, budget: float) -> int:
    """How often to repeat a call that takes `seconds_each` so that `budget` seconds are about used."""
    return max(LEAST, min(MOST, math.floor(budget / max(seconds_each, 1e-6))))


class Flush:
    """Overwrites the L2 cache of a CUDA device."""

    def __init__(self, device):
        import torch

        l2 = torch.cuda.get_device_properties(device).L2_cache_size
        self.buffer = torch.empty(FLUSH_CACHES * l2, dtype=torch.uint8, device=device)
        self.seconds = self._measure(torch)

    def _measure(self, torch) -> float:
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        self()
        start.record()
        for _ in range(5):
            self()
        end.record()
        end.synchronize()
        return start.elapsed_time(end) * 1e-3 / 5

    def __call__(self, times: int = 1) -> None:
        for _ in range(times):
            self.buffer.zero_()


def gpu_spread(
    call: Callable[[], object],
    flush: Flush,
    budget: float = 0.12,
    between: Callable[[int, int], None] | None = None,
) -> Spread:
    """Seconds of device time that `call` takes.

    Args:
        call: enqueues the work on the current stream; it has run at least once, so nothing is compiled here.
        flush: the cache flush of the device.
        budget: seconds of device time to spend, flushes not counted.
        between: called with (done, total) between repetitions; it may raise to stop.
    """
    import torch

    # One warm call tells how long the work takes, one enqueue how long Python takes.
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    before = time.perf_counter()
    call()
    launch = time.perf_counter() - before
    end.record()
    end.synchronize()
    total = repetitions(start.elapsed_time(end) * 1e-3, budget)
    flushes = max(1, min(MOST_FLUSHES, math.ceil(LEAD * launch / flush.seconds)))
    pairs = []
    for done in range(total):
        if between is not None:
            between(done, total)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        flush(flushes)
        start.record()
        call()
        end.record()
        # Wait each time: a deep queue would let memory of several calls pile up, and could not be cancelled.
        end.synchronize()
        pairs.append(start.elapsed_time(end) * 1e-3)
    return Spread.of(pairs)


def cpu_spread(
    call: Callable[[], object], budget: float = 0.5, between: Callable[[int, int], None] | None = None
) -> Spread:
    """Seconds of wall-clock time that `call` takes on the CPU, after one call that is not counted. Caches are
    as the previous call left them."""
    before = time.perf_counter()
    call()
    total = repetitions(time.perf_counter() - before, budget)
    readings = []
    for done in range(total):
        if between is not None:
            between(done, total)
        before = time.perf_counter()
        call()
        readings.append(time.perf_counter() - before)
    return Spread.of(readings)
