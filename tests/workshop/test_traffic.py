"""Golden traffic: numbers of the papers and of independent derivations, with their source."""

import numpy as np
import pytest

from workshop.hardware import GPUS
from workshop.problem import Problem, Tile
from workshop.traffic import MODELS, algorithm_1_blocks, ledger, totals

MIB = 1024 * 1024


@pytest.mark.parametrize(
    ("N", "d", "standard", "bound", "ratio"),
    [
        (8192, 128, 272_629_760, 23_031_880, 11.837),
        (8192, 64, None, None, 39.746),
        (512, 128, 1_310_720, 335_728, 3.904),
        (131_072, 128, None, None, 14.07),
    ],
)
def test_headline(N, d, standard, bound, ratio):
    """4Nd + 4N^2 against 4Nd + 2N^2 d^2 / M, M = 228 KiB of bf16 = 116,736 elements, worked out by hand."""
    problem, tile = Problem(N=N, d=d), Tile(sram=228)
    assert tile.M(problem) == 116_736
    found = {model: ledger(model, problem, tile).total for model in ("standard", "bound")}
    if standard is not None:
        assert found["standard"] == standard
        assert abs(found["bound"] - bound) <= 1
    assert found["standard"] / found["bound"] == pytest.approx(ratio, rel=5e-4)


def test_six_models_at_the_defaults():
    """MB a head: 545, 46.1, 273 (541 at Br = 64), 231 (Bc = 228, Tc = 36), 8.4: up to 65x apart."""
    problem, tile = Problem(), Tile()
    megabytes = {model: ledger(model, problem, tile).bytes("bf16") / 1e6 for model in MODELS}
    assert megabytes["standard"] == pytest.approx(545.26, abs=0.01)
    assert megabytes["bound"] == pytest.approx(46.06, abs=0.01)
    assert megabytes["tiled"] == pytest.approx(272.63, abs=0.01)
    assert megabytes["algorithm_1"] == pytest.approx(230.9, abs=0.05)
    assert megabytes["compulsory"] == pytest.approx(8.39, abs=0.01)
    assert ledger("tiled", problem, Tile(Br=64)).bytes("bf16") == pytest.approx(541e6, rel=1e-3)
    assert megabytes["standard"] / megabytes["compulsory"] == 65
    assert algorithm_1_blocks(116_736, 128) == (128, 228)


@pytest.mark.parametrize(
    ("d", "kib", "element_bytes", "Br", "Bc"),
    [
        (64, 64, 2, 64, 128),
        (128, 64, 2, 64, 64),
        (256, 64, 2, 32, 32),
        (64, 100, 2, 64, 200),
        (64, 100, 4, 64, 100),
    ],
)
def test_block_sizes_of_algorithm_1(d, kib, element_bytes, Br, Bc):
    """Dao et al. 2022, Algorithm 1, line 1: Bc = ceil(M / 4d), Br = min(Bc, d)."""
    assert algorithm_1_blocks(kib * 1024 // element_bytes, d) == (Br, Bc)


@pytest.mark.parametrize(("Bc", "gigabytes"), [(64, 6.58), (128, 3.36), (256, 1.74), (512, 0.94)])
def test_algorithm_1_reproduces_the_papers_figure_2(Bc, gigabytes):
    """Dao et al. 2022, Figure 2 middle (N = 1024, d = 64, 16 heads, batch 64, fp16), statistics not
    counted."""
    problem = Problem(N=1024, d=64, H=16, B=64, dtype="fp16")
    found = ledger("algorithm_1", problem, Tile(), statistics=False, blocks=(min(Bc, 64), Bc))
    assert problem.heads * found.bytes("fp16") / 1e9 == pytest.approx(gigabytes, abs=0.005)


def test_honesty_algorithm_1_can_be_worse_than_standard():
    """N = 4096, d = 128, blocks of 64: the tiled order only breaks even, the 2022 order loses."""
    problem, tile = Problem(N=4096), Tile(Br=64, Bc=64, sram=64)
    assert ledger("algorithm_1", problem, tile).total == 102_227_968
    assert ledger("algorithm_1", problem, tile, blocks=(64, 64)).total == 102_227_968
    assert ledger("standard", problem, tile).total == 69_206_016
    assert ledger("tiled", problem, tile).total == 68_157_440


def test_long_sequence_is_exact():
    """N = 2^20: N^2 = 2^40, worked out with powers of two."""
    problem, tile = Problem(N=2**20), Tile(Br=128, Bc=64)
    assert ledger("standard", problem, tile).total == 2**29 + 2**42
    assert ledger("tiled", problem, tile).total == 2**28 + 2**28 * 2**13
    assert ledger("compulsory", problem, tile).total == 2**29


def test_two_to_the_32_scores_do_not_wrap():
    problem = Problem(N=65_536)
    assert ledger("standard", problem, Tile()).total == 4 * 65_536 * 128 + 4 * 2**32
    assert int(totals("standard", problem, Tile(), N=np.array([65_536], dtype=np.int32))[0]) == 2**34 + 2**25


def test_scale_and_mask_passes_add_two_n_squared_each():
    """PyTorch eager with a scale pass crosses the memory six times with N^2 (counted on an H200)."""
    problem, tile = Problem(N=4096), Tile()
    plain = ledger("standard", problem, tile)
    scaled = ledger("standard", problem, tile, scale_pass=True)
    assert scaled.of("S") + scaled.of("P") == 6 * 4096**2
    assert (
        ledger("standard", problem, tile, scale_pass=True, mask_pass=True).total == plain.total + 4 * 4096**2
    )


def test_counted_crossings_of_eager_attention():
    """H200, torch 2.11, N = 4096, d = 128, 32 heads, bf16: DRAM read 0.07+1.07+1.07+1.12, written 3.18 GB."""
    found = ledger("standard", Problem(N=4096), Tile(), scale_pass=True)
    layer = 2 * 32
    assert found.reads * layer / 1e9 == pytest.approx(0.07 + 1.07 + 1.07 + 1.12, rel=0.02)
    assert found.writes * layer / 1e9 == pytest.approx(1.05 * 3 + 0.03, rel=0.03)


@pytest.mark.parametrize(("Br", "gigabytes"), [(16, 17.21), (64, 4.328), (128, 2.181)])
def test_tiled_reads_are_the_loads_an_h200_counts(Br, gigabytes):
    """H200 hardware counters, plain Triton forward, N = 4096, d = 128, 32 heads, bf16: L1 global loads."""
    found = ledger("tiled", Problem(N=4096), Tile(Br=Br, Bc=64))
    assert found.reads * 2 * 32 / 1e9 == pytest.approx(gigabytes, rel=1e-3)


def test_compulsory_reads_are_what_dram_counts_when_k_and_v_fit_in_l2():
    """Same run: 100.7 to 100.8 MB of DRAM reads for Q + K + V."""
    found = ledger("compulsory", Problem(N=4096), Tile())
    assert found.reads * 2 * 32 / 1e6 == pytest.approx(100.75, rel=2e-3)


@pytest.mark.parametrize(
    ("N", "Br", "passes", "dram_read"),
    [(131_072, 64, 8.01, 570.8e6), (131_072, 128, 8.01, 570.8e6), (262_144, 128, 16.04, 2.22e9)],
)
def test_waves_are_the_passes_an_h200_counts(N, Br, passes, dram_read):
    """H200 hardware counters, one head, d = 128, bf16, Bc = 64: DRAM reads when K, V exceed the L2."""
    problem = Problem(N=N, H=1)
    found = ledger("waves", problem, Tile(Br=Br, Bc=64), GPUS["h200-sxm"])
    assert found.of("K") / (N * 128) == pytest.approx(passes, rel=3e-3)
    assert found.reads * 2 == pytest.approx(dram_read, rel=5e-3)


def test_waves_undercount_when_heads_share_the_chip():
    """Same machine, N = 65,536, four heads: 4.69 passes counted, where one head alone would take four."""
    found = ledger("waves", Problem(N=65_536, H=4), Tile(Br=64, Bc=64), GPUS["h200-sxm"])
    modelled = found.of("K") / (65_536 * 128)
    assert modelled == 4
    assert modelled < 4.69 < 1.2 * modelled


def test_training_writes_one_number_a_row():
    problem, tile = Problem(N=1000), Tile()
    for model in ("bound", "tiled", "compulsory", "waves"):
        assert ledger(model, problem, tile, training=True).total == ledger(model, problem, tile).total + 1000
    for model in ("standard", "algorithm_1"):
        assert ledger(model, problem, tile, training=True) == ledger(model, problem, tile)


def test_unknown_models_and_sizes_are_refused():
    with pytest.raises(ValueError, match=r"expected one of standard, .*got 'flash'"):
        ledger("flash", Problem(), Tile())
    with pytest.raises(ValueError, match="Br: expected whole numbers from 1 to 1,024"):
        totals("tiled", Problem(), Tile(), Br=np.array([0, 8]))
    with pytest.raises(ValueError, match="N: expected whole numbers"):
        totals("tiled", Problem(), Tile(), N=np.array([8.0]))
