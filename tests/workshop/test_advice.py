"""Advice after a refusal: what is advised launches, on every target and for every row that the table knows."""

import re

import pytest

from workshop.kernels.advice import NOTHING_SINGLE, changes, refusal, target_like
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_report import Report
from workshop.kernels.compile_table import find, parse, read
from workshop.kernels.compile_verdict import gpu_for, launches, shared_formula, suggestions
from workshop.kernels.measure import explain_failure
from workshop.kernels.plan import Case

CAPABILITY = {"sm_80": "8.0", "sm_89": "8.9", "sm_90": "9.0"}
NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4}


def case_of(o: Options) -> Case:
    return Case(
        "teaching", dtype=o.dtype, d=o.d, causal=o.causal, Br=o.Br, Bc=o.Bc, warps=o.warps, stages=o.stages
    )


def known(options: Options) -> Report | None:
    found = find(options)
    return found if isinstance(found, Report) else None


def refused(target: str) -> list[Report]:
    """Every build of the shipped table that asks for more shared memory than a block may have."""
    reports = [found for _, found in map(parse, read()) if isinstance(found, Report)]
    limit = gpu_for(target).smem_block
    return [one for one in reports if one.options.target == target and one.shared_bytes > limit]


def changed(options: Options, said: str) -> Options:
    """The build that a piece of advice means."""
    side = re.fullmatch(r"(B[rc])=(\d+)", said)
    return options.with_(**({side[1]: int(side[2])} if side else {"stages": NUMBERS[said.split()[0]]}))


@pytest.mark.parametrize("target", CAPABILITY)
def test_what_is_advised_launches_and_is_what_the_compilers_verdict_advises(target):
    gpu, checked = gpu_for(target), 0
    for report in refused(target):
        like = target_like(CAPABILITY[target])
        said = changes(case_of(report.options), "shared memory", report.shared_bytes, gpu.smem_block, like)
        for text in said if said != [NOTHING_SINGLE] else ():
            better = known(changed(report.options, text))
            checked += better is not None
            assert better is None or launches(better, gpu), (report.options, text)
        asked = []
        verdict = suggestions(
            report, gpu, lambda options, asked=asked: asked.append(options) or known(options)
        )
        if all(known(options) for options in asked):
            assert said == ([one.text for one in verdict] or [NOTHING_SINGLE]), report.options
    assert checked > 20, "the table holds refusals, and tiles to compare the advice with"


@pytest.mark.parametrize(
    "capability, target",
    [
        ("7.5", "sm_80"), ("8.0", "sm_80"), ("8.9", "sm_80"), ("9.0", "sm_90"), ("10.0", "sm_100"),
        ("10.3", "sm_100"), ("12.0", "sm_80"),
    ],
)  # fmt: skip
def test_a_device_is_advised_by_how_its_tensor_cores_are_fed(capability, target):
    assert target_like(capability) == target


# Triton 3.6.0's own figures for the teaching kernel on an H200, d=128, bf16, 2 stages.
@pytest.mark.parametrize(
    ("Br", "Bc", "shared"), [(64, 32, 49152), (64, 64, 81920), (64, 256, 278528), (128, 64, 98304)]
)
def test_the_formula_is_the_compilers(Br, Bc, shared):
    assert shared_formula(Options(d=128, Br=Br, Bc=Bc, warps=4, stages=2)) == shared


def test_the_way_out_is_the_smallest_change_that_fits():
    case = Case("teaching", d=128, Br=64, Bc=256, warps=4, stages=2)
    assert refusal(case, "shared memory", 278528, 232448, "NVIDIA H200", "9.0") == (
        "needs 278,528 B of shared memory, a block of NVIDIA H200 has 232,448 B: it would not launch; "
        "try Bc=128 or one stage"
    )


def test_a_larger_demand_than_the_model_shrinks_further():
    case = Case("teaching", d=128, Br=64, Bc=64, warps=4, stages=3)
    required = 2 * shared_formula(Options(d=128, Br=64, Bc=64, warps=4, stages=3))
    assert changes(case, "shared memory", required, 100_000, "sm_90") == ["Bc=16", "one stage"]


def test_a_q_block_too_tall_is_told_to_shrink():
    case = Case("teaching", d=256, Br=512, Bc=16, warps=8, stages=1)
    required = shared_formula(Options(d=256, Br=512, Bc=16, warps=8, stages=1))
    assert changes(case, "shared memory", required, 232448, "sm_90") == ["Br=256"]


def test_columns_of_tensor_memory_are_advised_about_as_well():
    case = Case("teaching", d=128, Br=256, Bc=128, warps=8, stages=2)
    assert changes(case, "tensor memory", 640, 512, "sm_100") == ["Bc=64"]


def test_other_limits_read_well():
    case = Case("teaching", Br=64, Bc=64, warps=64, stages=2)
    said = refusal(case, "threads", 2048, 1024, "X", "9.0")
    assert "2,048 threads" in said and "fewer warps" in said
    case = Case("teaching", Br=64, Bc=64, warps=4, stages=2)
    assert "600 columns of tensor memory" in refusal(case, "tensor memory", 600, 512, "X", "10.0")
    assert refusal(case, "barriers", 20, 16, "X", "9.0").endswith("would not launch; try smaller Br and Bc")


def test_a_tile_of_no_options_gets_no_advice_that_cannot_be_built():
    assert changes(Case("fast"), "shared memory", 10**6, 232448, "sm_90") == []
    wide = Case("fast", Br=192, Bc=128, warps=16, stages=2)
    assert changes(wide, "shared memory", 10**6, 232448, "sm_90") == [NOTHING_SINGLE]


@pytest.mark.parametrize("target", CAPABILITY)
def test_a_run_is_advised_for_the_device_that_refused(target):
    report, limit = known(Options(Br=64, Bc=256, target=target)), gpu_for(target).smem_block

    class OutOfResources(RuntimeError):
        name, required = "shared memory", report.shared_bytes

    OutOfResources.limit = limit
    case = case_of(report.options)
    kind, sentence, _ = explain_failure(case, OutOfResources(), "X", CAPABILITY[target])
    advised = changes(case, "shared memory", report.shared_bytes, limit, target)
    assert kind == "refused" and sentence.endswith(f"try {' or '.join(advised)}")
