"""The launch that a compile report stands for, taken from the kernels' own launch records."""

from __future__ import annotations

from .compile_options import Options
from .launch import LaunchSpec

#: The tensors of that launch: contiguous, N a multiple of 16, one K,V head for every query head. d is the reader's.
SHAPE = {"B": 1, "H": 32, "N": 8192}


def launch_of(options: Options) -> LaunchSpec:
    """The launch record of the kernel that `options` names; imports Triton."""
    shape = (SHAPE["B"], SHAPE["H"], SHAPE["N"], options.d)
    return _SPECS[options.kernel](shape, options)


def _teaching(shape, o: Options) -> LaunchSpec:
    from .teaching import launch_spec

    return launch_spec(
        shape, Br=o.Br, Bc=o.Bc, dtype=o.dtype, causal=o.causal, warps=o.warps, stages=o.stages
    )


_SPECS = {"teaching": _teaching}
