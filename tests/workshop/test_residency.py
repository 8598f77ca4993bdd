"""The register and shared-memory model against compiled kernels and hardware counters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workshop.strategies import DTYPES, TILES
from workshop.hardware import GPUS
from workshop.problem import Tile
from workshop.residency import kernel_shared_bytes, padded_head, resident_blocks

H200 = GPUS["h200-sxm"]

# A plain Triton 3.6.0 kernel on an H200, d = 128, bf16, 2 stages.
# (Br, Bc, warps, shared bytes, registers, spills)
COMPILED = [
    (64, 32, 4, 49_152, 126, 0),
    (64, 64, 4, 81_920, 168, 0),
    (128, 64, 8, 98_304, 168, 0),
    (256, 64, 8, 131_072, 255, 8),
    (256, 128, 8, 196_608, 255, 30),
]


@pytest.mark.parametrize(("Br", "Bc", "warps", "shared", "registers", "spills"), COMPILED)
def test_compiled_kernels(Br, Bc, warps, shared, registers, spills):
    found = resident_blocks(H200, Tile(Br, Bc), 128, "bf16")
    assert (found.warps, found.shared_bytes) == (warps, shared)
    # Registers are allocated in eights: 126 and 128 are the same to the hardware.
    assert -(-found.registers // 8) == -(-registers // 8)
    assert (found.spilled > 0) == (spills > 0)
    assert found.fits


@pytest.mark.parametrize(
    ("Br", "per_sm", "limiter", "blocks"), [(128, 1, "registers", 132), (64, 2, "shared memory", 264)]
)
def test_resident_blocks_counted_on_an_h200(Br, per_sm, limiter, blocks):
    """128x64: 8 warps x 32 x 168 = 43,008 of 65,536 registers. 64x64: 81,920 B of 233,472 B."""
    found = resident_blocks(H200, Tile(Br, 64), 128, "bf16")
    assert (found.per_sm, found.limiter, found.blocks) == (per_sm, limiter, blocks)


def test_a_tile_that_does_not_launch_is_said_so_and_counted_once():
    """64x256 needs 278,528 B where 232,448 B are allowed (OutOfResources on the machine)."""
    found = resident_blocks(H200, Tile(64, 256), 128, "bf16")
    assert not found.fits
    assert (found.per_sm, found.blocks, found.limiter) == (1, 132, "nothing fits")
    assert "278,528 B" in found.note
    assert "232,448 B" in found.note


@given(tile=TILES, d=st.integers(8, 256), dtype=DTYPES, gpu=st.sampled_from(sorted(GPUS)))
def test_what_is_resident_is_really_available(tile, d, dtype, gpu):
    gpu = GPUS[gpu]
    found = resident_blocks(gpu, tile, d, dtype)
    assert found.blocks == found.per_sm * gpu.sms >= gpu.sms
    if found.fits:
        assert found.per_sm * found.shared_bytes <= gpu.smem_sm
        assert found.per_sm * found.warps * 32 * found.registers * 4 <= gpu.regfile_sm
        assert found.per_sm * found.warps * 32 <= gpu.max_threads_sm
    else:
        assert found.shared_bytes > gpu.smem_block
        assert found.note


def test_head_sizes_are_padded_as_a_kernel_holds_them():
    assert [int(padded_head(d)) for d in (8, 16, 17, 80, 128, 129, 256)] == [16, 16, 32, 128, 128, 256, 256]


@pytest.mark.parametrize(
    ("d", "Br", "Bc", "kib"),
    [(64, 128, 128, 48), (128, 128, 64, 64), (128, 128, 32, 48), (256, 128, 64, 128), (256, 64, 64, 96)],
)
def test_shared_memory_of_flash_attention_2(d, Br, Bc, kib):
    """Tiles of the published FlashAttention-2 kernels, one stage, 16-bit: (Br d + 2 Bc d) x 2 B."""
    assert kernel_shared_bytes(Br, Bc, d, 2, stages=1) == kib * 1024
