"""The lab's errors once more by PyTorch's own operations on the CPU, where PyTorch is installed.

Its matrix products add in an order and a width of their own, so these figures need not equal the lab's; they say
whether the lab's arithmetic is of the right size.
"""

from __future__ import annotations

import importlib.util
import threading

import numpy as np

from workshop.precision import Rounded

_DTYPES = {"float64": "float64", "float32": "float32", "fp16": "float16", "bf16": "bfloat16"}
_lock = threading.Lock()
_loaded = None


def installed() -> bool:
    """Whether PyTorch can be imported; does not import it."""
    return importlib.util.find_spec("torch") is not None


def loaded() -> bool:
    """Whether `load` has been through."""
    return _loaded is not None


def load():
    """PyTorch, imported at the first call, which takes seconds: call it off an event loop. ImportError if absent."""
    global _loaded
    with _lock:
        if _loaded is None:
            import torch

            _loaded = torch
    return _loaded


def outputs(problem: Rounded) -> dict[str, np.ndarray]:
    """Outputs (Nq, d), float64, of "eager" (products and softmax as three operations) and "fused" (its
    scaled_dot_product_attention) in the problem's format. ImportError where PyTorch is absent."""
    torch = load()
    dtype = getattr(torch, _DTYPES[problem.format.name])
    q, k, v = (torch.from_numpy(x).to(dtype) for x in (problem.q, problem.k, problem.v))
    allowed = torch.from_numpy(problem.allowed)
    scale = float(problem.scale)
    with torch.no_grad():
        s = ((q @ k.T) * scale).masked_fill(~allowed, float("-inf"))
        # A row without a key is NaN in eager PyTorch; this page counts it as 0, as the kernels do.
        eager = torch.softmax(s, dim=-1).nan_to_num(0.0) @ v
        batch = (x[None, None] for x in (q, k, v))
        fused = torch.nn.functional.scaled_dot_product_attention(*batch, attn_mask=allowed, scale=scale)[0, 0]
    blind = ~problem.allowed.any(axis=1)
    found = {"eager": eager.double().numpy(), "fused": fused.double().numpy()}
    found["fused"][blind] = 0.0
    return found


def errors(problem: Rounded) -> dict[str, float]:
    """Largest error of each of `outputs` against float64."""
    return {name: problem.error(output) for name, output in outputs(problem).items()}
