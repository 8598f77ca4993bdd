"""What a reader asks a device to run, and what the queue tells them: plain records, no torch, no process."""

from __future__ import annotations

from dataclasses import dataclass, replace

from workshop.recordings import Recording

from .compile_options import DTYPES
from .plan import Case

GPU_PROVIDERS = ("teaching", "fast", "sdpa-cudnn", "sdpa-flash", "standard")
CPU_PROVIDERS = ("sdpa-flash", "standard")
#: The largest problem of a CPU run: about a second, and a few hundred megabytes.
CPU_MOST = {"N": 2048, "heads": 4, "batch": 1}


@dataclass(frozen=True)
class Request:
    """One run: the reader's own N, d, heads H, batch B, dtype, mask and tile, for each provider in turn.

    `check` compares each result with float64 as well.

    Raises:
        ValueError: a dtype that has no kernel here; the message says expected and got.
    """

    N: int = 4096
    d: int = 128
    H: int = 32
    B: int = 1
    dtype: str = "bf16"
    causal: bool = False
    Br: int = 64
    Bc: int = 64
    warps: int = 4
    stages: int = 2
    direction: str = "forward"
    providers: tuple[str, ...] = GPU_PROVIDERS
    check: bool = True

    def __post_init__(self):
        if self.dtype not in DTYPES:
            raise ValueError(
                f"dtype: expected {', '.join(DTYPES)} for a real run (the kernels here have no "
                f"{self.dtype}), "
                f"got {self.dtype!r}"
            )

    def cases(self) -> tuple[Case, ...]:
        """One case a provider; the tile goes to the teaching kernel only, the others choose their own."""
        shape = {
            "direction": self.direction,
            "dtype": self.dtype,
            "batch": self.B,
            "heads": self.H,
            "kv_heads": self.H,
            "N": self.N,
            "d": self.d,
            "causal": self.causal,
        }
        tile = {"Br": self.Br, "Bc": self.Bc, "warps": self.warps, "stages": self.stages}
        return tuple(
            Case(provider, **shape, **(tile if provider == "teaching" else {})) for provider in self.providers
        )


def on_cpu(request: Request) -> tuple[Request, tuple[str, ...]]:
    """The request as small as a CPU can run it while the reader waits, and what was changed, in words."""
    small = {"N": request.N, "H": request.H, "B": request.B}
    limits = {"N": CPU_MOST["N"], "H": CPU_MOST["heads"], "B": CPU_MOST["batch"]}
    changed = [
        f"{name} is {limits[name]:,} here, not {value:,}"
        for name, value in small.items()
        if value > limits[name]
    ]
    if request.dtype != "fp32":
        changed.append(f"dtype is fp32 here, not {request.dtype}: not every CPU computes in 16 bit")
    cut = {name: min(value, limits[name]) for name, value in small.items()}
    return replace(request, **cut, dtype="fp32", providers=CPU_PROVIDERS), tuple(changed)


#: States in which nothing more follows.
FINAL = ("done", "failed", "cancelled", "rejected")


@dataclass(frozen=True)
class Update:
    """One message to the reader.

    `state` is "waiting", "starting", "running", or one of `FINAL`. `sentence` can be shown as it is.
    `position` is how many runs are ahead (waiting). `fraction` is the share done, 0 to 1. `result` comes with
    "done" only: a `Recording` whose `origin` is "live", with the same reader as a shipped one; `remarks` are
    what must be said beside the figures.
    """

    ticket: int
    state: str
    sentence: str
    position: int = 0
    fraction: float = 0.0
    result: Recording | None = None
    remarks: tuple[str, ...] = ()

    @property
    def final(self) -> bool:
        return self.state in FINAL
