"""Truth for attention kernels, from torch in float64, and the rule that judges a kernel by it.

The rule is the maintainers' of FlashAttention: against float64, a kernel's largest error is at most twice that of
plain attention in the same dtype. A result rounded to the dtype may in any case be off by one unit in the last place
of its largest entry, and by `FLOOR` where exact zeros are wanted. Tiny problems come in large batches, or the plain
error would be a matter of luck.
"""

import contextlib
import math
from dataclasses import dataclass

import torch

#: Absolute error that is never held against a kernel whose inputs are standard normal.
FLOOR = {torch.float16: 1e-5, torch.bfloat16: 1e-5, torch.float32: 4e-6}


@dataclass(frozen=True)
class Case:
    """B, H, Hkv heads, Nq, Nk rows, d, causal; `packed` takes Q, K, V as views of one (B, N, 3, H, d) buffer."""

    B: int
    H: int
    Hkv: int
    Nq: int
    Nk: int
    d: int
    causal: bool = False
    packed: bool = False

    def __str__(self):
        name = f"B{self.B}-H{self.H}.{self.Hkv}-N{self.Nq}.{self.Nk}-d{self.d}"
        return name + ("-causal" if self.causal else "") + ("-packed" if self.packed else "")


#: N of 1, 15, 17, 127, 1000, 4095; d of 8, 40, 63, 80, 96, 128, 192, 256; otherwise distinct primes.
CASES = [
    Case(31, 2, 2, 1, 1, 64),
    Case(23, 3, 3, 15, 15, 8),
    Case(11, 5, 5, 17, 17, 40, causal=True),
    Case(2, 3, 1, 127, 127, 63, causal=True),
    Case(1, 2, 2, 131, 257, 63),
    Case(1, 4, 2, 1000, 1000, 80, causal=True),
    Case(1, 2, 1, 1000, 1000, 96),
    Case(1, 2, 2, 4095, 4095, 128, causal=True),
    Case(1, 2, 2, 4095, 4095, 64),
    Case(1, 6, 2, 521, 313, 192, causal=True),
    Case(1, 2, 2, 127, 1000, 256, causal=True),
    Case(29, 4, 2, 5, 2, 64, causal=True),
    Case(13, 3, 3, 17, 5, 128, causal=True),
    Case(1, 1, 1, 700, 100, 64, causal=True),
    Case(2, 3, 3, 211, 211, 64, causal=True, packed=True),
    Case(2, 3, 3, 211, 211, 80, packed=True),
    Case(1, 7, 7, 1009, 1009, 128, packed=True),
]


def inputs(case: Case, dtype, device, seed=0):
    """Fresh normal Q, K, V and dO for a case, Q, K and V without gradient flags."""
    generator = torch.Generator("cpu").manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float32).to(dtype).to(device)

    do = draw(case.B, case.H, case.Nq, case.d)
    if case.packed:
        buffer = draw(case.B, case.Nq, 3, case.H, case.d)
        q, k, v = (buffer[:, :, n].transpose(1, 2) for n in range(3))
        return q, k, v, do
    q = draw(case.B, case.H, case.Nq, case.d)
    k, v = (draw(case.B, case.Hkv, case.Nk, case.d) for _ in range(2))
    return q, k, v, do


def exact(q, k, v, causal, scale=None):
    """(o, logsumexp) in float64; a row that sees no key gives 0 and -inf, and no gradient."""
    q, k, v = (x.double() for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
    Nq, Nk = q.shape[2], k.shape[2]
    scores = q @ k.mT * (1 / math.sqrt(q.shape[3]) if scale is None else scale)
    seen = torch.ones(Nq, Nk, dtype=torch.bool, device=q.device)
    if causal:
        rows, keys = torch.arange(Nq, device=q.device), torch.arange(Nk, device=q.device)
        seen = keys[None, :] <= rows[:, None] + (Nk - Nq)
    blind = ~seen.any(dim=1)
    scores = scores.masked_fill(~seen, -math.inf)
    lse = torch.logsumexp(scores, dim=-1)
    weights = torch.softmax(scores.masked_fill(blind[:, None], 0.0), dim=-1)
    return weights.masked_fill(blind[:, None], 0.0) @ v, lse


def with_gradients(function, q, k, v, do):
    """(o, dQ, dK, dV) of a function of (q, k, v) that returns (o, ...)."""
    leaves = [x.detach().requires_grad_() for x in (q, k, v)]
    o = function(*leaves)[0]
    return (o.detach(), *torch.autograd.grad(o, leaves, do))


def worst(got, want) -> float:
    """The largest absolute difference; NaN and infinity never pass."""
    assert got.shape == want.shape
    difference = (got.double() - want).abs().max().item()
    assert math.isfinite(difference), (
        "expected finite values, got NaN or infinity (or an element never written)"
    )
    return difference


def judge(name, got, plain, want):
    """Assert the rule for one tensor: error of `got` against that of `plain`, `want` being float64."""
    unit = torch.finfo(got.dtype).eps * want.abs().max().item()
    allowed = 2 * worst(plain, want) + unit + FLOOR[got.dtype]
    error = worst(got, want)
    assert error <= allowed, f"{name}: expected an error of at most {allowed:.3g}, got {error:.3g}"


def judge_logsumexp(got, want):
    """Float32 logsumexp against float64: same rows at -inf, the others within some units in the last place."""
    assert torch.equal(torch.isneginf(got), torch.isneginf(want))
    finite = torch.isfinite(want)
    torch.testing.assert_close(got[finite].double(), want[finite], rtol=2e-6, atol=4e-6)


@contextlib.contextmanager
def poisoned():
    """Every tensor that torch allocates without values is filled with NaN, so an element never written is seen."""
    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before[0], warn_only=before[1])
