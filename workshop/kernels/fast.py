"""The fast kernel: for each call the best of three device programs that can take it, and a record of which ran.

    gluon   Hopper (compute capability 9), float16 or bfloat16, 33 <= d <= 256, tensors the copy engine can address
    tma     compute capability 9 or more, tensors the copy engine can address
    plain   everything else: the teaching kernel with a tile from a table

`choose` says which and why without running anything; `last_choice` says what the last call in this thread ran.
"""

from __future__ import annotations

import math
import threading
import warnings
from dataclasses import dataclass

from . import tma
from .checks import Shape, check_device, check_inputs, interpreting
from .launch import LaunchSpec

LOG2E = 1 / math.log(2)
ROWS_OF_GROUP = 64


@dataclass(frozen=True)
class Choice:
    """path: "gluon", "tma" or "plain". Br, Bc, warps, stages: its tile and launch. reason: why no faster path was taken,
    "" for the fastest. resident: programs stay and take one Q block after another, else one program a Q block (gluon).
    turns: groups of warps take turns at the tensor cores (gluon)."""

    path: str
    Br: int
    Bc: int
    warps: int
    stages: int
    reason: str = ""
    resident: bool = False
    turns: bool = False


#: Padded d -> Br, Bc, stages, resident, turns of the gluon kernel.
GLUON = {
    64: (192, 128, 2, True, False),
    128: (128, 128, 2, True, True),
    256: (128, 64, 2, True, True),
}
#: Padded d -> Br, Bc, warps, stages of the TMA kernel for 16-bit dtypes.
TMA = {64: (64, 128, 4, 3), 128: (128, 128, 8, 2), 256: (128, 64, 8, 2)}
PLAIN = {64: (128, 64, 4, 3), 128: (128, 64, 8, 2), 256: (64, 32, 4, 2)}
#: float32 multiplies on the ordinary units.
SLOW = {64: (32, 32, 4, 1), 128: (32, 32, 4, 1), 256: (16, 32, 4, 1)}

_this_thread = threading.local()
#: Kernels that this Triton could not build -> its reason; they are not tried again.
_unbuildable: dict[str, str] = {}


def flash_attention(q, k, v, causal=False, scale=None):
    """softmax(scale Q K^T) V as fast as this package can; differentiable in q, k and v.

    Args:
        q: (B, H, Nq, d) tensor on a CUDA GPU (or the CPU with TRITON_INTERPRET=1); float16, bfloat16, float32.
        k, v: (B, Hkv, Nk, d), H a multiple of Hkv; any strides.
        causal: query r sees key c when c - Nk <= r - Nq.
        scale: factor of the scores, default 1/sqrt(d).
    Returns:
        o (B, H, Nq, d) in q's dtype; logsumexp (B, H, Nq) float32, not differentiable.
    Raises:
        ValueError: inputs outside the above.
    """
    shape, scale = check_inputs(q, k, v, scale)
    check_device(q)
    from .autograd import attend

    def forward(q, k, v, scale):
        return run(choose(q, k, v, causal), shape, q, k, v, causal, scale)

    return attend(forward, shape, q, k, v, causal, scale)


def last_choice() -> Choice | None:
    """What the last `flash_attention` of this thread ran."""
    return getattr(_this_thread, "choice", None)


def choose(q, k, v, causal=False) -> Choice:
    """The path and tile for checked inputs: the fastest that takes them, with the reason against faster ones."""
    d = q.shape[-1]
    D = max(64, 1 << (d - 1).bit_length())
    half = q.element_size() == 2
    if interpreting():
        return Choice("plain", *(PLAIN if half else SLOW)[D], reason="Triton interprets")
    named = {"q": q, "k": k, "v": v}
    reason = next((r for r in (tma.refusal(n, x) for n, x in named.items()) if r), None)
    if not tma.engine(q.device):
        reason = "the GPU has no copy engine (compute capability below 9)"
    reason = reason or _unbuildable.get("tma")
    if reason:
        return Choice("plain", *(PLAIN if half else SLOW)[D], reason=reason)
    major = tma.capability(q.device)[0]
    if not half:
        reason = "float32 does not run on the tensor cores in full precision"
    elif d <= 32:
        reason = "d <= 32 would leave the groups of warps too little to multiply"
    elif major != 9:
        reason = f"written for compute capability 9, this GPU has {major}"
    reason = reason or _unbuildable.get("gluon")
    if reason:
        return Choice("tma", *(TMA if half else SLOW)[D], reason=reason)
    Br, Bc, stages, resident, turns = GLUON[D]
    return Choice("gluon", Br, Bc, 4 * Br // ROWS_OF_GROUP + 4, stages, resident=resident, turns=turns)


def run(choice: Choice, shape: Shape, q, k, v, causal, scale):
    """(o, logsumexp) by the chosen path, or by the next one where this Triton cannot build it."""
    import torch

    # Rows of a whole number of 16 bytes, which is what the copy engine can store.
    unit = tma.ALIGNMENT // q.element_size()
    width = -(-shape.d // unit) * unit
    o = torch.empty(shape.B, shape.H, shape.Nq, width, dtype=q.dtype, device=q.device)[..., : shape.d]
    lse = torch.empty(shape.B, shape.H, shape.Nq, dtype=torch.float32, device=q.device)
    while True:
        _this_thread.choice = choice
        try:
            spec = launch_spec(choice, shape, (q, k, v, o, lse), causal, scale)
            spec.run(q.device)
            return o, lse
        except _build_errors() as error:
            if choice.path == "plain":
                raise
            _unbuildable[choice.path] = f"this Triton does not build it: {_first_line(error)}"
            message = f"The {choice.path} kernel is left out: {_unbuildable[choice.path]}"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            choice = choose(q, k, v, causal)


def launch_spec(choice: Choice, shape: Shape, tensors, causal, scale) -> LaunchSpec:
    """The launch of a choice for (q, k, v, o, logsumexp)."""
    return {"gluon": _gluon_spec, "tma": _tma_spec, "plain": _plain_spec}[choice.path](
        choice, shape, tensors, bool(causal), scale
    )


def _plain_spec(choice, shape, tensors, causal, scale) -> LaunchSpec:
    from .teaching import spec

    return spec(shape, tensors, causal, scale, choice.Br, choice.Bc, choice.warps, choice.stages)


def _tma_spec(choice, shape, tensors, causal, scale) -> LaunchSpec:
    from .tma_kernel import tma_forward

    q, k, v, o, lse = tensors
    sides = {"Q": (q, choice.Br), "K": (k, choice.Bc), "V": (v, choice.Bc), "O": (o, choice.Br)}
    arguments = {name: tma.descriptor(x, side, shape.D) for name, (x, side) in sides.items()}
    arguments |= {
        "L": lse,
        "H": shape.H,
        "group": shape.group,
        "Nq": shape.Nq,
        "Nk": shape.Nk,
        "scale": scale,
    }
    arguments |= {"BR": choice.Br, "BC": choice.Bc, "D": shape.D, "CAUSAL": causal}
    grid = (-(-shape.Nq // choice.Br) * shape.B * shape.H,)
    return LaunchSpec(tma_forward, arguments, grid, {"num_warps": choice.warps, "num_stages": choice.stages})


def _gluon_spec(choice, shape, tensors, causal, scale) -> LaunchSpec:
    from .gluon_kernel import gluon_forward

    q, k, v, o, lse = tensors
    D = max(64, shape.D)
    groups = choice.Br // ROWS_OF_GROUP
    sides = {"Q": (q, ROWS_OF_GROUP), "K": (k, choice.Bc), "V": (v, choice.Bc), "O": (o, ROWS_OF_GROUP)}
    arguments = {name: tma.gluon_descriptor(x, side, D) for name, (x, side) in sides.items()}
    tiles = -(-shape.Nq // choice.Br) * shape.B * shape.H
    arguments |= {
        "L": lse,
        "tiles": tiles,
        "H": shape.H,
        "group": shape.group,
        "Nq": shape.Nq,
        "Nk": shape.Nk,
    }
    arguments |= {"scale": scale, "nearest_power": 2.0 ** round(math.log2(scale * LOG2E))}
    # 65,536 registers among the groups and the fetching warp's group, which needs few.
    most, of_group = {2: (168, 240), 3: (128, 160)}[groups]
    arguments |= {"BC": choice.Bc, "D": D, "STAGES": choice.stages, "GROUPS": groups, "CAUSAL": causal}
    arguments |= {"TURNS": choice.turns, "FUSED": True, "REGISTERS": of_group}
    programs = min(tiles, _multiprocessors(q.device)) if choice.resident else tiles
    return LaunchSpec(gluon_forward, arguments, (programs,), {"num_warps": 4, "maxnreg": most})


def _multiprocessors(device) -> int:
    import torch

    return torch.cuda.get_device_properties(device).multi_processor_count


def _build_errors() -> tuple[type[Exception], ...]:
    """What a Triton that lacks a feature raises while it loads or builds a kernel; not what a launch raises."""
    from triton.compiler.errors import CompilationError

    return (ImportError, AttributeError, CompilationError)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]
