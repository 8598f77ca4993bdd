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


class Repeat:
    """A launch that was made, to be made again with other tensors of the same shapes, strides and alignment.

    Triton's own way to a compiled kernel asks each argument anew what it is; for short kernels that costs more than
    the kernel. No tensor is kept.
    """

    def __init__(self, spec: LaunchSpec, compiled, tensors: tuple[str, ...]):
        names = spec.function.arg_names
        self.compiled, self.grid = compiled, (*spec.grid, 1, 1)[:3]
        self.places = tuple(names.index(name) for name in tensors)
        self.arguments = [spec.arguments[name] for name in names]
        for place in self.places:
            self.arguments[place] = _rebased(self.arguments[place], None)

    def run(self, device, *tensors) -> None:
        """Launch on `device` with these tensors, in the order in which they were named."""
        arguments = self.arguments.copy()
        for place, tensor in zip(self.places, tensors, strict=True):
            arguments[place] = _rebased(arguments[place], tensor)
        with on(device):
            self.compiled[self.grid](*arguments)


def _rebased(argument, tensor):
    """A descriptor like `argument` on another tensor, or the tensor itself where a tensor was passed."""
    if not hasattr(argument, "block_shape"):
        return tensor
    # Not `dataclasses.replace`, nor even `copy`: some microseconds each, to check what cannot have changed.
    other = object.__new__(type(argument))
    other.__dict__ = argument.__dict__ | {"base": tensor}
    return other


class Placeholder:
    """Stands for a contiguous tensor where there is none: what specialisation asks of one, and no data.

    dtype is a short name ("bf16", "fp16", "fp32"); the address counts as a multiple of 16.
    """

    def __init__(self, shape: tuple[int, ...], dtype: str):
        self.shape, self.dtype = tuple(shape), dtype

    def stride(self, dimension: int | None = None):
        """Strides in elements, row-major."""
        strides = tuple(math.prod(self.shape[n + 1 :]) for n in range(len(self.shape)))
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
