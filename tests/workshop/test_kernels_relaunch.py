"""Launches made again: what reaches the driver is what the installed Triton's own launcher would have handed over."""

from types import SimpleNamespace

import pytest
import torch

triton_driver = pytest.importorskip("triton.backends.nvidia.driver")
if not hasattr(triton_driver, "annotate_arguments"):
    pytest.skip("this Triton compiles its launchers against a GPU's driver", allow_module_level=True)

from triton import knobs  # noqa: E402
from triton.runtime import driver  # noqa: E402

from workshop.kernels import relaunch, tma  # noqa: E402
from workshop.kernels.launch import LaunchSpec  # noqa: E402

NAMES = ("Q", "K", "O", "L", "N", "scale", "BR")
TENSORS = ("Q", "K", "O", "L")


class PyCUtensorMap:
    """A descriptor as the driver's library makes it: known by where it points."""

    def __init__(self, address, *_):
        self.address = address


class Driver:
    """A driver of Triton without a GPU under it; keeps what it is asked to launch."""

    def __init__(self):
        self.launched = []
        self.encoded = 0
        self.device, self.stream = 0, 77
        self.utils = SimpleNamespace(
            launch=self.Launch(self.launched),
            build_signature_metadata=lambda signature: repr(signature).encode(),
            fill_tma_descriptor=self.encode,
            fill_tma_descriptor_tiled=self.encode,
        )

    class Launch:
        def __init__(self, launched):
            self.launched = launched

        def __call__(self, *arguments):
            self.launched.append(flat(arguments))

    def encode(self, *arguments):
        self.encoded += 1
        return PyCUtensorMap(*arguments)

    def get_current_device(self):
        return self.device

    def get_current_stream(self, device):
        return self.stream


def flat(arguments) -> list:
    """As the driver's library reads them: sequences opened, tensors by address, descriptors by where they point."""
    out = []
    for x in arguments:
        if isinstance(x, list | tuple):
            out += flat(x)
        elif isinstance(x, PyCUtensorMap):
            out.append(("descriptor", x.address))
        else:
            out.append(x.data_ptr() if hasattr(x, "data_ptr") else x)
    return out


@pytest.fixture
def gpu(monkeypatch):
    """The stand-in as Triton's active driver, and the parts of the library that a launcher is made with."""
    stand_in = Driver()
    monkeypatch.setattr(driver, "_active", stand_in)
    for name in ("ARG_CONSTEXPR", "ARG_KERNEL", "ARG_TUPLE"):
        monkeypatch.setattr(triton_driver, name, name, raising=False)
    monkeypatch.setattr(triton_driver, "PyKernelArg", lambda **kw: tuple(kw.values()), raising=False)
    return stand_in


def tensors(seed=0):
    torch.manual_seed(seed)
    q, k, o = (torch.randn(1, 2, 64, 64).bfloat16() for _ in range(3))
    return q, k, o, torch.randn(1, 2, 64)


def compiled(described: bool, **metadata):
    """A compiled kernel of four tensors with Triton's real launcher; Q, K and O as descriptors or as addresses."""
    tile = "tensordesc<bf16[1, 1, 64, 64]>" if described else "*bf16"
    types = (tile, tile, tile, "*fp32", "i32", "fp32", "constexpr")
    source = SimpleNamespace(
        signature=dict(zip(NAMES, types, strict=True)), constants={}, fn=SimpleNamespace(arg_names=NAMES)
    )
    encoding = {
        "swizzle": 3,
        "elem_size": 2,
        "elem_type": 10,
        "block_size": [1, 1, 64, 64],
        "fp4_padded": False,
    }
    scratch = dict.fromkeys(("global_scratch_size", "profile_scratch_size"), 0)
    scratch |= dict.fromkeys(("global_scratch_align", "profile_scratch_align"), 1)
    meta = SimpleNamespace(
        **scratch | {"num_ctas": 1, "launch_cooperative_grid": False, "launch_pdl": False} | metadata,
        tensordesc_meta=[encoding] * 3 if described else None,
    )
    kernel = SimpleNamespace(
        run=triton_driver.CudaLauncher(source, meta), function=123, packed_metadata=(4, 1, 0)
    )
    return Compiled(kernel)


class Compiled:
    """What a launch returns: launched again through brackets, as Triton does it."""

    def __init__(self, kernel):
        self.__dict__.update(vars(kernel))
        self.asked = 0

    def __getitem__(self, grid):
        def launch(*arguments):
            self.asked += 1
            stream = driver.active.get_current_stream(0)
            self.run(*grid, stream, self.function, self.packed_metadata, None, None, None, *arguments)

        return launch


def arguments(described: bool, four) -> dict:
    q, k, o, logsumexp = four
    if described:
        q, k, o = (tma.descriptor(x, 64, 64) for x in (q, k, o))
    return dict(zip(NAMES, (q, k, o, logsumexp, 64, 0.125, 64), strict=True))


def repeat_of(described, **metadata) -> relaunch.Repeat:
    spec = LaunchSpec(SimpleNamespace(arg_names=list(NAMES)), arguments(described, tensors()), (5,))
    return relaunch.Repeat(spec, compiled(described, **metadata), TENSORS, torch.device("cuda:0"))


def want(described, four, stream) -> list:
    """What Triton's own way hands over."""
    kernel = compiled(described)
    launched = driver.active.launched
    kernel.run(5, 1, 1, stream, 123, (4, 1, 0), None, None, None, *arguments(described, four).values())
    return launched.pop()


@pytest.mark.parametrize("described", [False, True])
def test_hands_over_what_triton_would(gpu, described):
    repeat = repeat_of(described)
    for stream, seed in ((77, 1), (88, 2), (88, 1), (77, 3)):
        gpu.stream, four = stream, tensors(seed)
        repeat.run(*four)
        assert gpu.launched.pop() == want(described, four, stream)
    assert repeat.handed is not None and repeat.compiled.asked == 0


@pytest.mark.parametrize("described", [False, True])
def test_a_tensor_passed_twice_the_first_time_is_not_taken_for_both_the_next(gpu, described):
    repeat = repeat_of(described)
    q, k, o, logsumexp = tensors()
    for four in ((q, q, o, logsumexp), (q, k, o, logsumexp), (o, k, k, logsumexp)):
        repeat.run(*four)
        assert gpu.launched.pop() == want(described, four, 77)


def test_descriptors_are_kept_by_address_and_not_without_end(gpu, monkeypatch):
    repeat, four = repeat_of(True), tensors()
    repeat.run(*four)
    before = gpu.encoded
    repeat.run(*four)
    assert gpu.encoded == before
    monkeypatch.setattr(relaunch, "MOST_DESCRIPTORS", 2)
    for seed in range(5):
        repeat.run(*tensors(seed))
    assert all(len(kept) <= 2 for *_, kept in repeat.handed.descriptors)


@pytest.mark.parametrize("described", [False, True])
def test_keeps_no_tensor(gpu, described):
    repeat = repeat_of(described)
    repeat.run(*tensors())
    kept = [*repeat.arguments, *repeat.handed.fixed, *repeat.handed.arguments]
    assert not any(torch.is_tensor(x) or torch.is_tensor(getattr(x, "base", None)) for x in kept)


def through_triton(repeat, four, monkeypatch) -> bool:
    """Whether the launch went Triton's way."""
    monkeypatch.setattr(relaunch, "on", lambda device: __import__("contextlib").nullcontext())
    before = repeat.compiled.asked
    repeat.run(*four)
    return repeat.compiled.asked == before + 1


def test_goes_triton_s_way_while_a_profiler_listens_and_on_another_device(gpu, monkeypatch):
    repeat, four = repeat_of(True), tensors()
    assert not through_triton(repeat, four, monkeypatch)
    heard = []
    listener = lambda metadata: heard.append(metadata)  # noqa: E731
    knobs.runtime.launch_enter_hook.add(listener)
    try:
        assert through_triton(repeat, four, monkeypatch)
    finally:
        knobs.runtime.launch_enter_hook.remove(listener)
    assert not through_triton(repeat, four, monkeypatch)
    gpu.device = 1
    assert through_triton(repeat, four, monkeypatch)


def test_goes_triton_s_way_where_its_launcher_is_not_known(gpu, monkeypatch):
    repeat, four = repeat_of(True), tensors()
    inner = repeat.compiled.run.launch
    repeat.compiled.run.launch = lambda *arguments: inner(*arguments)
    for _ in range(2):
        assert through_triton(repeat, four, monkeypatch)
    assert gpu.launched.pop() == want(True, four, 77)
    assert repeat.handed is None


def test_a_kernel_that_wants_scratch_memory_goes_triton_s_way(gpu, monkeypatch):
    from triton.runtime import _allocation

    monkeypatch.setattr(
        _allocation, "_allocator", SimpleNamespace(get=lambda: lambda size, align, stream: torch.empty(size))
    )
    repeat, four = repeat_of(False, global_scratch_size=16), tensors()
    assert through_triton(repeat, four, monkeypatch)
