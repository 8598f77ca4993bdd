"""Published tiles: what the kernels' own sources choose, head size by head size, and the recorded sweep's winner."""

from __future__ import annotations

import itertools

import pytest

from workshop import kernel_tiles, recordings
from workshop.hardware import GPUS
from workshop.problem import LIMITS, Problem

H100, A100, L4 = GPUS["h100-sxm"], GPUS["a100-sxm-80"], GPUS["l4"]


def tiles(gpu=H100, **changes) -> dict[str, tuple[int, int]]:
    return {t.slug: (t.Br, t.Bc) for t in kernel_tiles.published(Problem(**changes), gpu)}


# flash-attention, csrc/flash_attn/src/flash_fwd_launch_template.h, run_mha_fwd_hdim*, no dropout
@pytest.mark.parametrize(
    ("gpu", "d", "causal", "tile"),
    [
        (H100, 32, False, (128, 128)),
        (H100, 64, True, (128, 128)),
        (A100, 96, False, (128, 64)),
        (L4, 96, True, (64, 64)),
        (H100, 128, False, (128, 64)),
        (A100, 128, True, (128, 64)),
        (L4, 128, False, (128, 32)),
        (L4, 128, True, (64, 64)),
        (H100, 192, False, (128, 64)),
        (A100, 256, False, (128, 64)),
        (H100, 256, False, (64, 64)),
        (L4, 256, False, (64, 64)),
    ],
)
def test_flash_attention_2_chooses_these(gpu, d, causal, tile):
    assert tiles(gpu, d=d, causal=causal)["fa2"] == tile


# flash-attention, hopper/tile_size.h, tile_size_fwd_sm90, neither local nor paged
@pytest.mark.parametrize(
    ("dtype", "d", "causal", "tile"),
    [
        ("bf16", 64, False, (192, 192)),
        ("bf16", 64, True, (192, 128)),
        ("fp16", 96, False, (192, 144)),
        ("bf16", 128, False, (128, 176)),
        ("bf16", 128, True, (128, 128)),
        ("bf16", 192, False, (128, 112)),
        ("bf16", 256, True, (128, 80)),
        ("fp8", 64, False, (192, 160)),
        ("fp8", 96, False, (192, 128)),
        ("fp8", 128, True, (128, 224)),
        ("fp8", 192, False, (128, 160)),
        ("fp8", 256, False, (128, 128)),
    ],
)
def test_flash_attention_3_chooses_these(dtype, d, causal, tile):
    assert tiles(dtype=dtype, d=d, causal=causal)["fa3"] == tile


@pytest.mark.parametrize("d", [64, 128, 256])
def test_tritons_tile_is_the_one_that_no_recorded_tile_beats(d):
    rows = recordings.load("h200").where(metric="time", provider="teaching", d=d, N=4096, heads=32).rows
    rows = [r for r in rows if r.dtype == "bf16" and not r.causal and r.direction == "forward"]
    Br, Bc = tiles(d=d)["triton"]
    won = min(r.p50 for r in rows if (r.Br, r.Bc) == (Br, Bc))
    assert len({(r.Br, r.Bc) for r in rows}) > 1
    assert won == min(r.p50 for r in rows)


def test_tritons_source_names_the_machine_the_versions_and_the_date():
    (source,) = [t.source for t in kernel_tiles.published(Problem(), H100) if t.slug == "triton"]
    row = recordings.load("h200").rows[0]
    assert all(part in source for part in ("NVIDIA H200", row.triton, row.time[:10])) and len(source) < 300


def test_nothing_is_claimed_for_fp32():
    assert tiles(dtype="fp32") == {}


def test_every_head_size_has_a_source_and_a_tile_in_range():
    low, high = LIMITS["Br"]
    for d, dtype, causal, gpu in itertools.product((8, 65, 97, 130, 200, 256), ("bf16", "fp8"), (0, 1), GPUS):
        for tile in kernel_tiles.published(Problem(d=d, dtype=dtype, causal=bool(causal)), GPUS[gpu]):
            assert low <= tile.Br <= high and low <= tile.Bc <= high and tile.source
