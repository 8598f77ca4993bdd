"""Verdicts against occupancy figures that were measured or published, and sentences word for word."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.hardware import GPUS, custom
from workshop.kernels.compile_options import SIDES, TARGETS, Options
from workshop.kernels.compile_report import Report
from workshop.kernels.compile_verdict import (
    gpu_for,
    launches,
    occupancy,
    search,
    sentence,
    short_name,
    suggestions,
    with_article,
)

H100, A100 = GPUS["h100-sxm"], GPUS["a100-sxm-40"]


def made(shared=0, registers=32, stack=0, columns=0, **options):
    return Report(
        options=Options(**options),
        shared_bytes=shared,
        tensor_columns=columns,
        registers=registers,
        stack_bytes=stack,
        instructions={"HGMMA": 1, "MUFU.EX2": 1, "LDL": 5 if stack else 0, "STL": 7 if stack else 0},
        instruction_total=100,
        triton="0",
        kernel_hash="0",
        program_hash="0",
    )


@pytest.mark.parametrize(
    "shared, registers, warps, gpu, blocks, limiter",
    [
        # Resident blocks of two kernels on an H200, as the DRAM traffic of long heads showed (R = 264 and 132
        # on 132 multiprocessors).
        (81920, 168, 4, "h200-sxm", 2, "shared memory"),
        (98304, 168, 8, "h200-sxm", 1, "registers"),
        # CUDA's occupancy tables for compute capability 8.0: 256 threads with 32, 33, 64, 65 and 128 registers.
        (0, 32, 8, "a100-sxm-40", 8, "registers and threads"),
        (0, 33, 8, "a100-sxm-40", 6, "registers"),
        (0, 64, 8, "a100-sxm-40", 4, "registers"),
        (0, 65, 8, "a100-sxm-40", 3, "registers"),
        (0, 128, 8, "a100-sxm-40", 2, "registers"),
        # 255 registers and one warp: two warps a scheduler, eight on the multiprocessor.
        (0, 255, 1, "a100-sxm-40", 8, "registers"),
        # 1,536 threads on an Ada multiprocessor.
        (0, 32, 16, "rtx-4090", 3, "threads"),
        # The largest block of each generation takes the whole multiprocessor, one byte more does not fit.
        (166912, 32, 4, "a100-sxm-80", 1, "shared memory"),
        (166913, 32, 4, "a100-sxm-80", 0, "shared memory"),
        (101376, 32, 4, "l4", 1, "shared memory"),
        (232448, 32, 4, "b200", 1, "shared memory"),
    ],
)
def test_blocks_on_a_multiprocessor(shared, registers, warps, gpu, blocks, limiter):
    held = occupancy(made(shared, registers, warps=warps), GPUS[gpu])
    assert (held.blocks, held.limiter) == (blocks, limiter)


def test_tensor_memory_limits_blackwell_blocks():
    report = made(65536, 128, columns=256, warps=4, target="sm_100")
    held = occupancy(report, GPUS["b200"])
    assert (held.by_tensor_memory, held.blocks) == (2, 2)
    assert not launches(replace(report, tensor_columns=1024), GPUS["b200"])
    assert sentence(replace(report, tensor_columns=1024), GPUS["b200"]) == (
        "needs 1,024 columns of tensor memory, a B200 multiprocessor has 512: it would not launch"
    )


@given(
    st.integers(0, 300_000),
    st.integers(1, 255),
    st.sampled_from([1, 2, 4, 8, 16, 32]),
    st.sampled_from(sorted(GPUS)),
)
def test_what_is_resident_never_exceeds_the_multiprocessor(shared, registers, warps, slug):
    gpu = GPUS[slug]
    held = occupancy(made(shared, registers, warps=warps), gpu)
    assert (
        held.blocks * (shared + gpu.smem_reserved) <= gpu.smem_sm
        or shared > gpu.smem_block
        or not held.blocks
    )
    assert held.blocks * warps * 32 * registers * 4 <= gpu.regfile_sm
    assert held.blocks * warps * 32 <= gpu.max_threads_sm
    more = occupancy(made(shared + 1024, min(255, registers + 8), warps=warps), gpu)
    assert more.blocks <= held.blocks


@pytest.mark.parametrize("target", TARGETS)
def test_every_target_has_a_gpu_and_gpus_of_one_target_share_its_limit(target):
    assert {gpu.smem_block for gpu in GPUS.values() if gpu.target == target} == {gpu_for(target).smem_block}


@pytest.mark.parametrize(
    "slug, text",
    [
        ("h100-sxm", "an H100"),
        ("h200-sxm", "an H200"),
        ("a100-sxm-40", "an A100"),
        ("a100-sxm-80", "an A100"),
        ("b200", "a B200"),
        ("rtx-4090", "a GeForce RTX 4090"),
        ("l4", "an L4"),
        ("mi300x", "an Instinct MI300X"),
    ],
)
def test_articles(slug, text):
    assert with_article(short_name(GPUS[slug])) == text


def test_a_typed_in_gpu_gets_a_sentence_too():
    gpu = custom(1e12, 1e14, smem_block=65536)
    assert (
        sentence(made(81920), gpu) == "needs 81,920 B, a Custom GPU block has 65,536 B: it would not launch"
    )


def shared_by_formula(options):
    return (options.Br + 2 * options.stages * options.Bc) * options.d * 2


def ask(options):
    return made(shared_by_formula(options), 128, **options.record())


def test_a_tile_over_the_limit_is_told_what_would_help():
    options = Options(Br=64, Bc=256, d=128, stages=2)
    found = suggestions(ask(options), H100, ask)
    assert [(one.option, one.value, one.text) for one in found] == [
        ("Bc", 128, "Bc=128"),
        ("stages", 1, "one stage"),
    ]
    assert sentence(ask(options), H100, found) == (
        "needs 278,528 B, an H100 block has 232,448 B: it would not launch; try Bc=128 or one stage"
    )


def test_a_suggestion_that_spills_says_so():
    def spilling(options):
        return replace(ask(options), stack_bytes=928 if options.stages == 1 else 0)

    found = suggestions(ask(Options(Br=64, Bc=256)), H100, spilling)
    assert sentence(ask(Options(Br=64, Bc=256)), H100, found).endswith(
        "try Bc=128 or one stage (registers then spill 928 B a thread with one stage)"
    )


def test_spills_of_two_suggestions_are_told_apart():
    def spilling(options):
        return replace(ask(options), stack_bytes=options.Bc)

    found = suggestions(ask(Options(Br=64, Bc=256)), H100, spilling)
    assert sentence(ask(Options(Br=64, Bc=256)), H100, found).endswith(
        "(registers then spill 128 B a thread with Bc=128 and 256 B a thread with one stage)"
    )


def test_three_limits_at_once_are_listed():
    report = made(148480, 254, columns=512, warps=8, target="sm_100")
    assert occupancy(report, GPUS["b200"]).limiter == "shared memory, registers and tensor memory"


def test_rows_are_suggested_only_when_nothing_else_helps():
    options = Options(Br=1024, Bc=16, d=128, stages=1)
    found = suggestions(ask(options), H100, ask)
    assert [one.text for one in found] == ["Br=512"]
    assert found[0].report.options.warps == 8


def test_nothing_helps_is_said():
    found = suggestions(ask(Options(Br=64, Bc=1024)), H100, lambda options: None)
    assert found == ()
    assert sentence(ask(Options(Br=64, Bc=1024)), H100, found).endswith(
        "it would not launch; no change of Br, Bc or stages alone would help"
    )


@given(
    st.sampled_from([64, 256, 1024]),
    st.sampled_from([256, 1024]),
    st.integers(1, 8),
    st.sampled_from([64, 256]),
)
def test_every_suggestion_launches_and_is_the_smallest_change_of_its_kind(Br, Bc, stages, d):
    options = Options(Br=Br, Bc=Bc, stages=stages, d=d)
    found = suggestions(ask(options), A100, ask)
    single = [("Bc", side) for side in SIDES if side < Bc] + [("stages", n) for n in range(1, stages)]
    single += [("Br", side) for side in SIDES if side < Br]
    helps = any(launches(ask(options.with_(**{name: value})), A100) for name, value in single)
    assert bool(found) == helps, "advice is given exactly where one change helps"
    for one in found:
        assert launches(ask(options.with_(**{one.option: one.value})), A100)
        larger = one.value + 1 if one.option == "stages" else one.value * 2
        if larger < getattr(options, one.option):
            assert not launches(ask(options.with_(**{one.option: larger})), A100)


def test_the_search_can_be_driven_from_outside():
    asking = search(ask(Options(Br=64, Bc=256)), H100)
    assert next(asking) == Options(Br=64, Bc=128)
    assert asking.send(ask(Options(Br=64, Bc=128))) == Options(Br=64, Bc=256, stages=1)
    with pytest.raises(StopIteration) as end:
        asking.send(None)
    assert [one.text for one in end.value.value] == ["Bc=128"]


def test_what_is_hopeless_by_the_formula_is_not_compiled():
    asked = []

    def note(options):
        asked.append((options.Bc, options.stages))
        return ask(options)

    suggestions(ask(Options(Br=256, Bc=1024, d=256, stages=3)), H100, note)
    # 131,072 B for Q, 1,024 B a row of K,V and stage: fits with 33 rows of three stages, asked up to 1.25 x.
    assert asked == [(32, 3)]


@given(st.sampled_from([64, 256]), st.sampled_from([128, 1024]), st.integers(1, 4), st.floats(0.8, 1.2))
def test_a_compiler_that_differs_from_the_formula_is_still_asked_about_what_fits(Br, Bc, stages, factor):
    def other(options):
        return replace(ask(options), shared_bytes=int(factor * shared_by_formula(options)))

    report = other(Options(Br=Br, Bc=Bc, stages=stages))
    best = {}
    for Bc_smaller in (1024, 512, 256, 128, 64, 32, 16):
        if Bc_smaller < Bc and launches(other(report.options.with_(Bc=Bc_smaller)), H100):
            best.setdefault("Bc", Bc_smaller)
    found = {one.option: one.value for one in suggestions(report, H100, other)}
    assert found.get("Bc") == best.get("Bc")


def test_a_tile_that_fits_says_how_many_blocks_and_what_spills():
    report = made(196608, 255, stack=144, Br=256, Bc=128)
    assert sentence(report, H100) == (
        "needs 196,608 B, an H100 block has 232,448 B: it launches, 1 block on a multiprocessor (set by shared memory "
        "and registers); registers spill 144 B a thread, through 12 loads and stores of local memory in the code"
    )
    assert sentence(made(81920, 164), H100) == (
        "needs 81,920 B, an H100 block has 232,448 B: it launches, 2 blocks on a multiprocessor (set by shared memory)"
    )
