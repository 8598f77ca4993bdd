"""What the compiler says without a GPU against what the driver says of the kernel that a call really launched."""

import ctypes

import pytest

from workshop.hardware import GPUS
from workshop.kernels import teaching_attention
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_report import build
from workshop.kernels.compile_verdict import launches, occupancy
from workshop.kernels.teaching import kernel

pytestmark = pytest.mark.gpu

WORD = 4
BUILDS = [
    {"Br": 16, "Bc": 16, "warps": 4},
    {"Br": 64, "Bc": 32, "warps": 4},
    {"Br": 64, "Bc": 64, "warps": 4},
    {"Br": 64, "Bc": 64, "warps": 4, "causal": True},
    {"Br": 64, "Bc": 64, "warps": 4, "stages": 3, "d": 64},
    {"Br": 128, "Bc": 64, "warps": 8},
    {"Br": 128, "Bc": 64, "warps": 8, "dtype": "fp16"},
    {"Br": 128, "Bc": 128, "warps": 8},
    {"Br": 256, "Bc": 64, "warps": 8},
    {"Br": 256, "Bc": 128, "warps": 8},
    {"Br": 64, "Bc": 64, "warps": 4, "d": 40},
    {"Br": 64, "Bc": 64, "warps": 4, "d": 80},
    {"Br": 64, "Bc": 32, "warps": 4, "d": 64, "dtype": "fp32"},
]
REFUSED = [{"Br": 64, "Bc": 256, "warps": 4}, {"Br": 256, "Bc": 256, "warps": 8}]


@pytest.fixture(scope="module")
def torch():
    torch = pytest.importorskip("torch")
    assert torch.cuda.is_available(), "expected a CUDA GPU, found none"
    return torch


@pytest.fixture(scope="module")
def target(torch):
    return "sm_{}{}".format(*torch.cuda.get_device_capability())


def call(torch, options):
    """One launch of the teaching kernel on tensors like those of the report, shorter: contiguous, N a multiple of
    16, 32 heads."""
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}[options.dtype]
    q, k, v = (torch.randn(1, 32, 512, options.d, device="cuda").to(dtype) for _ in range(3))
    tile = {"Br": options.Br, "Bc": options.Bc, "warps": options.warps, "stages": options.stages}
    return teaching_attention(q, k, v, causal=options.causal, **tile)


def launched_by(call):
    """The compiled teaching kernel that a call launched, as Triton holds it."""
    from triton import knobs

    heard = []

    def hear(metadata):
        heard.append(metadata.get()["function"])

    knobs.runtime.launch_enter_hook.add(hear)
    try:
        call()
    finally:
        knobs.runtime.launch_enter_hook.remove(hear)
    caches = kernel().device_caches.values()
    loaded = [one for cache, *_ in caches for one in cache.values() if getattr(one, "function", None)]
    (found,) = [one for one in loaded if one.function in heard]
    return found


def blocks_per_sm(handle, threads, shared):
    """What the driver's own occupancy calculator says of a loaded kernel."""
    driver, blocks = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
    ask = driver.cuOccupancyMaxActiveBlocksPerMultiprocessor
    status = ask(
        ctypes.byref(blocks), ctypes.c_void_p(handle), ctypes.c_int(threads), ctypes.c_size_t(shared)
    )
    assert status == 0, f"expected status 0 of the occupancy calculator, got {status}"
    return blocks.value


@pytest.mark.parametrize("build_of", BUILDS, ids=str)
def test_the_report_equals_the_launched_kernel(torch, target, build_of):
    options = Options(target=target, **build_of)
    launched = launched_by(lambda: call(torch, options))
    torch.cuda.synchronize()
    report = build(options)
    assert report.shared_bytes == launched.metadata.shared
    assert report.registers == launched.n_regs
    assert report.stack_bytes == launched.n_spills * WORD
    gpu = next(gpu for gpu in GPUS.values() if gpu.target == target)
    assert launches(report, gpu)
    resident = blocks_per_sm(launched.function, options.warps * 32, launched.metadata.shared)
    assert occupancy(report, gpu).blocks == resident


@pytest.mark.parametrize("build_of", REFUSED, ids=str)
def test_what_would_not_launch_does_not(torch, target, build_of):
    from triton.runtime.errors import OutOfResources

    options = Options(target=target, **build_of)
    report = build(options)
    gpu = next(gpu for gpu in GPUS.values() if gpu.target == target)
    assert not launches(report, gpu)
    with pytest.raises(OutOfResources) as refused:
        call(torch, options)
    assert (refused.value.required, refused.value.limit) == (report.shared_bytes, gpu.smem_block)


def test_the_tables_limits_are_the_devices(torch, target):
    properties = torch.cuda.get_device_properties(0)
    gpu = next(gpu for gpu in GPUS.values() if gpu.target == target)
    assert properties.shared_memory_per_block_optin == gpu.smem_block
    assert properties.shared_memory_per_multiprocessor == gpu.smem_sm
    assert properties.regs_per_multiprocessor * WORD == gpu.regfile_sm
    assert properties.max_threads_per_multi_processor == gpu.max_threads_sm
