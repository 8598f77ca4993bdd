"""A launch as data: the jitted function, its arguments by name, the grid and the options.

The compile report builds from the same record that a call launches, so that both are specialised alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LaunchSpec:
    """function: jitted. arguments: every parameter by name, tensors included. grid: programs. options: num_warps,
    num_stages and the like."""

    function: Callable
    arguments: dict
    grid: tuple[int, ...]
    options: dict = field(default_factory=dict)

    def run(self, device):
        """Launch on the device that the tensors are on, whichever is current; returns the compiled kernel."""
        with on(device):
            return self.function[self.grid](**self.arguments, **self.options)


def row_major(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides in elements of a contiguous tensor."""
    return tuple(math.prod(shape[n + 1 :]) for n in range(len(shape)))


class Placeholder:
    """Stands for a contiguous tensor where there is none: what specialisation asks of one, and no data.

    dtype is a short name ("bf16", "fp16", "fp32"); the address counts as a multiple of 16.
    """

    def __init__(self, shape: tuple[int, ...], dtype: str):
        self.shape, self.dtype = tuple(shape), dtype

    def stride(self, dimension: int | None = None):
        """Strides in elements, row-major."""
        strides = row_major(self.shape)
        return strides if dimension is None else strides[dimension]

    def data_ptr(self) -> int:
        """A multiple of 16, as an allocator gives."""
        return 0


def strides(**tensors) -> dict:
    """{name_batch, name_head, name_row, name_column: stride in elements} of (B, H, N, d) tensors."""
    axes = ("batch", "head", "row", "column")
    return {
        f"{name}_{axis}": stride
        for name, tensor in tensors.items()
        for axis, stride in zip(axes, tensor.stride(), strict=True)
    }


def on(device):
    """A context in which launches go to `device`; nothing to do on a CPU, where Triton interprets."""
    import torch

    if device.type != "cuda" or device.index == torch.cuda.current_device():
        return nullcontext()
    return torch.cuda.device(device)
