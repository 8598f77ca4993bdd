"""The teaching kernel: FlashAttention forward in plain Triton, as the step-through tells it.

Adds to `standard`: S and P never leave the chip, so memory is linear in N and traffic falls to `tiled`. Br, Bc, warps
and stages are the reader's. The device code is `teaching_kernel`.

Reaches 494 TFLOP/s forward at d = 128, N = 4096 with 128 x 64, 4 warps, 2 stages, and 387 with a causal mask and
128 x 128, 8 warps, 3 stages: 0.73 of torch's cuDNN backend in the same run both times (H200, bfloat16, 32 heads,
torch 2.11.0+cu130, triton 3.6.0, 2026-11-29).
"""

from __future__ import annotations

from .checks import Shape, check_device, check_inputs, check_tile
from .launch import LaunchSpec, Placeholder, strides


def kernel():
    """The jitted forward kernel; the first call imports Triton."""
    from .teaching_kernel import teaching_forward

    return teaching_forward


def teaching_attention(q, k, v, causal=False, scale=None, Br=64, Bc=64, warps=4, stages=2):
    """softmax(scale Q K^T) V, tile by tile; differentiable in q, k and v.

    Args:
        q: (B, H, Nq, d) tensor on a CUDA GPU (or the CPU with TRITON_INTERPRET=1); float16, bfloat16, float32.
        k, v: (B, Hkv, Nk, d), H a multiple of Hkv; any strides.
        causal: query r sees key c when c - Nk <= r - Nq.
        scale: factor of the scores, default 1/sqrt(d).
        Br, Bc: rows of a Q block and of a K,V block, powers of two from 16 to 1024.
        warps: of a block, a power of two up to 32. stages: K,V tiles in flight, 1 to 8.
    Returns:
        o (B, H, Nq, d) in q's dtype; logsumexp (B, H, Nq) float32, not differentiable.
    Raises:
        ValueError: inputs outside the above. triton.runtime.errors.OutOfResources: the tile does not fit on the chip.
    """
    check_tile(Br, Bc, warps, stages)
    shape, scale = check_inputs(q, k, v, scale)
    check_device(q)
    from .autograd import attend

    def forward(q, k, v, scale):
        return launch(shape, q, k, v, causal, scale, Br, Bc, warps, stages)

    return attend(forward, shape, q, k, v, causal, scale)


def launch(shape: Shape, q, k, v, causal, scale, Br, Bc, warps, stages):
    """Run the kernel on checked inputs with scale > 0: (o, logsumexp)."""
    import torch

    o = torch.empty_like(q)
    lse = torch.empty((shape.B, shape.H, shape.Nq), dtype=torch.float32, device=q.device)
    spec(shape, (q, k, v, o, lse), causal, scale, Br, Bc, warps, stages).run(q.device)
    return o, lse


def launch_spec(
    q_shape, k_shape=None, *, Br=64, Bc=64, dtype="bf16", causal=False, warps=4, stages=2
) -> LaunchSpec:
    """The launch for contiguous tensors of these shapes, without any tensor: what a compiler needs to specialise.

    q_shape (B, H, Nq, d), k_shape (B, Hkv, Nk, d) (default q_shape), dtype "bf16", "fp16" or "fp32".
    """
    check_tile(Br, Bc, warps, stages)
    (B, H, Nq, d), (_, Hkv, Nk, _) = q_shape, k_shape or q_shape
    shape = Shape(B, H, Hkv, Nq, Nk, d)
    q, o = Placeholder((B, H, Nq, d), dtype), Placeholder((B, H, Nq, d), dtype)
    k, v = Placeholder((B, Hkv, Nk, d), dtype), Placeholder((B, Hkv, Nk, d), dtype)
    lse = Placeholder((B, H, Nq), "fp32")
    return spec(shape, (q, k, v, o, lse), causal, d**-0.5, Br, Bc, warps, stages)


def spec(shape: Shape, tensors, causal, scale, Br, Bc, warps, stages) -> LaunchSpec:
    q, k, v, o, lse = tensors
    arguments = dict(Q=q, K=k, V=v, O=o, L=lse, **strides(q=q, k=k, v=v, o=o))
    arguments |= {
        "H": shape.H,
        "group": shape.group,
        "Nq": shape.Nq,
        "Nk": shape.Nk,
        "d": shape.d,
        "scale": scale,
    }
    arguments |= {"BR": Br, "BC": Bc, "D": shape.D, "CAUSAL": bool(causal), "D_END": shape.D != shape.d}
    grid = (-(-shape.Nq // Br) * shape.B * shape.H,)
    return LaunchSpec(kernel(), arguments, grid, {"num_warps": warps, "num_stages": stages})
