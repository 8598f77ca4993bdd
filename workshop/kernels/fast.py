"""The fast kernel: for each call the best of three device programs that can take it, and a record of which ran.

Adds to the teaching kernel: the copy engine (`tma_kernel`), and on Hopper warps that specialise (`gluon_kernel`).
Reaches 0.99 to 1.17 of torch's cuDNN backend at d = 64 and 128, N = 4096 and 16,384, 0.94 to 1.27 at N = 1024 and
2048, and 1.00 to 1.04 at N = 512, where moving the tiles without computing anything takes 60 % of cuDNN's time. A call
at N = 512 takes as long as cuDNN's with its backend chosen beforehand, half as long as with the backend chosen at each
call (recordings/h200-tests.md has the tables and their conditions).

`choose` says which and why without running anything; `last_choice` says what the last call in this thread ran.
"""

from __future__ import annotations

import functools
import math
import threading
import warnings
from dataclasses import dataclass

from . import tma
from .autograd import attend, differentiable
from .checks import Shape, check_device, check_inputs
from .choice import Choice, choose, unbuildable
from .launch import LaunchSpec, row_major
from .relaunch import Repeat

LOG2E = 1 / math.log(2)
ROWS_OF_GROUP = 64


def _allocation(size: tuple[int, ...], dtype, device):
    """What makes an uninitialised tensor, row-major."""
    import torch

    return functools.partial(torch.empty_strided, size, row_major(size), dtype=dtype, device=device)


class Outputs:
    """Makes an uninitialised (o, logsumexp) of one shape; o's rows have a whole number of 16 bytes, which the copy
    engine needs."""

    def __init__(self, shape: Shape, q):
        import torch

        unit = tma.ALIGNMENT // q.element_size()
        width = -(-shape.d // unit) * unit
        rows = (shape.B, shape.H, shape.Nq)
        self.d = None if width == shape.d else shape.d
        # With its strides given, an allocation asks torch for half as much time.
        self.o = _allocation((*rows, width), q.dtype, q.device)
        self.logsumexp = _allocation(rows, torch.float32, q.device)

    def __call__(self) -> tuple:
        o = self.o()
        return (o if self.d is None else o[..., : self.d]), self.logsumexp()


@dataclass(frozen=True)
class Known:
    """A call that was made: its sizes, its scale, what it ran, what makes its outputs, and the launch to be made
    again."""

    shape: Shape
    scale: float
    choice: Choice
    outputs: Outputs
    launch: Repeat


_this_thread = threading.local()
#: Calls made, by everything that decides how a call is launched, so that the next alike skips deciding.
_known: dict[tuple, Known] = {}
MOST_KNOWN = 256
#: Parameters of every kernel that a call brings tensors for.
TENSORS = ("Q", "K", "V", "O", "L")


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
    key = _key(q, k, v, causal, scale)
    known = _known.get(key)
    if known is not None and not differentiable(q, k, v):
        return _again(known, q, k, v)
    if known is None:
        shape, scale = check_inputs(q, k, v, scale)
        check_device(q)
    else:
        shape, scale = known.shape, known.scale

    def forward(q, k, v, scale):
        if known is not None:
            return _again(known, q, k, v)
        return run(choose(q, k, v, causal), shape, q, k, v, causal, scale, key)

    return attend(forward, shape, q, k, v, causal, scale)


def _key(q, k, v, causal, scale) -> tuple:
    """All that decides how a call is checked, chosen and launched; the addresses only by their alignment."""
    # Flat and spelled out: built at each call, it is a tenth of a short call's time.
    a = tma.ALIGNMENT
    return (
        *(q.shape, q.stride(), q.dtype, q.get_device(), q.data_ptr() % a),
        *(k.shape, k.stride(), k.dtype, k.get_device(), k.data_ptr() % a),
        *(v.shape, v.stride(), v.dtype, v.get_device(), v.data_ptr() % a),
        bool(causal),
        scale,
    )


def _again(known: Known, q, k, v):
    """(o, logsumexp) of a call like one that was made."""
    _this_thread.choice = known.choice
    o, lse = known.outputs()
    known.launch.run(q, k, v, o, lse)
    return o, lse


def last_choice() -> Choice | None:
    """What the last `flash_attention` of this thread ran."""
    return getattr(_this_thread, "choice", None)


def run(choice: Choice, shape: Shape, q, k, v, causal, scale, key=None):
    """(o, logsumexp) by the chosen path, or by the next one where this Triton cannot build it.

    scale > 0. key: remember the launch under it.
    """
    outputs = Outputs(shape, q)
    o, lse = outputs()
    while True:
        _this_thread.choice = choice
        try:
            spec = launch_spec(choice, shape, (q, k, v, o, lse), causal, scale)
            compiled = spec.run(q.device)
        except _build_errors() as error:
            if choice.path == "plain":
                raise
            unbuildable[choice.path] = f"this Triton does not build it: {_first_line(error)}"
            message = f"The {choice.path} kernel is left out: {unbuildable[choice.path]}"
            warnings.warn(message, RuntimeWarning, stacklevel=2)
            choice = choose(q, k, v, causal)
            continue
        # The key holds the scale as the caller gave it; a negative one has changed q since.
        if key is not None and compiled is not None and (key[-1] is None or key[-1] > 0):
            if len(_known) >= MOST_KNOWN:
                _known.clear()
            _known[key] = Known(shape, scale, choice, outputs, Repeat(spec, compiled, TENSORS, q.device))
        return o, lse


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
    heads = shape.B * shape.H
    tiles = -(-shape.Nq // choice.Br) * heads
    arguments |= {"L": lse, "tiles": tiles, "heads": heads, "H": shape.H, "group": shape.group}
    arguments |= {"Nq": shape.Nq, "Nk": shape.Nk, "together": _heads_in_cache(shape, q), "scale": scale}
    arguments |= {"nearest_power": 2.0 ** round(math.log2(scale * LOG2E))}
    # 65,536 registers among the groups and the fetching warp's group, which needs few.
    most, of_group = {2: (168, 240), 3: (128, 160)}[groups]
    arguments |= {"BC": choice.Bc, "D": D, "STAGES": choice.stages, "GROUPS": groups, "CAUSAL": causal}
    arguments |= {"TURNS": choice.turns, "APART": choice.apart, "REGISTERS": of_group}
    programs = min(tiles, _multiprocessors(q.device)) if choice.resident else tiles
    return LaunchSpec(gluon_forward, arguments, (programs,), {"num_warps": 4, "maxnreg": most})


def _heads_in_cache(shape: Shape, q) -> int:
    """Query heads whose K and V share two thirds of the L2 cache, at least 1 and at most all."""
    import torch

    of_head = 2 * shape.Nk * shape.d * q.element_size()
    cache = torch.cuda.get_device_properties(q.device).L2_cache_size
    return max(1, min(shape.B * shape.H, 2 * cache // (3 * of_head) * shape.group))


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
