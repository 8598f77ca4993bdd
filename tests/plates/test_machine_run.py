"""Live runs on the page: exactly the reader's problem, the queue, progress, cancel, and what is said without a GPU.

The queue, its process and its protocol are the real ones; the device behind them obeys (`fake_device`).
"""

from __future__ import annotations

import re
import sys

import pytest

from plates import text
from plates.machine_run import RunPanel, result
from plates.settings import Settings
from tests.plates.event_loop import EventLoop
from tests.workshop import fake_device as fake
from workshop.kernels.requests import Request, Update
from workshop.kernels.runner import Runner

WORDS = text.labels("machine")
LOOP = EventLoop()
COMMAND = [sys.executable, "-m", "tests.workshop.fake_device"]


@pytest.fixture
def runner():
    made = Runner("cuda:0", COMMAND, idle=30, silent=120, patience=0.5)
    yield made
    made.close()


def panel(runner, **settings) -> RunPanel:
    made = RunPanel(Settings(**settings), WORDS, find=lambda: runner)
    return LOOP.serve(made) if isinstance(runner, Runner) else made


class Recorder:
    """A runner that only writes down what it is asked."""

    device = "cuda:0"

    def __init__(self, device: str = "cuda:0") -> None:
        self.device, self.asked, self.owners, self.cancelled, self.forgotten = device, [], [], [], []

    def submit(self, request, tell, owner=None):
        self.asked.append(request)
        self.owners.append(owner)
        self.tell = tell
        return 7

    def cancel(self, ticket):
        self.cancelled.append(ticket)
        return True

    def forget(self, owner):
        self.forgotten.append(owner)


def test_exactly_what_the_reader_chose_is_run():
    recorder = Recorder()
    made = panel(recorder, N=1000, d=80, H=3, B=2, Br=128, Bc=32, dtype="fp16", causal=True)
    made.choice.param.update(warps="8", stages="3")
    made.start()
    assert recorder.asked == [
        Request(N=1000, d=80, H=3, B=2, Br=128, Bc=32, dtype="fp16", causal=True, warps=8, stages=3)
    ]
    made.start()
    assert len(recorder.asked) == 1, "one run at a time"


def test_a_run_to_its_end(runner):
    made = panel(runner, N=fake.NORMAL, Br=128, Bc=32)
    assert "This server has a GPU" in made._what.object and not made._run.disabled
    made.start()
    assert made._run.disabled and not made._stop.disabled
    LOOP.until(lambda: not made.busy)
    page = made._result.object
    assert made._last.state == "done" and made._stop.disabled and not made._run.disabled
    assert 'class="kind kind-live"' in page and "Measured just now on NVIDIA H200" in page
    assert "kind-recorded" not in page
    case = next(c for c in made._request.cases() if c.provider == "teaching")
    shown = dict(re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', page))
    assert float(shown["live-time-teaching"]) == pytest.approx(case.flops() / 400e12)
    assert float(shown["live-memory-standard"]) == 1 << 20 and "400 TFLOP/s" in page and "128×32" in page


def test_a_refusal_is_a_sentence(runner):
    made = panel(runner, N=fake.REFUSE, Br=64, Bc=256)
    made.start()
    LOOP.until(lambda: not made.busy)
    assert "needs 278,528 B" in made._result.object and "it would not launch" in made._result.object
    assert 'data-readout="live-time-teaching"' not in made._result.object


def test_standard_that_cannot_fit_is_skipped_and_said(runner):
    made = panel(runner, N=fake.NO_ROOM)
    made.start()
    LOOP.until(lambda: not made.busy)
    assert "so it was not started" in made._result.object


def test_an_impossible_rate_is_remarked_on(runner):
    made = panel(runner, N=fake.ABSURD)
    made.start()
    LOOP.until(lambda: not made.busy)
    assert "No kernel can do that" in made._result.object


def test_a_crash_is_a_sentence_and_the_next_run_works(runner):
    made = panel(runner, N=fake.CRASH)
    made.start()
    LOOP.until(lambda: not made.busy)
    assert made._last.state == "failed" and "state-failed" in made._state.object
    made._settings.N = fake.NORMAL
    made.start()
    LOOP.until(lambda: not made.busy)
    assert made._last.state == "done"


def test_place_in_the_queue_progress_and_cancel(runner):
    first, second = panel(runner, N=fake.SLOW), panel(runner, N=fake.SLOW)
    first.start()
    LOOP.until(lambda: "timing" in first._state.object)
    assert re.search(r'<progress max="1" value="0\.\d+"', first._state.object)
    second.start()
    LOOP.until(lambda: "one run is ahead of yours" in second._state.object)
    first.cancel()
    LOOP.until(lambda: not first.busy)
    assert first._last.state == "cancelled" and first._result.object == ""
    LOOP.until(lambda: "timing" in second._state.object)
    second.session.close()  # the reader closes the page
    LOOP.until(lambda: not runner.busy)


def test_a_closed_page_gives_up_its_run_and_draws_no_more():
    recorder = Recorder()
    made = panel(recorder)
    made.start()
    before = made._state.object
    made.session.close()
    assert recorder.forgotten == [made.session.key] == recorder.owners
    recorder.tell(Update(7, "running", "standard: timing.", fraction=0.5))
    assert made._state.object == before


def test_an_earlier_runs_words_do_not_cover_a_later_one():
    recorder = Recorder()
    made = panel(recorder)
    made.start()
    tell = recorder.tell
    tell(Update(7, "cancelled", "Cancelled."))
    made.start()
    tell(Update(7, "running", "an old word", fraction=0.9))
    assert "an old word" not in made._state.object and made.busy


def test_two_readers_are_two_owners():
    recorder = Recorder()
    a, b = panel(recorder), panel(recorder)
    a.start(), b.start()
    assert len(set(recorder.owners)) == 2


def test_without_a_gpu_the_cpu_is_named_and_the_problem_made_small():
    recorder = Recorder("cpu")
    made = RunPanel(Settings(N=8192, H=32), WORDS, find=lambda: None, cpu=lambda: recorder)
    said = made._what.object
    assert (
        "This server has no CUDA GPU" in said
        and "N is 2,048 here, not 8,192" in said
        and "H is 4 here" in said
    )
    assert not made._kernel.visible, "warps and stages mean nothing to a CPU"
    made.start()
    (asked,) = recorder.asked
    assert (asked.N, asked.H, asked.dtype, asked.providers) == (2048, 4, "fp32", ("sdpa-flash", "standard"))


def test_without_torch_it_says_what_is_missing():
    made = RunPanel(Settings(), WORDS, find=lambda: pytest.fail("nothing to ask"), there=lambda: False)
    assert "PyTorch is not installed" in made._what.object and made._run.disabled
    made.start()
    assert not made.busy


def test_a_number_format_without_kernels_is_refused_with_expected_and_got():
    made = panel(Recorder(), dtype="fp8")
    assert "expected bf16, fp16, fp32" in made._what.object and made._run.disabled
    made.start()
    assert not made.busy


def test_the_cpu_really_runs():
    """Standard attention and torch's fused kernel on this machine's CPU: time, memory and error, labelled live."""
    cpu = Runner("cpu", idle=5)
    try:
        made = panel(cpu, N=512, d=64, H=2)
        made.start()
        LOOP.until(lambda: not made.busy, 240)
        page = made._result.object
        assert made._last.state == "done", made._state.object
        shown = {k: float(v) for k, v in re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', page)}
        for provider in ("standard", "sdpa-flash"):
            assert shown[f"live-time-{provider}"] > 0
            assert 0 < shown[f"live-error-{provider}"] < 1e-4  # fp32
        # two 512 x 512 score matrices of two heads in fp32 live at once in standard attention
        assert shown["live-memory-standard"] > shown["live-memory-sdpa-flash"]
        assert "on the CPU of this server" in page and "kind-live" in page and "fused CPU kernel" in page
    finally:
        cpu.close()


def test_peak_memory_that_is_not_known_is_not_invented(runner):
    made = panel(runner, N=fake.NORMAL)
    made.start()
    LOOP.until(lambda: not made.busy)
    found = made._last.result
    for entry in found.provenance["peak_bytes"]:
        entry["bytes"] = None
    page = result(found, made._request, (), WORDS)
    assert "live-memory" not in page and WORDS["unknown"] in page
