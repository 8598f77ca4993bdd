"""The register and shared-memory model against compiled kernels and hardware counters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.workshop.strategies import DTYPES, TILES
from workshop import recordings, residency
from workshop.hardware import GPUS
from workshop.kernel_memory import kernel_shared_bytes, padded_head, tensor_columns
from workshop.kernels import compile_table, compile_verdict
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_report import build
from workshop.problem import Tile
from workshop.residency import resident_blocks

H200 = GPUS["h200-sxm"]

# Triton's compiler, tile by tile: 250 rows a target, bf16 (recordings/compiled/compile-table.csv).
BUILT = [found for found in map(compile_table.parse, compile_table.read()) if not isinstance(found[1], str)]


def of(target: str) -> list:
    return [(o, r) for o, r in BUILT if o.target == target]


def wanted(options) -> int:
    """Shared memory by the formula."""
    return int(
        kernel_shared_bytes(options.Br, options.Bc, options.d, 2, options.stages, target=options.target)
    )


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90"])
def test_shared_memory_is_the_compilers_to_the_byte(target):
    assert len(of(target)) == 250
    assert [(o, wanted(o)) for o, _ in of(target)] == [(o, r.shared_bytes) for o, r in of(target)]


#: Bytes of barriers, statistics and alignment that the formulas leave out on sm_100.
UNCOUNTED = 2048


def test_blackwell_asks_for_barriers_and_alignment_besides():
    assert len(of("sm_100")) == 250
    assert all(0 <= r.shared_bytes - wanted(o) <= UNCOUNTED for o, r in of("sm_100"))
    # and the whole of it is small beside the tiles
    assert sum(r.shared_bytes - wanted(o) for o, r in of("sm_100")) < 0.01 * sum(
        wanted(o) for o, _ in of("sm_100")
    )


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90", "sm_100"])
def test_tensor_memory_is_the_compilers(target):
    for options, report in of(target):
        columns = tensor_columns(options.Br, options.Bc, options.d, 2, target)
        assert int(columns) == report.tensor_columns, options


# Share of the tiles whose blocks on a multiprocessor the model says as the compiler's figures do, and the share within
# one block: floors below what was found (0.888, 0.936, 0.844, 0.844; 1, 0.996, 0.996, 0.988).
@pytest.mark.parametrize(
    ("target", "equal", "near"),
    [("sm_80", 0.88, 1), ("sm_89", 0.93, 0.99), ("sm_90", 0.84, 0.99), ("sm_100", 0.84, 0.98)],
)
def test_blocks_on_a_multiprocessor_are_the_compilers_or_one_off(target, equal, near):
    gpu = compile_verdict.gpu_for(target)
    off = []
    for options, report in of(target):
        found = residency.occupancy(gpu, options.Br, options.Bc, options.d, 2, options.stages)
        off.append(abs(int(found["blocks"]) - compile_verdict.occupancy(report, gpu).blocks))
    assert len(off) == 250
    assert off.count(0) >= equal * len(off)
    assert sum(miss <= 1 for miss in off) >= near * len(off)
    assert max(off) <= 2


def test_small_tiles_that_were_underestimated():
    """64 x 64 and 32 x 64 at d = 64: four blocks and five (causal: four), 128 x 64 two, as compiled for an H100."""
    for Br, Bc, blocks in ((64, 64, 4), (32, 64, 5), (128, 64, 2)):
        report = compile_table.lookup(Options(Br=Br, Bc=Bc, d=64))
        assert compile_verdict.occupancy(report, GPUS["h100-sxm"]).blocks == blocks
        found = resident_blocks(GPUS["h100-sxm"], Tile(Br, Bc), 64, "bf16")
        assert found.per_sm == blocks or (Br == 32 and found.per_sm == blocks - 1), (Br, Bc)


def test_what_spills_badly_is_said_to_spill():
    """Stack of 100 B a thread and more: the model wants over 255 registers, but for four in a hundred."""
    missed = [
        options
        for options, report in BUILT
        if report.stack_bytes >= 100 and options.target != "sm_100" and not spills(options)
    ]
    spilling = [o for o, r in BUILT if r.stack_bytes >= 100 and o.target != "sm_100"]
    assert len(spilling) > 100 and len(missed) <= 0.04 * len(spilling), missed


def spills(o) -> bool:
    gpu = compile_verdict.gpu_for(o.target)
    return resident_blocks(gpu, Tile(o.Br, o.Bc), o.d, "bf16", o.stages).spilled > 0


def test_the_profilers_shared_memory_on_an_h200_is_the_formula():
    rows = [
        row
        for row in recordings.load("h200").where(metric="shared", provider="teaching").rows
        if row.direction == "forward" and row.dtype == "bf16" and row.warps == (4 if row.Br <= 64 else 8)
    ]
    assert len({(row.Br, row.Bc, row.d, row.stages) for row in rows}) > 50
    for row in rows:
        found = kernel_shared_bytes(row.Br, row.Bc, row.d, 2, row.stages, target="sm_90")
        assert int(found) == row.p50, row


@pytest.mark.parametrize(("Br", "Bc", "d", "target"), [(16, 16, 16, "sm_80"), (32, 16, 16, "sm_90")])
def test_fp32_is_fed_from_registers_and_passes_weights_on(Br, Bc, d, target):
    """Compiled here, for the table is bf16: to 4 B a row for the statistics and 256 B for alignment."""
    pytest.importorskip("triton")
    report = build(Options(Br=Br, Bc=Bc, d=d, dtype="fp32", target=target))
    found = int(kernel_shared_bytes(Br, Bc, d, 4, 2, target=target))
    assert 0 <= report.shared_bytes - found <= 4 * Br + 256


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
        assert found.shared_bytes > gpu.smem_block or found.tensor_columns > residency.TENSOR_COLUMNS
        assert found.note


def test_head_sizes_are_padded_as_a_kernel_holds_them():
    assert [padded_head(d) for d in (8, 16, 17, 80, 128, 129, 256)] == [16, 16, 32, 128, 128, 256, 256]


@pytest.mark.parametrize(
    ("d", "Br", "Bc", "kib"),
    [(64, 128, 128, 48), (128, 128, 64, 64), (128, 128, 32, 48), (256, 128, 64, 128), (256, 64, 64, 96)],
)
def test_shared_memory_of_flash_attention_2(d, Br, Bc, kib):
    """Tiles of the published FlashAttention-2 kernels, one stage, 16-bit: (Br d + 2 Bc d) x 2 B."""
    assert kernel_shared_bytes(Br, Bc, d, 2, stages=1) == kib * 1024
