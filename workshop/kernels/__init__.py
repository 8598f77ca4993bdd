"""Attention on a GPU: the real kernels behind the pictures, from a baseline to a fast one.

    standard_attention   the scores and weights written to memory and read back (PyTorch)
    teaching_attention   FlashAttention as in the step-through, free Br and Bc (Triton)
    flash_attention      the fast kernel, tile chosen by shape (Gluon on Hopper, else Triton)

Each takes q (B, H, Nq, d) and k, v (B, Hkv, Nk, d) with any strides and returns (o, logsumexp): o (B, H, Nq, d)
in their dtype and logsumexp (B, H, Nq) in float32. H is a multiple of Hkv, 8 <= d <= 256, dtypes float16, bfloat16
and float32. Causal masks are aligned bottom-right; a row that may look at no key gives 0 and -inf. A wrong input is a
ValueError with what was expected and what came. All are differentiable in q, k and v.

Importing this package loads neither torch nor triton; calling a kernel does.
"""

from __future__ import annotations


def standard_attention(q, k, v, causal=False, scale=None, logsumexp=True):
    """See `workshop.kernels.standard.standard_attention`."""
    from .standard import standard_attention

    return standard_attention(q, k, v, causal=causal, scale=scale, logsumexp=logsumexp)


def teaching_attention(q, k, v, causal=False, scale=None, Br=64, Bc=64, warps=4, stages=2):
    """See `workshop.kernels.teaching.teaching_attention`."""
    from .teaching import teaching_attention

    return teaching_attention(q, k, v, causal=causal, scale=scale, Br=Br, Bc=Bc, warps=warps, stages=stages)


def flash_attention(q, k, v, causal=False, scale=None):
    """See `workshop.kernels.fast.flash_attention`."""
    from .fast import flash_attention

    return flash_attention(q, k, v, causal=causal, scale=scale)
