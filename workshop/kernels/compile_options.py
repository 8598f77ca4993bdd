"""What to compile: kernel, tile, head size, dtype, warps, stages, mask, and the GPU architecture it is for.

Everything here is plain data, so that it can key a cache, travel to a worker process as JSON, and be checked
without Triton. A Triton block has sides that are powers of two from 16 up: `Options.nearest` rounds a
reader's tile up to one that can be built.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from workshop.kernel_memory import default_warps
from workshop.problem import LIMITS, OptionError, checked

TARGETS = ("sm_80", "sm_89", "sm_90", "sm_100")
DTYPES = ("bf16", "fp16", "fp32")
KERNELS = ("teaching",)
SIDES = (16, 32, 64, 128, 256, 512, 1024)
WARPS = (1, 2, 4, 8, 16, 32)
STAGES = (1, 8)


@dataclass(frozen=True)
class Options:
    """One build.

    Br, Bc: rows of a Q block and of a K,V block, powers of two from 16 to 1024. d: head size, 8 to 256
    (padded inside the kernel). dtype: of Q, K, V and O. warps: of a block (None: `default_warps`). stages: K,V
    tiles in flight. target: compiler target. causal: with the mask. kernel: which of ours.

    Raises OptionError (a ValueError) that names the option, what was expected and what was given.
    """

    Br: int = 64
    Bc: int = 64
    d: int = 128
    dtype: str = "bf16"
    warps: int | None = None
    stages: int = 2
    target: str = "sm_90"
    causal: bool = False
    kernel: str = "teaching"

    def __post_init__(self):
        for option in ("Br", "Bc"):
            if getattr(self, option) not in SIDES or isinstance(getattr(self, option), bool):
                raise OptionError(option, describe(option), getattr(self, option))
        object.__setattr__(self, "d", checked("d", self.d))
        if self.warps is None:
            object.__setattr__(self, "warps", default_warps(self.Br))
        low, high = STAGES
        whole = isinstance(self.stages, int) and not isinstance(self.stages, bool)
        if not (whole and low <= self.stages <= high):
            raise OptionError("stages", describe("stages"), self.stages)
        for option in ("warps", "dtype", "target", "kernel"):
            if getattr(self, option) not in CHOICES[option]:
                raise OptionError(option, describe(option), getattr(self, option))
        if self.causal not in (0, 1):
            raise OptionError("causal", "0 or 1", self.causal)
        object.__setattr__(self, "causal", bool(self.causal))

    @classmethod
    def nearest(cls, Br: int, Bc: int, **others) -> Options:
        """The smallest tile that can be built and holds Br x Bc; `warps` defaults to what suits it."""
        up = {"Br": checked("Br", Br), "Bc": checked("Bc", Bc)}
        return cls(
            **{name: next(side for side in SIDES if side >= value) for name, value in up.items()}, **others
        )

    def with_(self, **changes) -> Options:
        """A copy with some options changed; warps follow a new Br if they followed the old one."""
        if "Br" in changes and "warps" not in changes and self.warps == default_warps(self.Br):
            changes["warps"] = default_warps(changes["Br"])
        return replace(self, **changes)

    @property
    def arch(self) -> int:
        """The number of the target: 90 for sm_90."""
        return int(self.target.removeprefix("sm_"))

    def record(self) -> dict:
        """The options as plain data, the inverse of `Options(**record)`."""
        return asdict(self)

    def key(self) -> str:
        """A short text that tells this build from every other, fit for a file name."""
        return "-".join(str(int(v) if isinstance(v, bool) else v) for v in self.record().values())


CHOICES = {"warps": WARPS, "dtype": DTYPES, "target": TARGETS, "kernel": KERNELS}


def describe(option: str) -> str:
    """What an option may be, as text for messages and help."""
    if option in ("Br", "Bc"):
        return f"a power of two from {SIDES[0]} to {SIDES[-1]}"
    if option == "d":
        return "a whole number from {} to {}".format(*LIMITS["d"])
    if option == "stages":
        return "a whole number from {} to {}".format(*STAGES)
    return "one of " + ", ".join(str(choice) for choice in CHOICES[option])
