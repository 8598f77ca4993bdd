import pytest

from workshop.hardware import GPUS, custom
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_request import request
from workshop.problem import Problem, Tile


@pytest.mark.parametrize(
    "slug, target", [("h200-sxm", "sm_90"), ("a100-sxm-80", "sm_80"), ("l4", "sm_89"), ("b200", "sm_100")]
)
def test_the_readers_choice_is_compiled_as_it_is(slug, target):
    asked = request(Problem(d=64, dtype="fp16", causal=True), Tile(128, 64), GPUS[slug], stages=3, warps=4)
    assert asked.options == Options(128, 64, 64, "fp16", 4, 3, target, True)
    assert asked.gpu is GPUS[slug] and asked.notes == ()


def test_a_tile_is_rounded_up_and_the_reader_is_told():
    asked = request(Problem(), Tile(Br=100, Bc=1), GPUS["h100-sxm"])
    assert (asked.options.Br, asked.options.Bc, asked.options.warps) == (128, 16, 8)
    assert asked.notes == (
        "Triton's blocks have sides that are powers of two from 16: 100 x 1 is compiled as 128 x 16.",
    )


def test_a_typed_in_gpu_keeps_its_own_limits():
    gpu = custom(1e12, 1e14, smem_block=65536)
    asked = request(Problem(), Tile(64, 64), gpu)
    assert asked.options.target == "sm_90" and asked.gpu is gpu and "compiled for sm_90" in asked.notes[0]


@pytest.mark.parametrize(
    "problem, slug, said",
    [(Problem(dtype="fp8"), "h100-sxm", "no fp8 version"), (Problem(), "mi300x", "NVIDIA GPUs only")],
)
def test_what_cannot_be_compiled_is_a_sentence(problem, slug, said):
    asked = request(problem, Tile(64, 64), GPUS[slug])
    assert asked.options is None and said in asked.notes[0]
