"""Tensors as the Hopper copy engine (TMA) sees them: which qualify, and their descriptors."""

from __future__ import annotations

import functools

#: The engine wants addresses and strides in units of 16 bytes.
ALIGNMENT = 16


def refusal(name: str, x) -> str | None:
    """Why the (B, heads, N, d) tensor x has no descriptor, as a sentence; None where it has one."""
    *outer, last = x.stride()
    if last != 1 and x.shape[-1] != 1:
        return f"{name}: neighbours along d are {last} elements apart, a descriptor needs 1"
    if x.data_ptr() % ALIGNMENT:
        return f"{name}: its address is not a multiple of {ALIGNMENT} bytes"
    for size, stride in zip(x.shape, outer, strict=False):
        if size > 1 and (stride <= 0 or stride * x.element_size() % ALIGNMENT):
            return f"{name}: a stride of {stride} elements is not a positive multiple of {ALIGNMENT} bytes"
    return None


def engine(device) -> bool:
    """Whether the device has the copy engine: a CUDA GPU of compute capability 9 or more."""
    return device.type == "cuda" and capability(device)[0] >= 9


def capability(device) -> tuple[int, int]:
    """Compute capability of a CUDA device."""
    import torch

    index = device.index if device.index is not None else torch.cuda.current_device()
    return _capability(index)


@functools.cache
def _capability(index: int) -> tuple[int, int]:
    import torch

    return torch.cuda.get_device_capability(index)


def aligned_strides(x) -> list[int]:
    """x's strides, with those of dimensions of size 1, which nobody walks along, made valid."""
    unit = ALIGNMENT // x.element_size()
    *outer, _ = x.stride()
    return [
        s if n > 1 else -(-max(s, x.shape[-1]) // unit) * unit for n, s in zip(x.shape, outer, strict=False)
    ] + [1]


def descriptor(x, rows: int, D: int):
    """A Triton descriptor of tiles of `rows` rows and D columns (d padded) of one head of x."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(x, list(x.shape), aligned_strides(x), [1, 1, rows, D])


def gluon_descriptor(x, rows: int, D: int):
    """As `descriptor`, with the shared-memory layout that Gluon wants to know."""
    from triton.experimental.gluon import language as gl
    from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

    swizzle = min(128, D * x.element_size())
    layout = gl.NVMMASharedLayout(swizzle, 8 * x.element_size(), rank=4)
    return TensorDescriptor(x, list(x.shape), aligned_strides(x), [1, 1, rows, D], layout)
