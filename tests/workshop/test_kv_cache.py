"""Published sizes of models and caches, and a decoding step counted key by key."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop import expressions, kv_cache
from workshop.hardware import GPUS
from workshop.language_models import KINDS, LANGUAGE_MODELS, LanguageModel

MODELS = st.sampled_from(list(LANGUAGE_MODELS.values()))


# Parameters as published with the weights (model cards and the totals of their safetensors indices). Falcon's
# file stores its shared embedding twice and says 7,217,189,760.
@pytest.mark.parametrize(
    ("slug", "published"),
    [
        ("llama-2-7b", 6_738_415_616),
        ("llama-3-8b", 8_030_261_248),
        ("llama-3-70b", 70_553_706_496),
        ("mistral-7b", 7_241_732_096),
        ("qwen2.5-7b", 7_615_616_512),
        ("falcon-7b", 7_217_189_760 - 65_024 * 4_544),
        ("gemma-2b", 2_506_172_416),
    ],
)
def test_parameters_follow_from_the_architecture(slug, published):
    assert LANGUAGE_MODELS[slug].parameters == published


def test_all_three_kinds_are_there():
    assert {model.kind for model in LANGUAGE_MODELS.values()} == set(KINDS)
    assert LANGUAGE_MODELS["llama-2-7b"].kind == "multi-head"
    assert LANGUAGE_MODELS["falcon-7b"].group == 71


# Half a megabyte a token for a 7B multi-head model, a quarter of it in Llama 3's eight groups.
@pytest.mark.parametrize(
    ("slug", "a_token"),
    [("llama-2-7b", 524_288), ("llama-3-8b", 131_072), ("llama-3-70b", 327_680), ("falcon-7b", 8_192)],
)
def test_cache_of_a_token_in_16_bit(slug, a_token):
    model = LANGUAGE_MODELS[slug]
    assert kv_cache.token_bytes(model, "bf16") == a_token
    assert kv_cache.cache_bytes(model, 8192, "bf16") == 8192 * a_token
    assert kv_cache.cache_bytes(model, 8192, "fp8") * 2 == 8192 * a_token


@given(MODELS, st.integers(1, 1_048_576), st.sampled_from(["bf16", "fp32", "fp8"]))
def test_the_cache_is_its_tensors(model, N, dtype):
    size = {"bf16": 2, "fp32": 4, "fp8": 1}[dtype]
    tensors = [
        (model.kv_heads, min(N, model.window or N), model.d) for _ in range(model.layers) for _ in ("K", "V")
    ]
    assert kv_cache.cache_bytes(model, N, dtype) == sum(a * b * c for a, b, c in tensors) * size


def test_a_rolling_buffer_stops_growing_at_the_window():
    """Jiang et al., Mistral 7B, 2023: W = 4,096; at 32k tokens the cache is an eighth of what it would be."""
    model = LANGUAGE_MODELS["mistral-7b"]
    full = 2 * model.layers * model.kv_heads * model.d * 32_768 * 2
    assert kv_cache.cache_bytes(model, 32_768, "bf16") * 8 == full
    assert kv_cache.cache_bytes(model, 4096, "bf16") == kv_cache.cache_bytes(model, 1_048_576, "bf16")
    assert kv_cache.cache_bytes(model, 4095, "bf16") < kv_cache.cache_bytes(model, 4096, "bf16")
    assert [m.slug for m in LANGUAGE_MODELS.values() if m.window] == ["mistral-7b"]
    assert math.isinf(kv_cache.crossover(model, 1)) and kv_cache.crossover(model, 64) < 4096


@given(MODELS, st.integers(1, 1_048_576), st.integers(1, 8), st.sampled_from(list(GPUS.values())))
def test_one_more_conversation_does_not_fit(model, N, gpus, gpu):
    fit = kv_cache.fit(model, N, "bf16", gpu, gpus)
    assert fit.usable <= gpu.memory * gpus
    if not fit.weights_fit:
        assert fit.conversations == 0 and fit.spare == 0
        assert kv_cache.gpus_for_weights(model, "bf16", gpu) > gpus
        return
    assert fit.weights + fit.conversations * fit.conversation <= fit.usable
    assert fit.weights + (fit.conversations + 1) * fit.conversation > fit.usable
    assert kv_cache.gpus_for_weights(model, "bf16", gpu) <= gpus


def test_golden_fit():
    """72 of 80 GB: Llama 2 7B takes 13.5, and a conversation of 8,192 tokens 4.29."""
    fit = kv_cache.fit(LANGUAGE_MODELS["llama-2-7b"], 8192, "bf16", GPUS["h100-sxm"])
    assert (fit.weights, fit.conversation, fit.conversations) == (13_476_831_232, 4_294_967_296, 13)
    assert kv_cache.gpus_for_weights(LANGUAGE_MODELS["llama-3-70b"], "bf16", GPUS["h100-sxm"]) == 2


@given(MODELS, st.integers(1, 100_000), st.integers(1, 64))
def test_a_step_counted_head_by_head(model, N, B):
    step = kv_cache.step(model, N, B, "bf16", GPUS["h100-sxm"])
    seen = min(N, model.window or N)
    a_head = 2 * seen * model.d + 2 * seen * model.d  # q k^T, then p v
    assert step.attention_flops == a_head * model.heads * model.layers * B
    assert step.attention_intensity == pytest.approx(model.group, rel=1e-15)
    assert step.matrix_intensity == pytest.approx(B, rel=1e-15)
    assert step.seconds >= (step.weights + step.cache) / 3.35e12 * (1 - 1e-12)
    four = kv_cache.step(model, N, B, "bf16", GPUS["h100-sxm"], gpus=4)
    assert four.seconds == pytest.approx(step.seconds / 4, rel=1e-12)


def test_multi_head_decoding_sits_far_below_the_ridge():
    gpu = GPUS["h100-sxm"]
    step = kv_cache.step(LANGUAGE_MODELS["llama-2-7b"], 8192, 1, "bf16", gpu)
    assert step.attention_intensity == 1 and gpu.ridge("bf16") == pytest.approx(295.2, abs=0.1)
    assert step.attention_s == step.cache / gpu.bandwidth


@given(MODELS, st.integers(1, 64))
def test_crossover_is_where_caches_weigh_what_the_weights_do(model, B):
    N = kv_cache.crossover(model, B)
    if math.isinf(N):
        most = B * kv_cache.cache_bytes(model, 1_048_576, "bf16")
        assert model.window and most <= kv_cache.weight_bytes(model, "bf16")
        return
    below, above = int(N), int(N) + 1
    assert B * kv_cache.cache_bytes(model, below, "bf16") <= kv_cache.weight_bytes(model, "bf16")
    assert B * kv_cache.cache_bytes(model, above, "bf16") > kv_cache.weight_bytes(model, "bf16")


def test_formulas_evaluate_to_their_functions():
    model = LANGUAGE_MODELS["llama-3-70b"]
    values = {"layers": model.layers, "kv_heads": model.kv_heads, "d": model.d, "N": 8192, "b": 2}
    assert expressions.evaluate(kv_cache.CACHE.tree(), values) == kv_cache.cache_bytes(model, 8192, "bf16")
    assert kv_cache.CACHE.function(**values) == kv_cache.cache_bytes(model, 8192, "bf16")
    assert "2.68 GB" in kv_cache.CACHE.with_values(**values)
    assert expressions.evaluate(kv_cache.INTENSITY.tree(), {"group": 8, "b": 2}) == 8
    assert kv_cache.INTENSITY.function(group=8, b=2) == 8


def test_score_row_is_small_beside_the_cache():
    model = LANGUAGE_MODELS["llama-2-7b"]
    a_layer = kv_cache.cache_bytes(model, 8192, "bf16") // model.layers
    assert a_layer == 2 * model.d * kv_cache.score_bytes(model, 8192, "bf16")
    assert kv_cache.score_bytes(model, 8192, "bf16", queries=8192) == 4_294_967_296  # a prompt of as many


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: kv_cache.cache_bytes(LANGUAGE_MODELS["gemma-2b"], -1, "bf16"), "0 tokens or more; got -1"),
        (lambda: kv_cache.fit(LANGUAGE_MODELS["gemma-2b"], 0, "bf16", GPUS["l4"]), "1 or more"),
        (lambda: LanguageModel("x", "X", 1, 8, 6, 4, 8, 8, 8, 8, ""), "multiple of kv_heads=4; got 6"),
    ],
)
def test_bad_arguments_say_expected_and_got(call, message):
    with pytest.raises(ValueError, match=message):
        call()
