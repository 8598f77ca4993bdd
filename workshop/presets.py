"""Named starting points: every setting of a view, a description and where its numbers are from."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType

from workshop.hardware import DEFAULT_GPU, GPU, gpu_named
from workshop.problem import Problem, Tile

DEFAULTS: Mapping[str, int | str | bool] = MappingProxyType(
    {item.name: item.default for kind in (Problem, Tile) for item in fields(kind)} | {"gpu": DEFAULT_GPU.slug}
)


@dataclass(frozen=True)
class Preset:
    """slug and name; settings: all of N, d, H, B, dtype, causal, Br, Bc, sram, gpu; description; source.

    model: slug of the language model that the preset is a layer of, if it is one of `language_models`.
    """

    slug: str
    name: str
    settings: Mapping[str, int | str | bool]
    description: str
    source: str
    model: str | None = None

    def build(self) -> tuple[Problem, Tile, GPU]:
        """The checked problem, tile and GPU of these settings."""
        pick = {
            kind: {item.name: self.settings[item.name] for item in fields(kind)} for kind in (Problem, Tile)
        }
        return Problem(**pick[Problem]), Tile(**pick[Tile]), gpu_named(self.settings["gpu"])


def _preset(slug, name, description, source, model=None, **changes):
    return Preset(slug, name, MappingProxyType({**DEFAULTS, **changes}), description, source, model)


_ALL = (
    _preset(
        "headline",
        "Headline",
        "One layer of 32 heads at 8,192 tokens on an H100, no mask: the view this workshop opens with.",
        "H100 SXM data sheet; 228 KiB is the shared memory of one H100 multiprocessor.",
    ),
    _preset(
        "gpt2-medium",
        "GPT-2 medium, 2022",
        "The attention layer of the paper's own table: 1,024 tokens, 16 heads of 64, batch 64, on an A100.",
        "Dao et al., FlashAttention (2022), Figure 2 left. Tile: FlashAttention-2 for d = 64.",
        N=1024,
        d=64,
        H=16,
        B=64,
        dtype="fp16",
        Br=128,
        Bc=128,
        sram=164,
        gpu="a100-sxm-40",
    ),
    _preset(
        "llama3-8b-8k",
        "Llama 3 8B at 8k",
        "A causal layer of today: 8,192 tokens, 32 query heads of 128. K and V are counted for every query "
        "head; the model shares them among groups of four.",
        "The Llama 3 Herd of Models (2024), Table 3: 32 heads, 8 key-value heads, model size 4,096.",
        model="llama-3-8b",
        causal=True,
    ),
    _preset(
        "context-128k",
        "128k context",
        "The headline layer with 131,072 tokens: only N changes, and the score matrices pass a terabyte.",
        "Context length of Llama 3.1 (The Llama 3 Herd of Models, 2024).",
        N=131072,
    ),
    _preset(
        "short",
        "Short sequence",
        "The headline layer with 512 tokens: the gain shrinks, because Q, K, V and O themselves weigh in.",
        "Sequence length of BERT (Devlin et al., 2018).",
        N=512,
    ),
)
PRESETS: Mapping[str, Preset] = MappingProxyType({preset.slug: preset for preset in _ALL})
