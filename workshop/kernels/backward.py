"""The backward pass: dQ, dK and dV from Q, K, V, O and the logsumexp, with nothing of size N^2 kept or made.

Adds to the forward kernels: recomputation. What is kept for training is one number a row instead of P, and the backward
pass pays with its own Q K^T (twice here, see `backward_kernel`).

Forward and backward together reach 466 TFLOP/s at d = 128, N = 4096 and 405 at d = 64, counting 3.5 forward passes:
1.52 and 1.48 times torch's FlashAttention-2, 0.78 and 0.90 of cuDNN (H200, bfloat16, 32 heads, 2026-11-29).

A weight computed again is exp(score - logsumexp) with a logsumexp rounded to float32, so it is off by about
|logsumexp| 2^-24 of itself. That is far below the rounding of float16 and bfloat16; in float32 it is seen once scores
pass 10 or so.
"""

from __future__ import annotations

from . import tiles, tma
from .checks import Shape, interpreting
from .launch import LaunchSpec
from .tiles import Tile

ROWS = 64


def choose(D: int, element_size: int, device) -> tuple[Tile, Tile]:
    """Tiles of the walk that keeps K,V blocks and of the one that keeps Q blocks."""
    limit = tiles.shared_limit(device)
    return (
        tiles.best(tiles.OVER_KEYS, D, element_size, limit, "gradient-keys"),
        tiles.best(tiles.OVER_QUERIES, D, element_size, limit, "gradient-queries"),
    )


def gradients(shape: Shape, q, k, v, o, lse, do, causal: bool, scale: float, choice=None, use_tma=None):
    """dQ, dK, dV of checked inputs with scale > 0, shaped like q, k, v.

    o (B, H, Nq, d), lse (B, H, Nq) from the forward pass, do like o. choice: (keys tile, queries tile); use_tma: force.
    """
    import torch

    if do.stride(-1) != 1 or tma.refusal("dO", do):
        do = do.contiguous()
    if use_tma is None:
        named = {"q": q, "k": k, "v": v, "do": do}
        use_tma = (
            not interpreting()
            and tma.engine(q.device)
            and not any(tma.refusal(n, x) for n, x in named.items())
        )
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    delta, log2_sum = torch.empty_like(lse), torch.empty_like(lse)
    for spec in _specs(
        shape, (q, k, v, o, lse, do, dq, dk, dv, delta, log2_sum), causal, scale, choice, use_tma
    ):
        spec.run(q.device)
    return dq, dk, dv


def _specs(shape: Shape, tensors, causal, scale, choice, use_tma) -> list[LaunchSpec]:
    from . import backward_kernel as kernels

    q, k, v, o, lse, do, dq, dk, dv, delta, log2_sum = tensors
    over_keys, over_queries = choice or choose(shape.D, q.element_size(), q.device)
    B, H, Hkv, Nq, Nk, d, D = shape.B, shape.H, shape.Hkv, shape.Nq, shape.Nk, shape.d, shape.D
    rows = {
        "O": o,
        "dO": do,
        "L": lse,
        "delta": delta,
        "log2_sum": log2_sum,
        "H": H,
        "Nq": Nq,
        "d": d,
        "BR": ROWS,
        "D": D,
    }
    rows |= {"o_strides": o.stride(), "do_strides": do.stride()}
    common = {"log2_sum": log2_sum, "delta": delta, "H": H, "group": shape.group, "Nq": Nq, "Nk": Nk, "d": d}
    common |= {"scale": scale, "D": D, "CAUSAL": bool(causal), "D_END": D != d, "TMA": use_tma}

    def walk(function, tile: Tile, count: int, **gradients):
        ends = {"Q": (q, tile.Br), "K": (k, tile.Bc), "V": (v, tile.Bc), "dO": (do, tile.Br)}
        inputs = {name: tma.descriptor(x, side, D) if use_tma else x for name, (x, side) in ends.items()}
        strides = {f"{name.lower()}_strides": x.stride() for name, (x, _) in ends.items()}
        strides |= {f"{name.lower()}_strides": x.stride() for name, x in gradients.items()}
        arguments = common | inputs | gradients | strides | {"BR": tile.Br, "BC": tile.Bc}
        return LaunchSpec(function, arguments, (count,), {"num_warps": tile.warps, "num_stages": tile.stages})

    return [
        LaunchSpec(kernels.backward_rows, rows, (-(-Nq // ROWS) * B * H,), {"num_warps": 4}),
        walk(kernels.backward_keys, over_keys, -(-Nk // over_keys.Bc) * B * Hkv, dK=dk, dV=dv),
        walk(kernels.backward_queries, over_queries, -(-Nq // over_queries.Br) * B * H, dQ=dq),
    ]
