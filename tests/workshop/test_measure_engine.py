"""The engine that fills a recording: figures at once, notes for what has none, resuming, and the time limit.

The device is a stand-in that obeys; files, rows and notes are real.
"""

import json
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

from workshop.kernels import cli_measure, measure, upkeep
from workshop.kernels.launches import Launch
from workshop.kernels.machine import Origin
from workshop.kernels.measure import ContextLost, Session, note_crash, still_to_do, to_compile
from workshop.kernels.plan import Batch, Case, plan, sweep
from workshop.kernels.sidecar import Sidecar
from workshop.kernels.timing import Spread
from workshop.recordings import problems, read

TILE = {"Br": 64, "Bc": 64, "warps": 4, "stages": 2}


class OutOfResources(Exception):
    def __init__(self, required, limit, name):
        self.required, self.limit, self.name = required, limit, name


class Bench:
    """A device on which a case of N rows takes N microseconds."""

    device = "cpu"
    properties = {"name": "Stand-in 1", "sms": 4}  # noqa: RUF012
    origin = Origin("Stand-in 1", "1", "2", "3", "abc")

    def __init__(self, free=2**40, launches=()):
        self.free, self.launches, self.lost = free, list(launches), False

    def spread(self, call):
        seconds = call() * 1e-6
        return Spread(seconds, seconds, seconds * 1.01, 9)

    def watch(self):
        return nullcontext(self.launches)

    def free_bytes(self):
        return self.free

    def settle(self):
        if self.lost:
            raise ContextLost("an illegal memory access was encountered")

    def machine_rates(self):
        return {"copy-bandwidth": Spread(1e12, 2e12, 3e12, 5), "matmul-rate": Spread(1e14, 1e14, 1e14, 5)}


@pytest.fixture
def calls(monkeypatch):
    """Replaces kernels by functions that return N; the list holds every case that was called."""
    made = []

    def make_call(case, *inputs):
        def call():
            made.append(case)
            if case.Bc == 256:
                raise OutOfResources(278528, 232448, "shared memory")
            if case.provider == "sdpa-efficient":
                raise RuntimeError("No available kernel. Aborting execution.\nmore")
            return case.N

        return call

    monkeypatch.setattr(measure, "make_call", make_call)
    monkeypatch.setattr(measure, "tensors", lambda case, device, seed=0: ())
    monkeypatch.setattr(measure.accuracy, "largest_error", lambda case, device, seed: 1e-3 * (seed + 1))
    return made


def session(path, bench=None, **more):
    return Session(path / "made.csv", bench or Bench(), say=lambda text: None, **more)


def batch(*cases, kind="time"):
    return Batch("some", kind, cases)


def test_figures_reach_the_file_and_follow_the_schema(tmp_path, calls):
    launch = Launch("k", 81920, 168, 16, 4, 2)
    session(tmp_path, Bench(launches=[launch])).run(
        [Batch("machine", "machine"), batch(Case("teaching", **TILE)), batch(Case("fast"), kind="error")]
    )
    made = read(tmp_path / "made.csv")
    assert [problem for row in made.rows for problem in problems(row)] == []
    assert made.one(metric="time").p50 == pytest.approx(4096e-6)
    assert made.one(metric="shared").p50 == 81920
    assert made.one(metric="registers").p50 == 168 and made.one(metric="spills").p50 == 16
    error = made.one(metric="error-max", provider="fast")
    assert (error.p20, error.p50, error.p80) == pytest.approx(np.percentile([1e-3, 2e-3, 3e-3], [20, 50, 80]))
    assert made.one(metric="copy-bandwidth").unit == "B/s" and made.one(metric="matmul-rate").N == 8192
    assert made.device["sms"] == 4


def test_the_kernel_that_counts_is_the_one_with_the_most_shared_memory(tmp_path, calls):
    launches = [Launch("small", 0, 32, 0, 4, 1), Launch("main", 98304, 200, 0, 8, 3)]
    session(tmp_path, Bench(launches=launches)).run([batch(Case("fast"))])
    assert read(tmp_path / "made.csv").one(metric="registers").p50 == 200


def test_a_second_run_measures_only_what_is_missing(tmp_path, calls):
    first = batch(Case("fast", N=512), Case("fast", N=1024))
    session(tmp_path).run([Batch("machine", "machine"), first])
    before, rows = len(calls), (tmp_path / "made.csv").read_bytes()
    session(tmp_path).run([Batch("machine", "machine"), first])
    assert len(calls) == before and (tmp_path / "made.csv").read_bytes() == rows
    longer = batch(*first.cases, Case("fast", N=2048))
    assert still_to_do(tmp_path / "made.csv", longer) == [Case("fast", N=2048)]
    assert still_to_do(tmp_path / "none.csv", longer) == list(longer.cases)
    session(tmp_path).run([longer])
    assert read(tmp_path / "made.csv").where(metric="time").values("N") == [512, 1024, 2048]
    assert {case.N for case in calls[before:]} == {2048}


def test_a_case_of_two_batches_is_measured_once(tmp_path, calls):
    case = Case("teaching", **TILE)
    session(tmp_path).run([batch(case, Case("fast")), batch(case)])
    assert len(read(tmp_path / "made.csv").where(provider="teaching", metric="time")) == 1
    assert calls.count(case) == 2, "once to compile, once to measure"


def test_a_figure_of_another_kind_or_tile_does_not_count_as_done(tmp_path, calls):
    made = session(tmp_path)
    made.run([batch(Case("teaching", **TILE))])
    assert not made.has("error", Case("teaching", **TILE))
    assert not made.has("time", Case("teaching", **(TILE | {"Br": 128})))
    assert not made.has("time", Case("teaching", **TILE, causal=True))
    assert made.has("time", Case("teaching", **TILE))


def test_a_kernel_that_chooses_its_tile_is_done_whatever_tile_it_chose(tmp_path, calls):
    made = session(tmp_path)
    made.write(replace(Case("fast"), Br=128, Bc=128, warps=8, stages=3), {"time": Spread(1, 1, 1, 1)})
    assert made.has("time", Case("fast"))


def test_a_refusal_is_a_figure_and_a_note_and_is_not_tried_again(tmp_path, calls):
    case = Case("teaching", **(TILE | {"Bc": 256}))
    session(tmp_path).run([batch(case)])
    made = read(tmp_path / "made.csv")
    assert [row.metric for row in made.rows] == ["shared"] and made.rows[0].p50 == 278528
    (note,) = made.notes
    assert (note.kind, note.required, note.limit) == ("refused", 278528, 232448)
    assert note.case == case.record() and "Bc=128 or one stage" in note.sentence
    session(tmp_path).run([batch(case)])
    assert len(calls) == 1


def test_what_cannot_fit_is_never_started(tmp_path, calls):
    case = Case("standard", N=131072)
    session(tmp_path, Bench(free=150e9)).run([batch(case)])
    assert calls == []
    (note,) = read_notes(tmp_path)
    assert note["case"] == case.record() and "not started" in note["sentence"]


def read_notes(path, kind="skipped"):
    return json.loads((path / "made.json").read_text())[kind]


def test_a_failure_is_noted_and_the_next_case_runs(tmp_path, calls):
    session(tmp_path).run([batch(Case("sdpa-efficient"), Case("fast"))])
    (note,) = read_notes(tmp_path, "failed")
    assert note["sentence"] == "RuntimeError: No available kernel. Aborting execution."
    assert read(tmp_path / "made.csv").values("provider") == ["fast"]
    Sidecar(tmp_path / "made.csv").forget_failures()
    assert not session(tmp_path).has("time", Case("sdpa-efficient"))


def test_a_lost_context_stops_the_process_after_its_note(tmp_path, calls):
    bench = Bench()
    bench.lost = True
    with pytest.raises(ContextLost):
        session(tmp_path, bench).run([batch(Case("fast"), Case("standard"))])
    assert [note["case"]["provider"] for note in read_notes(tmp_path, "failed")] == ["fast"]
    assert not (tmp_path / "made.running").exists()


def test_a_deadline_stops_between_cases(tmp_path, calls):
    assert session(tmp_path, deadline=0.0).run([batch(Case("fast"))]) is False
    assert calls == []
    assert session(tmp_path, deadline=None).run([batch(Case("fast"))]) is True


def test_the_case_of_a_dead_process_is_noted_from_its_heartbeat(tmp_path):
    case = Case("fast", N=777)
    session(tmp_path).beat("time", case)
    assert note_crash(tmp_path / "made.csv", "the process that ran it ended with status -11") is True
    (note,) = read_notes(tmp_path, "failed")
    assert note["case"] == case.record() and "-11" in note["sentence"]
    assert note_crash(tmp_path / "made.csv", "again") is False
    assert session(tmp_path).has("time", case)


def test_figures_of_two_machines_are_not_mixed(tmp_path, calls):
    session(tmp_path).run([batch(Case("fast"))])

    class Other(Bench):
        origin = Origin("Stand-in 2", "1", "2", "3", "abc")

    with pytest.raises(ValueError, match="holds figures of Stand-in 1; expected Stand-in 2"):
        session(tmp_path, Other())


def test_one_short_case_stands_for_every_length_a_kernel_is_compiled_for():
    cases = [Case("teaching", N=N, **TILE) for N in (512, 4096, 16384)] + [
        Case("fast", N=4096),
        Case("standard"),
    ]
    assert to_compile(cases) == [Case("teaching", N=512, **TILE), Case("fast", N=4096)]
    assert len(to_compile(sweep(128))) == len(sweep(128))
    assert to_compile([Case("teaching", N=1000, **TILE)])[0].N == 1000


def test_progress_is_shown_for_every_case(tmp_path, calls):
    said = []
    Session(tmp_path / "made.csv", Bench(), said.append).run(
        [batch(Case("fast", N=512), Case("fast", N=1024))]
    )
    assert [line.split("]")[0] for line in said] == ["[1/2", "[2/2"]
    assert "512 µs" in said[0] and "TFLOP/s" in said[0] and "s left" in said[0]


def test_wrong_use_is_one_sentence(tmp_path, capsys):
    out = ["--out", str(tmp_path / "x.csv")]
    assert cli_measure.main([*out, "--only", "nonsense"]) == 2
    assert "expected batches of" in capsys.readouterr().err
    assert cli_measure.main([*out, "--list", "--counters"]) == 0
    printed = capsys.readouterr().out
    assert [line.split(" (")[0] for line in printed.splitlines()] == [b.name for b in plan(counters=True)]


def test_a_real_run_on_the_cpu_from_the_command_line(tmp_path, capfd):
    out = ["--cpu", "--out", str(tmp_path / "cpu.csv"), "--only", "cpu errors"]
    assert cli_measure.main(out) == 0
    made = read(tmp_path / "cpu.csv")
    assert [problem for row in made.rows for problem in problems(row)] == []
    assert made.values("provider") == ["sdpa-flash", "standard"] and made.notes == ()
    assert all(row.gpu.startswith("CPU: ") for row in made.rows)
    assert max(made.array("p80")) < 1e-5
    assert "[4/4]" in capfd.readouterr().err
    before = (tmp_path / "cpu.csv").read_bytes()
    assert cli_measure.main(out) == 0
    assert (tmp_path / "cpu.csv").read_bytes() == before, "a finished recording is left as it is"


def test_a_run_before_its_commit_is_named_afterwards(tmp_path, calls):
    class Early(Bench):
        origin = Origin("Stand-in 1", "1", "2", "3", upkeep.UNCOMMITTED)

    session(tmp_path).run([batch(Case("fast", N=512))])
    session(tmp_path, Early()).run([batch(Case("fast", N=1024))])
    before = read(tmp_path / "made.csv").rows
    assert cli_measure.main(["--out", str(tmp_path / "made.csv"), "--committed-as", "def"]) == 0
    after = read(tmp_path / "made.csv").rows
    assert [row.commit for row in after] == ["abc", "def"]
    assert [replace(row, commit="") for row in after] == [replace(row, commit="") for row in before]


def test_the_summary_of_a_test_log_goes_into_the_json(tmp_path, capsys):
    log = tmp_path / "log"
    log.write_text("device: X\n....\nFAILED tests/a.py::b - bad\n==== 1 failed, 41 passed in 3.21s ====\n")
    out = tmp_path / "made.csv"
    assert cli_measure.main(["--out", str(out), "--tests", str(log)]) == 0
    tests = json.loads((tmp_path / "made.json").read_text())["tests"]
    assert tests["summary"] == "1 failed, 41 passed in 3.21s"
    assert tests["failures"] == ["FAILED tests/a.py::b - bad"] and tests["about"] == ["device: X"]
    log.write_text("nothing\n")
    assert cli_measure.main(["--out", str(out), "--tests", str(log)]) == 2
