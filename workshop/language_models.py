"""Published language models, as far as their weights and their cache of keys and values go.

The number of parameters is not typed in: it follows from the architecture, and tests hold it to the number
that the makers print. Sources are the papers and the configuration files published with the weights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

KINDS = ("multi-head", "grouped", "multi-query")


@dataclass(frozen=True)
class LanguageModel:
    """A decoder-only transformer.

    slug, name: key in links, name for readers. layers; hidden: width; heads: query heads a layer; kv_heads:
    heads of K and V; d: head size; feed_forward: inner width; gated: whether the feed-forward has a third
    matrix; vocabulary; tied: whether input and output share one embedding; qkv_bias: whether Q, K, V have
    one; norms: vectors of `hidden` a layer; final_norm: vectors at the end; context: tokens it was published
    for; window: tokens that a query sees, itself included, None for all (older ones are overwritten: a rolling
    buffer); source.
    """

    slug: str
    name: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    d: int
    feed_forward: int
    vocabulary: int
    context: int
    source: str
    gated: bool = True
    tied: bool = False
    qkv_bias: bool = False
    norms: int = 2
    final_norm: int = 1
    window: int | None = None

    def __post_init__(self):
        if self.heads % self.kv_heads:
            raise ValueError(f"heads: expected a multiple of kv_heads={self.kv_heads}; got {self.heads}")

    @property
    def group(self) -> int:
        """Query heads that share one head of K and V."""
        return self.heads // self.kv_heads

    def cached(self, N: int) -> int:
        """Tokens of a conversation of N whose keys and values are kept, and that the next query sees."""
        return N if self.window is None else min(N, self.window)

    @property
    def kind(self) -> str:
        """One of KINDS: every query head its own K and V; some share; all share one."""
        if self.kv_heads == self.heads:
            return "multi-head"
        return "multi-query" if self.kv_heads == 1 else "grouped"

    @property
    def parameters(self) -> int:
        """Parameters of the whole model, from its architecture."""
        width, q, kv = self.hidden, self.heads * self.d, self.kv_heads * self.d
        attention = 2 * width * q + 2 * width * kv + self.qkv_bias * (q + 2 * kv)
        layer = attention + (3 if self.gated else 2) * width * self.feed_forward + self.norms * width
        embeddings = (1 if self.tied else 2) * self.vocabulary * width
        return self.layers * layer + embeddings + self.final_norm * width


_LLAMA_2 = "Touvron et al., Llama 2 (2023), and the model's configuration file"
_LLAMA_3 = "Grattafiori et al., The Llama 3 Herd of Models (2024), table 3, and the configuration file"

_ALL = (
    LanguageModel("llama-2-7b", "Llama 2 7B", 32, 4096, 32, 32, 128, 11008, 32000, 4096, _LLAMA_2),
    LanguageModel("llama-3-8b", "Llama 3 8B", 32, 4096, 32, 8, 128, 14336, 128256, 8192, _LLAMA_3),
    LanguageModel("llama-3-70b", "Llama 3 70B", 80, 8192, 64, 8, 128, 28672, 128256, 8192, _LLAMA_3),
    LanguageModel(
        "mistral-7b",
        "Mistral 7B",
        32,
        4096,
        32,
        8,
        128,
        14336,
        32000,
        8192,
        "Jiang et al., Mistral 7B (2023), table 1 and section 2 (sliding window, rolling buffer cache), and the "
        "configuration file of the first release; later releases have no window",
        window=4096,
    ),
    LanguageModel(
        "qwen2.5-7b",
        "Qwen2.5 7B",
        28,
        3584,
        28,
        4,
        128,
        18944,
        152064,
        131072,
        "Yang et al., Qwen2.5 Technical Report (2024), table 1, and the configuration file",
        qkv_bias=True,
    ),
    LanguageModel(
        "falcon-7b",
        "Falcon 7B",
        32,
        4544,
        71,
        1,
        64,
        18176,
        65024,
        2048,
        "Almazrouei et al., The Falcon Series of Open Language Models (2023), and the configuration file",
        gated=False,
        tied=True,
        final_norm=2,
    ),
    LanguageModel(
        "gemma-2b",
        "Gemma 2B",
        18,
        2048,
        8,
        1,
        256,
        16384,
        256000,
        8192,
        "Gemma Team, Gemma: Open Models Based on Gemini Research and Technology (2024), table 1, and the "
        "configuration file",
        tied=True,
    ),
)
LANGUAGE_MODELS: Mapping[str, LanguageModel] = MappingProxyType({model.slug: model for model in _ALL})
