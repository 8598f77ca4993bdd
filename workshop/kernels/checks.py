"""What an attention kernel here accepts, said once, with errors that name what was expected and what came."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

from workshop.kernel_memory import padded_head
from workshop.problem import LIMITS

from .compile_options import SIDES, STAGES, WARPS

#: torch's names of `compile_options.DTYPES`.
DTYPES = ("float16", "bfloat16", "float32")


@dataclass(frozen=True)
class Shape:
    """Sizes of one call: batch B, query heads H, key/value heads Hkv, rows Nq and Nk, head size d."""

    B: int
    H: int
    Hkv: int
    Nq: int
    Nk: int
    d: int

    @property
    def group(self) -> int:
        """Query heads that share one K,V head."""
        return self.H // self.Hkv

    @property
    def D(self) -> int:
        """d padded to the power of two that a tile needs, at least 16."""
        return padded_head(self.d)


def interpreting() -> bool:
    """Whether Triton runs kernels in Python on the CPU (TRITON_INTERPRET=1)."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def expect(condition: bool, name: str, expected, got) -> None:
    """Raise ValueError "name: expected ..., got ..." unless the condition holds."""
    if not condition:
        raise ValueError(f"{name}: expected {expected}, got {got}")


def check_inputs(q, k, v, scale) -> tuple[Shape, float]:
    """The sizes of a call and its scale (1/sqrt(d) when None).

    q (B, H, Nq, d), k and v (B, Hkv, Nk, d), any strides. Raises ValueError for anything the kernels do not take.
    """
    for name, x in (("q", q), ("k", k), ("v", v)):
        expect(x.ndim == 4, name, "4 dimensions (batch, heads, rows, d)", f"shape {tuple(x.shape)}")
        expect(min(x.shape) >= 1, name, "at least 1 in each dimension", f"shape {tuple(x.shape)}")
        dtype = str(x.dtype).removeprefix("torch.")
        expect(dtype in DTYPES, f"{name} dtype", "one of " + ", ".join(DTYPES), dtype)
        expect(x.dtype == q.dtype, f"{name} dtype", f"{q.dtype} like q", x.dtype)
        expect(x.device == q.device, f"{name} device", f"{q.device} like q", x.device)
    (B, H, Nq, d), (Bk, Hkv, Nk, dk) = q.shape, k.shape
    expect(v.shape == k.shape, "v", f"shape {tuple(k.shape)} like k", tuple(v.shape))
    expect(Bk == B, "k", f"batch {B} like q", Bk)
    expect(dk == d, "k", f"d = {d} like q", dk)
    expect(H % Hkv == 0, "heads", f"those of q a multiple of those of k ({Hkv})", H)
    low, high = LIMITS["d"]
    expect(low <= d <= high, "d", f"{low} to {high}", d)
    scale = d**-0.5 if scale is None else float(scale)
    expect(math.isfinite(scale), "scale", "a finite number", scale)
    return Shape(B, H, Hkv, Nq, Nk, d), scale


def check_device(q) -> None:
    """Raise ValueError unless a Triton kernel can run where q is: a CUDA GPU, or the CPU when interpreting.

    The interpreter computes on the raw bits of bfloat16 as if they were whole numbers, so it is refused there.
    """
    if not interpreting():
        return expect(
            q.device.type == "cuda", "device", "cuda (or the CPU with TRITON_INTERPRET=1)", q.device.type
        )
    expect(q.device.type == "cpu", "device", "cpu where Triton interprets", q.device.type)
    dtype = str(q.dtype).removeprefix("torch.")
    expect(dtype != "bfloat16", "dtype", "float16 or float32 where Triton interprets", dtype)


def check_tile(Br: int, Bc: int, warps: int, stages: int) -> None:
    """Raise ValueError for a tile or launch option that Triton cannot build."""
    for name, side in (("Br", Br), ("Bc", Bc)):
        expect(side in SIDES, name, "a power of two from 16 to 1024", side)
    expect(warps in WARPS, "warps", "one of " + ", ".join(map(str, WARPS)), warps)
    low, high = STAGES
    expect(stages in range(low, high + 1), "stages", f"a whole number from {low} to {high}", stages)


def positive_scale(q, scale: float):
    """(q, scale) with the same products scale * q and scale > 0.

    A kernel takes the maximum of a row before scaling it, which is only right for a positive scale.
    """
    if scale > 0:
        return q, scale
    return (q * 0.0, 1.0) if scale == 0 else (-q, -scale)
