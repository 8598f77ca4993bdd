"""What others measured and published, in SI units, each row with its source. Nothing here was computed by us."""

from dataclasses import dataclass

from workshop.hardware import GPUS

_FA1 = "Dao et al., FlashAttention (2022)"
_FA2 = "Dao, FlashAttention-2 (2023)"
_FA3 = "Shah et al., FlashAttention-3 (2024)"
_FA4 = "Zadouri et al., FlashAttention-4 (2026)"
_MINUTE, _DAY = 60, 86_400


@dataclass(frozen=True)
class Training:
    """Time to train a model, s. baseline: whose other implementation; source: paper and table."""

    task: str
    baseline: str
    baseline_s: float
    flash_s: float
    source: str

    @property
    def speedup(self) -> float:
        """Baseline over FlashAttention."""
        return self.baseline_s / self.flash_s


TRAINING = (
    Training(
        "BERT-large, 512 tokens",
        "NVIDIA, MLPerf 1.1 record",
        20.0 * _MINUTE,
        17.4 * _MINUTE,
        f"{_FA1}, Table 1",
    ),
    Training("GPT-2 small, 1,024 tokens", "HuggingFace", 9.5 * _DAY, 2.7 * _DAY, f"{_FA1}, Table 2"),
    Training("GPT-2 small, 1,024 tokens", "Megatron-LM", 4.7 * _DAY, 2.7 * _DAY, f"{_FA1}, Table 2"),
    Training("GPT-2 medium, 1,024 tokens", "HuggingFace", 21.0 * _DAY, 6.9 * _DAY, f"{_FA1}, Table 2"),
    Training("GPT-2 medium, 1,024 tokens", "Megatron-LM", 11.5 * _DAY, 6.9 * _DAY, f"{_FA1}, Table 2"),
)


@dataclass(frozen=True)
class Speedup:
    """A published speed-up over a standard Transformer."""

    task: str
    method: str
    speedup: float
    source: str


LONG_RANGE = (
    Speedup("Long-Range Arena, 1,024 to 4,096 tokens", "FlashAttention", 2.4, f"{_FA1}, Table 3"),
    Speedup(
        "Long-Range Arena, 1,024 to 4,096 tokens", "Block-sparse FlashAttention", 2.8, f"{_FA1}, Table 3"
    ),
)


@dataclass(frozen=True)
class Memory:
    """Training memory of an attention layer, B: standard (PyTorch) and FlashAttention, at N tokens."""

    N: int
    standard: float
    flash: float
    source: str


MEMORY = tuple(
    Memory(N, standard * 1e6, flash * 1e6, f"{_FA1}, appendix: A100, batch 16, 8 heads, d = 64")
    for N, standard, flash in ((1024, 1184, 209), (2048, 4416, 418), (4096, 17024, 836))
)


@dataclass(frozen=True)
class Throughput:
    """Published speed of a kernel, FLOP/s, 16,384 tokens unless `what` says otherwise.

    gpu: slug; dtype; d: head size, None if the source names none; direction: "forward" or "forward + backward";
    full, causal: FLOP/s without and with a causal mask (causal None if not given).
    """

    what: str
    gpu: str
    dtype: str
    d: int | None
    direction: str
    full: float
    causal: float | None
    source: str

    @property
    def share(self) -> float:
        """Of the GPU's dense data-sheet peak in that format."""
        return self.full / GPUS[self.gpu].rate(self.dtype).flops


def _hopper(what, d, full, causal=None, dtype="fp16"):
    return Throughput(
        what,
        "h100-sxm",
        dtype,
        d,
        "forward",
        full * 1e12,
        None if causal is None else causal * 1e12,
        f"{_FA3}, forward speed in {dtype}",
    )


THROUGHPUT = (
    *(
        Throughput(
            "FlashAttention-2",
            "a100-sxm-80",
            "fp16",
            d,
            "forward + backward",
            full * 1e12,
            causal * 1e12,
            f"{_FA2}, forward + backward speed",
        )
        for d, full, causal in ((64, 176, 171), (128, 203, 189))
    ),
    _hopper("FlashAttention-2", 128, 370),
    _hopper("Triton", 128, 395),
    _hopper("cuDNN", 128, 595),
    _hopper("FlashAttention-3", 64, 497, 473),
    _hopper("FlashAttention-3", 128, 648, 616),
    _hopper("FlashAttention-3", 256, 756, 642),
    _hopper("FlashAttention-3, close to", None, 1200, dtype="fp8"),
    Throughput(
        "FlashAttention-4, up to",
        "b200",
        "bf16",
        None,
        "forward",
        1605e12,
        None,
        f"{_FA4}: 1,605 in the authors' article, 1,613 in the paper",
    ),
)
