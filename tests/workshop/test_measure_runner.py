"""The queue of live runs: order, cancellation, crashes, refusals, remarks; real processes, a fake device."""

import os
import subprocess
import sys
import threading
import time

import pytest

from tests.workshop import fake_device as fake
from workshop.kernels import runner as runner_module
from workshop.kernels.requests import CPU_MOST, FINAL, Request, on_cpu
from workshop.kernels.runner import Runner, shared_runner
from workshop.recordings import problems

COMMAND = [sys.executable, "-m", "tests.workshop.fake_device"]
TWO = ("teaching", "standard")


class Reader:
    """Collects updates and waits for the last."""

    def __init__(self):
        self.updates, self.over = [], threading.Event()

    def __call__(self, update):
        self.updates.append(update)
        if update.final:
            self.over.set()

    def wait(self):
        assert self.over.wait(60), f"no end; last: {self.updates[-1:]}"
        return self.updates[-1]

    def wait_for(self, state):
        deadline = time.monotonic() + 120
        while not any(update.state == state for update in self.updates):
            assert time.monotonic() < deadline, f"never {state}: {self.updates}"
            time.sleep(0.01)


@pytest.fixture
def runner():
    made = Runner("cuda:0", COMMAND, idle=30, silent=120, patience=0.5)
    yield made
    made.close()
    assert made.process_id is None


def submit(runner, N, providers=TWO, owner=None, **more):
    reader = Reader()
    reader.ticket = runner.submit(Request(N=N, providers=providers, **more), reader, owner)
    return reader


def test_a_run_ends_in_a_live_recording(runner):
    end = submit(runner, fake.NORMAL, Br=128, Bc=32, causal=True).wait()
    assert end.state == "done" and end.fraction == 1.0
    assert end.result.origin == "live"
    for row in end.result.rows:
        assert not problems(row)
        assert (row.gpu, row.driver, row.commit) == ("NVIDIA H200", "1.0", "abc")
    teaching = end.result.one(provider="teaching", metric="time")
    assert (teaching.N, teaching.Br, teaching.Bc, teaching.causal) == (fake.NORMAL, 128, 32, True)
    assert end.result.one(provider="standard", metric="time").Br is None
    assert "median" in end.result.method("time")
    assert {entry["bytes"] for entry in end.result.provenance["peak_bytes"]} == {1 << 20}


def test_progress_rises_and_names_the_kernel(runner):
    reader = submit(runner, fake.NORMAL)
    reader.wait()
    running = [update for update in reader.updates if update.state == "running"]
    fractions = [update.fraction for update in running]
    assert fractions == sorted(fractions) and fractions[-1] == 1.0
    assert any("teaching: timing" in update.sentence for update in running)
    assert reader.updates[0].state == "starting"
    assert sum(update.final for update in reader.updates) == 1


def test_readers_share_one_queue_in_order(runner):
    first = submit(runner, fake.SLOW, owner="a")
    first.wait_for("running")
    second = submit(runner, fake.NORMAL, owner="b")
    third = submit(runner, fake.NORMAL, owner="c")
    assert [update.position for update in second.updates][:1] == [1]
    assert [update.position for update in third.updates][:1] == [2]
    assert "2 runs are ahead" in third.updates[0].sentence
    pid = runner.process_id
    runner.cancel(first.ticket)
    assert first.wait().state == "cancelled"
    assert second.wait().state == third.wait().state == "done"
    assert runner.process_id == pid, "a run that heard its cancellation must not cost the process"
    assert 1 in [update.position for update in third.updates], "told when it moved up"


def test_an_owner_waits_once_and_the_newer_run_keeps_the_place(runner):
    blocker = submit(runner, fake.SLOW, owner="x")
    blocker.wait_for("running")
    older = submit(runner, fake.NORMAL, owner="a")
    other = submit(runner, fake.NORMAL, owner="b")
    newer = submit(runner, fake.NORMAL, owner="a", d=64)
    assert older.wait().state == "cancelled"
    assert newer.updates[-1].position == 1 and other.updates[-1].position == 2
    runner.cancel(blocker.ticket)
    assert newer.wait().result.values("d") == [64]
    other.wait()


def test_a_full_queue_is_told_and_nothing_is_lost():
    runner = Runner("cuda:0", COMMAND, most_waiting=1, patience=0.5)
    try:
        running = submit(runner, fake.SLOW)
        running.wait_for("running")
        waiting, refused = submit(runner, fake.NORMAL), submit(runner, fake.NORMAL)
        assert refused.wait().state == "rejected"
        runner.cancel(running.ticket)
        assert waiting.wait().state == "done"
    finally:
        runner.close()


def test_cancel_before_the_start_and_twice(runner):
    first = submit(runner, fake.SLOW)
    first.wait_for("running")
    second = submit(runner, fake.NORMAL)
    assert runner.cancel(second.ticket) is True
    assert second.wait().state == "cancelled"
    assert runner.cancel(second.ticket) is False
    assert runner.cancel(9999) is False
    runner.cancel(first.ticket)
    first.wait()


def test_a_run_that_cannot_hear_is_ended_by_force_and_the_next_one_runs(runner):
    deaf = submit(runner, fake.DEAF)
    deaf.wait_for("running")
    runner.cancel(deaf.ticket)
    assert deaf.wait().state == "cancelled"
    assert submit(runner, fake.NORMAL).wait().state == "done"


@pytest.mark.parametrize(
    ("N", "words"),
    [
        (fake.CRASH, ("SIGSEGV", "compiling", "about to touch address 0")),
        (fake.EXIT, ("status 9", "compiling")),
    ],
)
def test_a_crash_is_a_sentence_and_the_next_run_works(runner, N, words):
    end = submit(runner, N).wait()
    assert end.state == "failed"
    for word in words:
        assert word in end.sentence
    assert "page is not affected" in end.sentence
    assert submit(runner, fake.NORMAL).wait().state == "done"


def test_a_silent_process_is_taken_for_hung():
    runner = Runner("cuda:0", COMMAND, silent=1.0, patience=0.5)
    try:
        end = submit(runner, fake.DEAF).wait()
        assert end.state == "failed" and "No answer for 1 s" in end.sentence
    finally:
        runner.close()


def test_a_command_that_cannot_start_is_a_sentence():
    runner = Runner("cuda:0", ["/nowhere/python"])
    try:
        end = submit(runner, fake.NORMAL).wait()
        assert end.state == "failed" and "could not be made" in end.sentence
    finally:
        runner.close()


def test_out_of_resources_gives_both_numbers_and_a_way_out(runner):
    end = submit(runner, fake.REFUSE, d=128, Br=64, Bc=256).wait()
    assert end.state == "done"
    for part in ("278,528 B of shared memory", "232,448 B", "would not launch", "Bc=128", "one stage"):
        assert part in end.sentence
    note = end.result.notes[0]
    assert (note.kind, note.required, note.limit) == ("refused", 278528, 232448)
    assert end.result.values("provider") == ["standard"], "the other kernels were measured all the same"


def test_a_skipped_provider_is_explained(runner):
    end = submit(runner, fake.NO_ROOM).wait()
    assert [(note.kind, note.case["provider"]) for note in end.result.notes] == [("skipped", "standard")]
    assert "do not fit" in end.sentence
    assert end.result.values("provider") == ["teaching"]


def test_an_error_of_ours_is_passed_on_word_for_word(runner):
    end = submit(runner, fake.RAISE, providers=("teaching",)).wait()
    assert "Br: expected a power of two, got 48" in end.sentence and "ValueError" not in end.sentence


def test_above_the_peak_carries_a_remark(runner):
    end = submit(runner, fake.ABSURD, providers=("fast",)).wait()
    assert len(end.remarks) == 1 and "data sheet's dense peak" in end.remarks[0]
    assert submit(runner, fake.NORMAL, providers=("fast",)).wait().remarks == ()


def test_a_wide_spread_carries_a_remark(runner):
    end = submit(runner, fake.NORMAL + 64, providers=("fast",)).wait()
    assert len(end.remarks) == 1 and "spread is wide" in end.remarks[0]


def test_chatter_on_standard_output_does_not_break_the_protocol(runner):
    assert submit(runner, fake.NOISY).wait().state == "done"


def test_a_receiver_that_raises_does_not_stop_the_queue(runner, caplog):
    def broken(update):
        raise RuntimeError("page gone")

    runner.submit(Request(N=fake.NORMAL, providers=("fast",)), broken)
    assert submit(runner, fake.NORMAL).wait().state == "done"
    assert "receiver of run" in caplog.text


def test_an_idle_runner_gives_the_process_back_and_starts_again():
    runner = Runner("cuda:0", COMMAND, idle=0.2)
    try:
        submit(runner, fake.NORMAL).wait()
        pid = runner.process_id
        deadline = time.monotonic() + 120
        while runner.process_id is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        assert runner.process_id is None
        deadline = time.monotonic() + 120
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
            time.sleep(0.02)
        assert not os.path.exists(f"/proc/{pid}"), "the process outlived its use"
        assert submit(runner, fake.NORMAL).wait().state == "done"
    finally:
        runner.close()


def test_forget_cancels_what_an_owner_left(runner):
    running, waiting = submit(runner, fake.SLOW, owner="a"), None
    running.wait_for("running")
    waiting = submit(runner, fake.NORMAL, owner="a")
    other = submit(runner, fake.NORMAL, owner="b")
    runner.forget("a")
    assert running.wait().state == waiting.wait().state == "cancelled"
    assert other.wait().state == "done"


def test_close_ends_everything():
    runner = Runner("cuda:0", COMMAND, patience=0.5)
    running = submit(runner, fake.SLOW)
    running.wait_for("running")
    waiting = submit(runner, fake.NORMAL)
    runner.close()
    assert running.wait().state == waiting.wait().state == "cancelled"
    assert submit(runner, fake.NORMAL).wait().state == "rejected"
    assert runner.process_id is None


def test_a_server_that_dies_takes_its_worker_along():
    code = (
        "import sys, time; from workshop.kernels.process import WorkerProcess\n"
        f"w = WorkerProcess({COMMAND!r}, '.')\n"
        "assert w.receive(30)['event'] == 'hello'\n"
        "print(w.pid, flush=True); import os; os.kill(os.getpid(), 9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pid = int(done.stdout)
    deadline = time.monotonic() + 120
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}")


def test_one_runner_for_a_device_and_none_without_a_gpu(monkeypatch):
    assert shared_runner("cpu") is shared_runner("cpu")
    monkeypatch.setattr(runner_module, "find_gpu", lambda: None)
    monkeypatch.delenv("WORKSHOP_DEVICE", raising=False)
    assert shared_runner() is None


def test_a_request_gives_the_readers_own_numbers_to_every_kernel():
    cases = Request(
        N=1000, d=80, H=3, B=2, dtype="fp16", causal=True, Br=32, Bc=16, warps=8, stages=1
    ).cases()
    assert [case.provider for case in cases] == ["teaching", "fast", "sdpa-cudnn", "sdpa-flash", "standard"]
    for case in cases:
        assert (case.N, case.d, case.heads, case.batch, case.dtype, case.causal) == (
            1000,
            80,
            3,
            2,
            "fp16",
            True,
        )
    assert cases[0].tile == (32, 16, 8, 1)
    assert all(case.tile == (None,) * 4 for case in cases[1:])


def test_fp8_is_refused_by_name():
    with pytest.raises(ValueError, match=r"expected bf16, fp16, fp32 .* got 'fp8'"):
        Request(dtype="fp8")


def test_the_cpu_run_is_cut_and_says_so():
    cut, said = on_cpu(Request(N=8192, H=32, B=4, d=64))
    assert (cut.N, cut.H, cut.B, cut.d, cut.dtype) == (CPU_MOST["N"], CPU_MOST["heads"], 1, 64, "fp32")
    assert len(said) == 4 and "2,048 here, not 8,192" in said[0]
    same, nothing = on_cpu(Request(N=512, H=2, dtype="fp32"))
    assert (same.N, same.H, nothing) == (512, 2, ())


def test_a_real_small_run_on_the_cpu():
    reader = Reader()
    shared_runner("cpu").submit(Request(N=384, d=32, H=2, dtype="fp32"), reader)
    end = reader.wait()
    assert end.state == "done" and end.result.origin == "live" and end.result.notes == ()
    assert all(row.gpu.startswith("CPU: ") and not problems(row) for row in end.result.rows)
    assert end.result.values("provider") == ["sdpa-flash", "standard"]
    for provider in ("standard", "sdpa-flash"):
        assert 0 < end.result.one(provider=provider, metric="error-max").p50 < 1e-5
    peaks = {entry["case"]["provider"]: entry["bytes"] for entry in end.result.provenance["peak_bytes"]}
    # S and P in fp32, both heads, live together; the fused kernel keeps neither
    matrices = 2 * 2 * 384 * 384 * 4
    assert peaks["standard"] >= matrices > peaks["sdpa-flash"]
    assert "Wall-clock" in end.result.method("time")


def test_final_states_are_final():
    assert set(FINAL) == {"done", "failed", "cancelled", "rejected"}
