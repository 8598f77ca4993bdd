"""The kernels a recording compares, behind one call: `make_call(case, ...)` gives a function without
arguments.

Providers are named as in a recording: ours (`standard`, `teaching`, `fast`) and the backends of torch's
`scaled_dot_product_attention` (`sdpa-flash`, `sdpa-cudnn`, `sdpa-efficient`), each forced alone, so that a
backend that cannot take a shape raises instead of silently handing over to another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .plan import Case

SDPA_BACKENDS = {
    "sdpa-flash": "FLASH_ATTENTION",
    "sdpa-cudnn": "CUDNN_ATTENTION",
    "sdpa-efficient": "EFFICIENT_ATTENTION",
}


def torch_dtype(name: str):
    """The torch dtype of "bf16", "fp16" or "fp32"."""
    import torch

    return {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[name]


def tensors(case: Case, device, seed: int = 0):
    """Fresh normal random Q (B, H, N, d), K, V (B, Hkv, N, d) and, where there is a backward pass, dO like Q;
    else None. The same case and seed give the same values to every provider."""
    import torch

    generator = torch.Generator(device=device).manual_seed(seed)
    dtype, train = torch_dtype(case.dtype), case.direction != "forward"

    def draw(heads):
        shape = (case.batch, heads, case.N, case.d)
        return torch.randn(shape, generator=generator, device=device, dtype=dtype)

    q, k, v = draw(case.heads), draw(case.kv_heads), draw(case.kv_heads)
    grad = draw(case.heads) if train else None
    for x in (q, k, v):
        x.requires_grad_(train)
    return q, k, v, grad


def attention(case: Case) -> Callable:
    """The provider's function of (q, k, v), returning O (B, H, N, d)."""
    if case.provider in SDPA_BACKENDS:
        return _sdpa(case)
    from workshop import kernels

    if case.provider == "standard":
        # The logsumexp would cost standard attention passes over S that attention itself does not need.
        return lambda q, k, v: kernels.standard_attention(q, k, v, causal=case.causal, logsumexp=False)[0]
    if case.provider == "fast":
        return lambda q, k, v: kernels.flash_attention(q, k, v, causal=case.causal)[0]
    tile = {name: getattr(case, name) for name in ("Br", "Bc", "warps", "stages")}
    return lambda q, k, v: kernels.teaching_attention(q, k, v, causal=case.causal, **tile)[0]


def _sdpa(case: Case) -> Callable:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    backend = getattr(SDPBackend, SDPA_BACKENDS[case.provider])
    grouped = {"enable_gqa": True} if case.heads != case.kv_heads else {}

    def call(q, k, v):
        with sdpa_kernel(backend):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=case.causal, **grouped)

    return call


def make_call(case: Case, q, k, v, grad=None) -> Callable[[], object]:
    """The case as a function without arguments: returns O, or (O, dQ, dK, dV) where there is a backward
    pass."""
    import torch

    attend = attention(case)
    if case.direction == "forward":

        def forward():
            with torch.no_grad():
                return attend(q, k, v)

        return forward
    if case.direction != "forward+backward":
        raise ValueError(f"direction: expected forward or forward+backward, got {case.direction!r}")

    def both():
        output = attend(q, k, v)
        return (output.detach(), *torch.autograd.grad(output, (q, k, v), grad))

    return both


def as_run(case: Case) -> tuple[Case, str]:
    """The case with the tile that the last call of this thread chose, and the path it took ("" where there is
    one path only). Only our fast kernel chooses; libraries do not tell."""
    if case.provider != "fast":
        return case, ""
    from .fast import last_choice

    choice = last_choice()
    if choice is None:
        return case, ""
    tile = {"Br": choice.Br, "Bc": choice.Bc, "warps": choice.warps, "stages": choice.stages}
    return replace(case, **tile), choice.path
