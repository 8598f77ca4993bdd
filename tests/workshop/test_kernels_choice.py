"""Which path the fast kernel takes, tile by tile, without a GPU: the device's answers are put in its place."""

import subprocess
import sys

import pytest
import torch

from workshop.kernels import choice, launch, tiles, tma

H200 = 232_448
GPUS = {
    "h200": (9, H200),
    "b200": (10, 232_448),
    "rtx-5090": (12, 101_376),
    "a100": (8, 166_912),
    "l4": (8, 101_376),
}


@pytest.fixture
def on_gpu(monkeypatch):
    """Makes CPU tensors count as being on a GPU of that name."""

    def pretend(name):
        major, limit = GPUS[name]
        monkeypatch.setattr(tma, "capability", lambda device: (major, 0))
        monkeypatch.setattr(tma, "engine", lambda device: major >= 9)
        monkeypatch.setattr(tiles, "shared_limit", lambda device: limit)
        monkeypatch.setattr(choice, "unbuildable", {})

    return pretend


def tensors(N=4096, d=64, dtype=torch.bfloat16, H=2):
    return [torch.empty(1, H, N, d, dtype=dtype) for _ in range(3)]


@pytest.mark.parametrize("d", [40, 64, 72, 128, 136, 256])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("N", [1024, 4096, 16384])
def test_hopper_runs_gluon(on_gpu, d, dtype, causal, N):
    on_gpu("h200")
    taken = choice.choose(*tensors(N=N, d=d, dtype=dtype), causal)
    assert (taken.path, taken.reason) == ("gluon", "")
    # Q rows stay, those of O too where they have a place of their own, pairs of K and V pass.
    D = max(64, 1 << (d - 1).bit_length())
    assert (taken.Br * (1 + taken.apart) + 2 * taken.stages * taken.Bc) * D * 2 + 1024 <= H200
    assert taken.warps == 4 * (taken.Br // 64) + 4


@pytest.mark.parametrize(
    "gpu, changes, path, reason",
    [
        ("h200", {"d": 32}, "tma", "d <= 32"),
        ("h200", {"N": 512}, "tma", "up to 512 queries"),
        ("h200", {"N": 512, "d": 128}, "gluon", ""),
        ("h200", {"N": 256, "d": 128}, "tma", "up to 256 queries"),
        ("h200", {"dtype": torch.float32}, "tma", "float32"),
        ("h200", {"d": 63}, "plain", "stride of 63 elements"),
        ("b200", {}, "tma", "capability 9, this GPU has 10"),
        ("a100", {}, "plain", "no copy engine"),
    ],
)
def test_what_a_faster_path_cannot_take_falls_through_with_the_reason(on_gpu, gpu, changes, path, reason):
    on_gpu(gpu)
    taken = choice.choose(*tensors(**changes))
    assert taken.path == path
    assert reason in taken.reason


def test_strided_views_that_the_engine_can_address_and_some_that_it_cannot(on_gpu):
    on_gpu("h200")
    packed = torch.empty(2, 1000, 3, 4, 64, dtype=torch.bfloat16)
    q, k, v = (packed[:, :, n].transpose(1, 2) for n in range(3))
    assert choice.choose(q, k, v).path == "gluon"
    wide = torch.empty(1, 2, 1000, 128, dtype=torch.bfloat16)
    assert (
        "neighbours along d are 2 elements apart" in choice.choose(wide[..., ::2], *tensors(1000)[:2]).reason
    )
    shifted = torch.empty(1, 2, 1000, 72, dtype=torch.bfloat16)[..., 1:65]
    assert "address is not a multiple of 16" in choice.choose(*tensors(1000)[:2], shifted).reason
    one = torch.empty(1, 2, 1, 64, dtype=torch.bfloat16).expand(1, 2, 1000, 64)
    assert "stride of 0 elements" in choice.choose(one, *tensors(1000)[:2]).reason


def test_a_dimension_of_one_may_have_any_stride():
    x = torch.empty_strided((1, 1, 40, 64), (7, 3, 64, 1), dtype=torch.bfloat16)
    assert tma.refusal("q", x) is None
    assert tma.aligned_strides(x) == [64, 64, 64, 1]


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("d", [8, 32, 64, 128, 256])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize("N", [100, 4096])
def test_a_tile_is_chosen_that_fits(on_gpu, gpu, d, dtype, N):
    on_gpu(gpu)
    taken = choice.choose(*tensors(N, d, dtype))
    size, limit = dtype.itemsize, GPUS[gpu][1]
    if taken.path != "gluon":
        tile = tiles.Tile(taken.Br, taken.Bc, taken.warps, taken.stages)
        assert tiles.shared_bytes(tile, max(16, d), size) <= limit
    for table, walk in ((tiles.OVER_KEYS, "gradient-keys"), (tiles.OVER_QUERIES, "gradient-queries")):
        tile = tiles.best(table, max(16, d), size, limit, walk)
        assert tiles.shared_bytes(tile, max(16, d), size, walk) <= limit


def test_a_kernel_that_was_not_built_is_not_chosen_again(on_gpu):
    on_gpu("h200")
    choice.unbuildable["gluon"] = "no gluon here"
    taken = choice.choose(*tensors())
    assert (taken.path, taken.reason) == ("tma", "no gluon here")
    choice.unbuildable["tma"] = "no descriptors here"
    taken = choice.choose(*tensors())
    assert (taken.path, taken.reason) == ("plain", "no descriptors here")


def test_a_launch_makes_the_tensors_device_current_and_only_if_it_is_not(monkeypatch):
    entered = []

    class Current:
        def __init__(self, device):
            self.device = device

        def __enter__(self):
            entered.append(self.device)

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "device", Current)
    for device in ("cpu", "cuda:0", "cuda:1"):
        with launch.on(torch.device(device)):
            pass
    assert entered == [torch.device("cuda:1")]


def test_importing_the_package_loads_neither_torch_nor_triton():
    code = (
        "import sys, workshop.kernels, workshop.kernels.teaching, workshop.kernels.fast, workshop.kernels.backward;"
        "print(sorted({'torch', 'triton'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
