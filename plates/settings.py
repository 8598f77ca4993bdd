"""The one shared state: what the reader chose. Every plate reads it; only controls and links write it."""

from __future__ import annotations

import param

from plates.language import phrase
from workshop import hardware, problem

LANGUAGES = ("en", "zh")


def _integer(name: str, default: int, doc: str) -> param.Integer:
    return param.Integer(default, bounds=problem.LIMITS[name], doc=doc)


class Settings(param.Parameterized):
    """What the reader chose. Values out of range never get in: ``apply`` clamps or refuses them one by one."""

    plate = param.String("", doc="Slug of the plate on show.")
    N = _integer("N", 8192, "Sequence length, tokens.")
    d = _integer("d", 128, "Head size, elements.")
    H = _integer("H", 32, "Heads a layer.")
    B = _integer("B", 1, "Batch size, sequences.")
    Br = _integer("Br", 128, "Rows of Q in a block.")
    Bc = _integer("Bc", 64, "Rows of K and V in a block.")
    sram = _integer("sram", 228, "On-chip budget M of one block, KiB.")
    dtype = param.Selector(default="bf16", objects=["bf16", "fp16", "fp32", "fp8"], doc="Number format.")
    causal = param.Boolean(False, doc="Mask out keys after the query.")
    gpu = param.Selector(
        default="h100-sxm", objects=[*hardware.GPUS, "custom"], doc="GPU of the time models."
    )
    bandwidth = param.Integer(
        2000, bounds=(10, 100_000), doc="Memory bandwidth of the custom GPU, GB/s (1e9 bytes a second)."
    )
    tflops = param.Integer(
        500, bounds=(1, 100_000), doc="Dense peak of the custom GPU in the chosen format, TFLOP/s."
    )
    step = param.Integer(
        None,
        bounds=(0, 100_000),
        allow_None=True,
        doc="Step of the step-through on show; None leaves the choice to the plate.",
    )
    tour = param.Selector(default="", objects=["", "10", "45"], doc="The guided tour that is on, if one is.")
    theme = param.Selector(default="light", objects=["light", "dark"], doc="Colours of the page.")
    lang = param.Selector(default="en", objects=list(LANGUAGES), doc="Language of the prose.")

    @property
    def problem(self) -> problem.Problem:
        """The attention problem: N, d, H, B, dtype, causal."""
        return problem.Problem(N=self.N, d=self.d, H=self.H, B=self.B, dtype=self.dtype, causal=self.causal)

    @property
    def tile(self) -> problem.Tile:
        """The tile: Br, Bc and the SRAM budget."""
        return problem.Tile(Br=self.Br, Bc=self.Bc, sram=self.sram)

    @property
    def gpu_record(self) -> hardware.GPU:
        """The chosen GPU, or the custom one that the reader typed in."""
        if self.gpu == "custom":
            return hardware.custom(
                bandwidth=self.bandwidth * 1e9,
                peak=self.tflops * 1e12,
                name=phrase(hardware.CUSTOM_NAME, self.lang),
            )
        return hardware.GPUS[self.gpu]


# What a link may carry about the whole page, in the order in which it is written.
SHARED = ("N", "d", "Br", "Bc", "sram", "H", "B", "dtype", "causal", "gpu")
CUSTOM_GPU = ("bandwidth", "tflops")
# What a preset or Reset sets back; the plate, the theme and the language stay as they are.
RESETTABLE = (*SHARED, *CUSTOM_GPU, "step")
