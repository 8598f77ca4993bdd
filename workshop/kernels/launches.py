"""What Triton launched: shared memory, registers and spills of each kernel, read off the compiled object in
use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

WORD_BYTES = 4


@dataclass(frozen=True)
class Launch:
    """One launched kernel: shared memory of a block in bytes, registers of a thread, spilled bytes of a
    thread."""

    kernel: str
    shared_bytes: int
    registers: int
    spill_bytes: int
    warps: int
    stages: int


@contextmanager
def watch() -> Iterator[list[Launch]]:
    """Collects the Triton launches of this thread's block of code; the list is complete when the block ends.

    A launch hook hears the handle of each function that starts; the handle is then looked up among the
    kernels that the package's jitted functions hold compiled.
    """
    from triton import knobs

    seen: list[Launch] = []
    handles: list[int] = []

    def heard(metadata) -> None:
        handles.append(metadata.get()["function"])

    knobs.runtime.launch_enter_hook.add(heard)
    try:
        yield seen
    finally:
        knobs.runtime.launch_enter_hook.remove(heard)
        compiled = {kernel.function: kernel for kernel in _compiled()} if handles else {}
        seen.extend(_describe(compiled[handle]) for handle in handles if handle in compiled)


def _describe(kernel) -> Launch:
    meta = kernel.metadata
    spills = kernel.n_spills * WORD_BYTES
    return Launch(
        meta.name, meta.shared, kernel.n_regs, spills, meta.num_warps, getattr(meta, "num_stages", 0)
    )


def _compiled() -> Iterator:
    from triton.runtime.jit import JITFunction

    for module in [sys.modules[name] for name in list(sys.modules) if name.startswith(f"{__package__}.")]:
        for value in list(vars(module).values()):
            function = value
            # Autotuned and heuristic wrappers keep the jitted function in `fn`.
            while not isinstance(function, JITFunction) and hasattr(function, "fn"):
                function = function.fn
            if isinstance(function, JITFunction):
                for cache, *_ in function.device_caches.values():
                    yield from (kernel for kernel in cache.values() if getattr(kernel, "function", None))
