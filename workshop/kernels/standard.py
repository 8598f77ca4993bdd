"""Standard attention: scores and weights go through memory. The baseline that FlashAttention removes.

Adds: nothing; it is the definition, in three PyTorch calls. Traffic of a head, in elements (workshop.traffic, model
"standard"): S = scale Q K^T reads 2Nd and writes N^2, the scale riding along in the matrix product; P = softmax(S)
reads and writes N^2; O = P V reads N^2 + Nd and writes Nd. A causal mask is one more pass, N^2 read and written, and
skips no work.

Reaches 120 TFLOP/s forward at d = 128, N = 4096 and 30 with a causal mask, counting only the products that the mask
lets through (H200, bfloat16, 32 heads, torch 2.11.0, 2026-11-29; recording h200).
"""

from __future__ import annotations

from .checks import check_inputs


def standard_attention(q, k, v, causal=False, scale=None, logsumexp=True):
    """softmax(scale Q K^T) V with the score matrix in memory; differentiable by torch itself.

    Args:
        q: (B, H, Nq, d) tensor, float16, bfloat16 or float32, any device.
        k, v: (B, Hkv, Nk, d), H a multiple of Hkv.
        causal: query r sees key c when c - Nk <= r - Nq.
        scale: factor of the scores, default 1/sqrt(d).
        logsumexp: False leaves out the logsumexp, which costs passes over S that attention itself does not need.
    Returns:
        o (B, H, Nq, d) in q's dtype; logsumexp (B, H, Nq) float32, or None.
    Raises:
        ValueError: inputs outside the above.
    """
    import torch

    shape, scale = check_inputs(q, k, v, scale)
    B, H, Nq, Nk, d = shape.B, shape.H, shape.Nq, shape.Nk, shape.d
    if shape.group > 1:
        k, v = (x.repeat_interleave(shape.group, dim=1) for x in (k, v))
    q, k, v = (x.reshape(B * H, -1, d) for x in (q, k, v))
    # read 2Nd, write N^2; beta = 0 ignores the first argument
    S = torch.baddbmm(q.new_empty(1, 1, 1), q, k.mT, beta=0, alpha=scale)
    blind = 0
    if causal:
        blind = min(max(Nq - Nk, 0), Nq)
        hidden = torch.ones(Nq, Nk, dtype=torch.bool, device=q.device).triu(Nk - Nq + 1)
        # A row without any key would be softmax of nothing; its weights are zeroed below instead.
        hidden[:blind] = False
        S = S.masked_fill(hidden, -torch.inf)  # read N^2, write N^2
    P = torch.softmax(S, dim=-1)  # read N^2, write N^2
    if blind:
        P = P.masked_fill((torch.arange(Nq, device=q.device) < blind)[:, None], 0.0)
    o = torch.bmm(P, v)  # read N^2 + Nd, write Nd
    if not logsumexp:
        return o.view(B, H, Nq, d), None
    with torch.no_grad():
        lse = torch.logsumexp(S.float(), dim=-1)
        lse[:, :blind] = -torch.inf
    return o.view(B, H, Nq, d), lse.view(B, H, Nq)
