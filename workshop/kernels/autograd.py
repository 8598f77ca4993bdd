"""Attention as one node of torch's graph: any forward kernel that gives O and the logsumexp, and its backward."""

from __future__ import annotations

from .checks import positive_scale


def attend(forward, q, k, v, causal, scale):
    """(o, logsumexp) of `forward(q, k, v, scale)`.

    The logsumexp is marked as not differentiable.
    """
    q, scale = positive_scale(q, scale)
    return forward(q, k, v, scale)
