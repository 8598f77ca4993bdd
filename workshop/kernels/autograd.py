"""Attention as one node of torch's graph: any forward kernel that gives O and the logsumexp, one backward pass."""

from __future__ import annotations

import functools

from .checks import Shape, positive_scale


def differentiable(q, k, v) -> bool:
    """Whether torch would ask for gradients of what comes of these tensors."""
    if not (q.requires_grad or k.requires_grad or v.requires_grad):
        return False
    import torch

    return torch.is_grad_enabled()


def attend(forward, shape: Shape, q, k, v, causal: bool, scale: float):
    """(o, logsumexp) of `forward(q, k, v, scale)`, differentiable in q, k and v.

    The logsumexp has no gradient: it is marked so, and asking for one is torch's own error. scale may be negative or
    zero; `forward` and the backward pass get a positive one.
    """
    q, scale = positive_scale(q, scale)
    if not differentiable(q, k, v):
        return forward(q, k, v, scale)
    return _function().apply(forward, shape, q, k, v, bool(causal), scale)


@functools.cache
def _function():
    """The autograd function, made on first use because its base class is torch's."""
    import torch
    from torch.autograd.function import once_differentiable

    class Attention(torch.autograd.Function):
        """Keeps Q, K, V, O and one logsumexp a row."""

        @staticmethod
        def forward(ctx, forward, shape, q, k, v, causal, scale):
            o, lse = forward(q, k, v, scale)
            ctx.save_for_backward(q, k, v, o, lse)
            ctx.settings = shape, causal, scale
            ctx.mark_non_differentiable(lse)
            return o, lse

        @staticmethod
        @once_differentiable
        def backward(ctx, do, _):
            from .backward import gradients

            shape, causal, scale = ctx.settings
            q, k, v, o, lse = ctx.saved_tensors
            dq, dk, dv = gradients(shape, q, k, v, o, lse, do, causal, scale)
            return None, None, dq, dk, dv, None, None

    return Attention
