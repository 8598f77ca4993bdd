"""Presets: complete, checked, and what they claim."""

import pytest

from workshop import traffic
from workshop.presets import DEFAULTS, PRESETS
from workshop.problem import Problem, Tile


def test_defaults_are_those_of_links():
    assert dict(DEFAULTS) == {
        "N": 8192,
        "d": 128,
        "Br": 128,
        "Bc": 64,
        "sram": 228,
        "H": 32,
        "B": 1,
        "dtype": "bf16",
        "causal": False,
        "gpu": "h100-sxm",
    }
    assert PRESETS["headline"].build()[:2] == (Problem(), Tile())


@pytest.mark.parametrize("slug", list(PRESETS))
def test_every_preset_builds_and_has_a_source(slug):
    preset = PRESETS[slug]
    problem, _, gpu = preset.build()
    assert preset.slug == slug
    assert set(preset.settings) == set(DEFAULTS)
    assert (problem.N, gpu.slug) == (preset.settings["N"], preset.settings["gpu"])
    assert preset.source.endswith(".")
    assert preset.description.endswith(".")
    with pytest.raises(TypeError):
        preset.settings["N"] = 1


def test_what_they_claim():
    problem, _, gpu = PRESETS["gpt2-medium"].build()
    assert (problem.N, problem.d, problem.heads, problem.dtype, gpu.slug) == (
        1024,
        64,
        1024,
        "fp16",
        "a100-sxm-40",
    )
    assert PRESETS["llama3-8b-8k"].build()[0].causal
    assert PRESETS["context-128k"].build()[0].score_bytes > 1e12
    problem, tile, _ = PRESETS["short"].build()
    ratio = traffic.ledger("standard", problem, tile).total / traffic.ledger("bound", problem, tile).total
    assert ratio == pytest.approx(3.904, abs=5e-4)
