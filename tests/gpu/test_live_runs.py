"""The queue, the worker and the engine on a real GPU: figures, refusals, predictions, and a crash that is survived."""

import shutil
import threading

import pytest

from workshop.kernels import cli_measure, counters
from workshop.kernels.identify import peak_flops, rate
from workshop.kernels.plan import Case
from workshop.kernels.requests import Request
from workshop.kernels.runner import find_gpu, shared_runner
from workshop.recordings import problems, read

pytestmark = pytest.mark.gpu


def run(request):
    over, updates = threading.Event(), []

    def heard(update):
        updates.append(update)
        if update.final:
            over.set()

    shared_runner().submit(request, heard)
    assert over.wait(240), updates[-1:]
    return updates[-1]


def test_exactly_the_readers_shape_is_run_by_every_kernel():
    end = run(Request(N=1000, d=80, H=3, B=2, causal=True, Br=32, Bc=64, warps=4, stages=2))
    assert end.state == "done", end.sentence
    assert [problem for row in end.result.rows for problem in problems(row)] == []
    timed = end.result.where(metric="time")
    assert {"teaching", "fast", "standard", "sdpa-flash"} <= set(timed.values("provider")), end.sentence
    for row in timed.rows:
        assert (row.N, row.d, row.heads, row.batch, row.causal) == (1000, 80, 3, 2, True)
        assert row.gpu == find_gpu() and rate(row) < peak_flops(row.gpu, "bf16")
    standard = end.result.one(provider="standard", metric="error-max").p50
    for provider in ("teaching", "fast"):
        assert end.result.one(provider=provider, metric="error-max").p50 <= 2 * standard
    assert end.result.one(provider="teaching", metric="registers").p50 > 0


def test_a_tile_too_large_is_a_sentence_with_both_numbers():
    end = run(Request(N=512, d=128, Br=64, Bc=256, providers=("teaching",)))
    assert end.state == "done"
    (note,) = end.result.notes
    assert note.kind == "refused" and note.required == 278528 and note.required > note.limit
    assert "278,528 B" in end.sentence and "Bc=128" in end.sentence


def test_standard_attention_that_cannot_fit_is_not_started_and_the_rest_runs():
    end = run(Request(N=131072, d=64, H=16, providers=("standard", "teaching"), check=False))
    assert [(note.kind, note.case["provider"]) for note in end.result.notes] == [("skipped", "standard")]
    assert end.result.values("provider") == ["teaching"]


def test_the_prediction_of_standard_attentions_memory_is_an_upper_bound_and_not_a_wild_one():
    for causal in (False, True):
        end = run(Request(N=4096, d=64, H=8, causal=causal, providers=("standard",), check=False))
        (peak,) = [entry["bytes"] for entry in end.result.provenance["peak_bytes"]]
        predicted = Case("standard", N=4096, d=64, heads=8, kv_heads=8, causal=causal).scratch_bytes()
        output = 8 * 4096 * 64 * 2
        assert 0.9 * predicted <= peak <= 1.2 * (predicted + output), (peak, predicted)


def test_counters_are_read_or_refused_in_words(tmp_path):
    if shutil.which("ncu") is None:
        with pytest.raises(counters.CountersRefused):
            counters.find_ncu()
        return
    out = [
        "--out",
        str(tmp_path / "a.csv"),
        "--quick",
        "--counters",
        "--only",
        "counters",
        "--compilers",
        "0",
    ]
    assert cli_measure.main([*out, "--provider", "teaching"]) == 0
    made = read(tmp_path / "a.csv")
    loaded = made.where(metric="l1-load").rows
    assert len(loaded) >= 3, [note.sentence for note in made.notes]
    for row in loaded:
        # Q once, K and V once for each of N / Br Q blocks, 32 heads
        tiled = 32 * row.d * 2 * (row.N + 2 * row.N * row.N // row.Br)
        assert row.p50 == pytest.approx(tiled, rel=0.01)
    assert {row.metric for row in made.rows} >= {"dram-read", "dram-write", "l2", "l1-load"}
