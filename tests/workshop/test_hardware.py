"""The hardware table against its sources, and custom GPUs."""

import copy
import pickle

import pytest

from workshop.hardware import GPUS, MIB, custom, gpu_named


@pytest.mark.parametrize(
    ("slug", "ridge"),
    [
        ("a100-sxm-40", 201),
        ("a100-sxm-80", 153),
        ("h100-sxm", 295),
        ("h200-sxm", 206),
        ("b200", 281),
        ("rtx-4090", 164),
        ("l4", 403),
        ("mi300x", 247),
    ],
)
def test_ridges_are_dense(slug, ridge):
    """Peak / bandwidth in bf16 from the data sheets; the sparse peak of an H100 would give 591."""
    assert round(GPUS[slug].ridge("bf16")) == ridge


def test_shared_memory_limits_are_those_the_compiler_prints():
    """CUDA Programming Guide, compute capabilities 8.0, 8.9 and 9.0: 163, 99 and 227 KiB a block."""
    limits = {slug: GPUS[slug].smem_block for slug in GPUS}
    assert limits["a100-sxm-40"] == limits["a100-sxm-80"] == 166_912
    assert limits["rtx-4090"] == limits["l4"] == 101_376
    assert limits["h100-sxm"] == limits["h200-sxm"] == limits["b200"] == 232_448
    assert GPUS["h100-sxm"].smem_sm == 233_472


def test_every_row_is_complete_and_sourced():
    assert len(GPUS) == 8
    for slug, gpu in GPUS.items():
        assert gpu.slug == slug
        assert gpu.sources
        assert min(gpu.bandwidth, gpu.sms, gpu.l2, gpu.regfile_sm, gpu.memory, gpu.host_link) > 0
        assert 0 < gpu.smem_block <= gpu.smem_sm
        assert gpu.ridge("fp32") < gpu.ridge("bf16") <= gpu.ridge("fp8")


def test_disputed_figures_are_flagged():
    assert GPUS["h200-sxm"].l2 == 60 * MIB
    assert any("disputed" in note for note in GPUS["h200-sxm"].notes)
    assert any("disputed" in note for note in GPUS["b200"].notes)
    assert GPUS["a100-sxm-40"].on_chip_bandwidth == 19e12
    assert all(gpu.on_chip_bandwidth is None for slug, gpu in GPUS.items() if not slug.startswith("a100"))


def test_a_dtype_without_a_rate_is_computed_in_the_next_wider_one():
    gpu = GPUS["a100-sxm-80"]
    assert gpu.peak["fp8"] is None
    rate = gpu.rate("fp8")
    assert (rate.flops, rate.dtype) == (312e12, "bf16")
    assert "no fp8" in rate.note
    assert GPUS["h100-sxm"].rate("fp8").note is None
    with pytest.raises(ValueError, match="dtype: expected one of"):
        gpu.rate("int8")


def test_the_table_cannot_be_changed_but_can_be_copied_to_a_worker():
    gpu = gpu_named("l4")
    with pytest.raises(TypeError):
        gpu.peak["bf16"] = 1.0
    with pytest.raises(TypeError):
        GPUS["mine"] = gpu
    assert pickle.loads(pickle.dumps(gpu)) == copy.deepcopy(gpu) == gpu
    assert hash(gpu) == hash(copy.deepcopy(gpu))
    with pytest.raises(ValueError, match=r"gpu: expected one of h100-sxm, .*; got 'h100'"):
        gpu_named("h100")


def test_custom():
    gpu = custom(2e12, 400e12, sms=64, memory=48_000_000_000)
    assert (gpu.slug, gpu.ridge("bf16"), gpu.ridge("fp8"), gpu.sms) == ("custom", 200, 200, 64)
    for changes in ({"bandwidth": 0}, {"peak": float("inf")}, {"peak": float("nan")}, {"bandwidth": True}):
        with pytest.raises(ValueError, match="expected a finite number above 0"):
            custom(**({"bandwidth": 1e12, "peak": 1e14} | changes))
    with pytest.raises(ValueError, match="smem_block: expected at most"):
        custom(1e12, 1e14, smem_sm=1024, smem_block=2048)
