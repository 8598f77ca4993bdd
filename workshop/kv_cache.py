"""Decoding one token at a time: the cache of K and V, how many fit beside the weights, and what a step costs.

To predict one more token, a model needs one new query a head and all earlier keys and values. Those are kept:
the cache. It is read whole for every new token, and each number of it meets `group` query heads only, so the
arithmetic per byte does not grow with the context.

Sources: Shazeer, Fast Transformer Decoding (2019; one head of K and V for all); Ainslie et al., GQA (2023);
Pope et al., Efficiently Scaling Transformer Inference (2022; what a decoding step reads).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from workshop.formula import Formula
from workshop.hardware import GPU
from workshop.language_models import LanguageModel
from workshop.units import DTYPE_BYTES

# A server keeps some memory for activations and the allocator; this is the share it may fill, as in vLLM's
# default setting gpu_memory_utilization.
USABLE = 0.9


def _cache(layers, kv_heads, d, N, b):
    return 2 * layers * kv_heads * d * N * b


def _intensity(group, b):
    return 2 * group / b


def token_bytes(model: LanguageModel, dtype: str) -> int:
    """Cache bytes of one token: a key and a value in every layer and K,V head."""
    return cache_bytes(model, 1, dtype)


def cache_bytes(model: LanguageModel, N: int, dtype: str) -> int:
    """Cache bytes of one conversation of N tokens: no more of them are kept than the model's window.

    Raises ValueError below 0 tokens.
    """
    if N < 0:
        raise ValueError(f"N: expected 0 tokens or more; got {N!r}")
    return _cache(model.layers, model.kv_heads, model.d, model.cached(N), DTYPE_BYTES[dtype])


def weight_bytes(model: LanguageModel, dtype: str) -> int:
    """Bytes of the weights, every parameter in `dtype`."""
    return model.parameters * DTYPE_BYTES[dtype]


def score_bytes(model: LanguageModel, N: int, dtype: str, queries: int = 1) -> int:
    """Bytes of one layer's scores: `queries` new tokens, each against the keys of N tokens that are kept, in every
    query head."""
    return model.heads * queries * model.cached(N) * DTYPE_BYTES[dtype]


@dataclass(frozen=True)
class Fit:
    """What fits on `gpus` GPUs: bytes usable, taken by weights and by one conversation, and how many."""

    usable: int
    weights: int
    conversation: int

    @property
    def spare(self) -> int:
        """Bytes left beside the weights, 0 when they do not fit."""
        return max(0, self.usable - self.weights)

    @property
    def weights_fit(self) -> bool:
        """Whether the weights fit at all."""
        return self.weights <= self.usable

    @property
    def conversations(self) -> int:
        """Whole conversations that fit beside the weights."""
        return self.spare // self.conversation


def fit(model: LanguageModel, N: int, dtype: str, gpu: GPU, gpus: int = 1) -> Fit:
    """How many conversations of N tokens (1 or more) fit beside the weights on `gpus` GPUs in USABLE of
    their memory."""
    if N < 1 or gpus < 1:
        raise ValueError(f"N, gpus: expected 1 or more; got {N!r}, {gpus!r}")
    usable = int(USABLE * gpu.memory) * gpus
    return Fit(usable, weight_bytes(model, dtype), cache_bytes(model, N, dtype))


def gpus_for_weights(model: LanguageModel, dtype: str, gpu: GPU) -> int:
    """The fewest GPUs whose usable memory holds the weights."""
    return -(-weight_bytes(model, dtype) // int(USABLE * gpu.memory))


@dataclass(frozen=True)
class Step:
    """One decoding step: one new token for each of B conversations of N tokens.

    weights, cache: bytes read. attention_flops: of the scores and the weighted sums. matrix_flops: 2 a
    parameter and token. rate: FLOP/s. bandwidth: B/s, both of all GPUs together.
    """

    weights: int
    cache: int
    attention_flops: int
    matrix_flops: int
    rate: float
    bandwidth: float

    @property
    def attention_intensity(self) -> float:
        """FLOP/B of attention alone."""
        return self.attention_flops / self.cache

    @property
    def matrix_intensity(self) -> float:
        """FLOP/B of everything else: it grows with the batch, for the weights are shared."""
        return self.matrix_flops / self.weights

    @property
    def attention_s(self) -> float:
        """Seconds for attention, the larger of arithmetic and reading the cache."""
        return max(self.attention_flops / self.rate, self.cache / self.bandwidth)

    @property
    def matrix_s(self) -> float:
        """Seconds for the rest, the larger of arithmetic and reading the weights."""
        return max(self.matrix_flops / self.rate, self.weights / self.bandwidth)

    @property
    def seconds(self) -> float:
        """Seconds for the step: the layers' parts run one after another."""
        return self.attention_s + self.matrix_s


def step(model: LanguageModel, N: int, B: int, dtype: str, gpu: GPU, gpus: int = 1) -> Step:
    """The step of B conversations of N tokens each, weights and cache in `dtype`, split evenly over `gpus`.

    A lower bound: data-sheet rates, nothing but weights and cache read, and no time for GPUs to talk to each
    other.
    """
    return Step(
        weights=weight_bytes(model, dtype),
        cache=B * cache_bytes(model, N, dtype),
        attention_flops=4 * B * model.layers * model.heads * model.d * model.cached(N),
        matrix_flops=2 * B * model.parameters,
        rate=gpu.rate(dtype).flops * gpus,
        bandwidth=gpu.bandwidth * gpus,
    )


def crossover(model: LanguageModel, B: int) -> float:
    """Tokens of context from which B caches are read more than the weights, whatever the dtype; inf where the
    model's window keeps so few that it never happens."""
    tokens = model.parameters / (B * 2 * model.layers * model.kv_heads * model.d)
    return tokens if model.window is None or tokens < model.window else inf


CACHE = Formula(
    "kv-cache",
    "Cache of one conversation",
    r"\mathrm{cache}",
    "2*layers*kv_heads*d*N*b",
    "A key and a value of d numbers for every token, in every layer and every head of K and V.",
    "bytes",
    _cache,
)
INTENSITY = Formula(
    "decode-intensity",
    "Intensity of decoding",
    "I",
    "2*group/b",
    "Each number of the cache, b bytes, meets one multiply-add of each of the G query heads that share it. "
    "N and d have cancelled.",
    "FLOP/B",
    _intensity,
)
