"""Error against float64: what a kernel computed beside what real arithmetic would give, up to 2^-53.

The reference is computed on the tensors' own device, on the first and last head; for long sequences on a
sample of query rows, each of which needs all of K and V but no other row. Inputs are the rounded
low-precision values themselves, so the error is the kernel's own.
"""

from __future__ import annotations

import math

from .plan import Case
from .providers import make_call, tensors

SEEDS = (0, 1, 2)
#: Query rows compared on each head; gradients need every row, so their N is bounded instead.
SAMPLE_ROWS = 1024
GRADIENT_MOST_N = 4096


def reference_rows(q, k, v, rows, causal: bool):
    """Rows of softmax(Q K^T / sqrt(d)) V in float64 for one head.

    Args:
        q, k, v: (N, d) tensors of one head; any dtype.
        rows: (R,) int64 row numbers.
        causal: mask keys above the diagonal.
    Returns:
        (R, d) float64 tensor.
    """
    import torch

    scores = (q[rows].double() @ k.double().T) / math.sqrt(q.shape[-1])
    if causal:
        keys = torch.arange(k.shape[0], device=k.device)
        scores = scores.masked_fill(keys[None, :] > rows[:, None], -math.inf)
    return torch.softmax(scores, dim=-1) @ v.double()


def sample(N: int, device):
    """Row numbers to compare: all of them, or an even spread of `SAMPLE_ROWS` with the first and last."""
    import torch

    if N <= SAMPLE_ROWS:
        return torch.arange(N, device=device)
    return torch.linspace(0, N - 1, SAMPLE_ROWS, device=device, dtype=torch.float64).round().long()


def largest_error(case: Case, device, seed: int) -> float:
    """The largest absolute difference from float64 over the sampled rows of O, or, with a backward pass, over
    all of dQ, dK and dV of the sampled heads; inputs and dO are standard normal."""
    q, k, v, grad = tensors(case, device, seed)
    result = make_call(case, q, k, v, grad)()
    group = case.heads // case.kv_heads
    heads = sorted({0, case.heads - 1})
    if case.direction == "forward":
        rows = sample(case.N, device)
        return max(
            _distance(
                result[-1, h][rows],
                reference_rows(q[-1, h], k[-1, h // group], v[-1, h // group], rows, case.causal),
            )
            for h in heads
        )
    if case.N > GRADIENT_MOST_N or group != 1:
        raise ValueError(
            f"gradient error: expected N up to {GRADIENT_MOST_N} and heads = kv_heads, got {case.label()}"
        )
    return max(_gradient_error(case, h, (q, k, v), grad, result[1:]) for h in heads)


def _gradient_error(case, head, inputs, grad, gradients) -> float:
    import torch

    exact = [x[-1, head].detach().double().requires_grad_() for x in inputs]
    rows = torch.arange(case.N, device=grad.device)
    output = reference_rows(*exact, rows, case.causal)
    wanted = torch.autograd.grad(output, exact, grad[-1, head].double())
    return max(_distance(got[-1, head], want) for got, want in zip(gradients, wanted, strict=True))


def _distance(got, want) -> float:
    worst = (got.double() - want).abs().max().item()
    if not math.isfinite(worst):
        raise ArithmeticError("expected finite values, got inf or NaN in the kernel's output")
    return worst
