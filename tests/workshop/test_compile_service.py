"""The service that compiles for the page, against a stand-in compiler that can be slow, crash or refuse."""

import asyncio
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from workshop.hardware import GPUS
from workshop.kernels.compile_cache import Cache
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_service import CompileService
from workshop.kernels.compile_table import lookup

from . import compiler_stub as stub

ODD = 72  # a head size that the stand-in answers at once


class Bench:
    """A service on the stand-in, its log, and how to run a coroutine on it."""

    def __init__(self, folder: Path, **settings):
        self.log = folder / "log"
        self.log.touch()
        settings = {"processes": 1, "pause": 0.0, "table": lambda options: None} | settings
        self.service = CompileService(
            store=Cache(folder / "cache"), command=(sys.executable, stub.__file__, str(self.log)), **settings
        )

    def run(self, coroutine):
        return asyncio.run(asyncio.wait_for(coroutine, 60))

    def lines(self, kind):
        return [line.split()[1:] for line in self.log.read_text().splitlines() if line.split()[0] == kind]

    @property
    def asked(self):
        return [tuple(map(int, line)) for line in self.lines("ask")]


@pytest.fixture
def bench(tmp_path, monkeypatch):
    # The stand-in is run by its path, so it must be told where the package is.
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    made = []

    def make(**settings):
        made.append(Bench(tmp_path, **settings))
        return made[-1]

    yield make
    for one in made:
        one.service.close()
        for _, scratch in one.lines("start"):
            assert not Path(scratch).exists(), "a worker's files were left behind"


def alive(pid):
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


async def until(condition):
    while not condition():
        await asyncio.sleep(0.01)


def test_a_build_is_compiled_once_and_then_read_from_disk(bench):
    one = bench()
    options = Options(Br=64, Bc=64, d=ODD)
    first = one.run(one.service.report(options, reader="a"))
    second = one.run(one.service.report(options, reader="a"))
    assert (first.origin, second.origin) == ("compiled", "cache")
    assert first.report.shared_bytes == second.report.shared_bytes == 2 * ODD * (64 + 4 * 64)
    assert first.launches and "it launches" in first.sentence
    assert one.asked == [(64, 64, ODD, 2)]
    now, complete = one.service.answer_now(options)
    assert (now.report, now.origin, now.sentence) == (second.report, "cache", second.sentence) and complete
    assert one.service.answer_now(Options(d=ODD, Br=16)) == (None, False)


def test_the_shipped_table_answers_without_a_worker(bench):
    one = bench(table=lookup)
    options = Options(Br=64, Bc=64)
    answer = one.run(one.service.report(options, reader="a"))
    assert answer.origin == "table" and answer.report == lookup(options)
    assert one.lines("start") == []


def without_time(answer):
    return replace(answer, seconds=0.0)


@pytest.mark.parametrize("Br, Bc, gpu", [(64, 64, "h100-sxm"), (64, 256, "h100-sxm"), (128, 256, "l4")])
def test_what_is_answered_at_once_is_what_a_request_gets(bench, Br, Bc, gpu):
    one = bench(table=lookup)
    options = Options(Br=Br, Bc=Bc, target=GPUS[gpu].target)
    now, complete = one.service.answer_now(options, GPUS[gpu])
    assert complete and now == without_time(one.run(one.service.report(options, GPUS[gpu], reader="a")))
    assert one.lines("start") == []


def test_a_refusal_of_the_compiler_is_answered_at_once_too(bench):
    one = bench(table=lambda options: "this cannot be built" if options.Br == 16 else None)
    now, complete = one.service.answer_now(Options(Br=16))
    assert complete and (now.report, now.launches, now.sentence) == (None, None, "this cannot be built")


def test_a_verdict_does_not_wait_for_its_advice(bench):
    one = bench(table=lambda options: lookup(options) if options.Bc == 256 else None)
    now, complete = one.service.answer_now(Options(Br=64, Bc=256), GPUS["h100-sxm"])
    assert now.launches is False and now.suggestions == () and not complete
    assert now.sentence.endswith("it would not launch")


def test_a_tile_that_does_not_fit_gets_compiled_suggestions(bench):
    one = bench()
    answer = one.run(one.service.report(Options(Br=64, Bc=1024, d=ODD), GPUS["h100-sxm"], reader="a"))
    assert answer.launches is False
    assert [(s.option, s.value) for s in answer.suggestions] == [("Bc", 256)]
    assert answer.sentence == (
        f"needs {2 * ODD * (64 + 4096):,} B, an H100 block has 232,448 B: it would not launch; try Bc=256"
    )
    assert one.asked == [(64, 1024, ODD, 2), (64, 256, ODD, 2)]


def test_advice_that_takes_too_long_is_left_out(bench):
    one = bench(patience=0.5)
    options = Options(Br=64, Bc=1024, d=stub.SLOW_ADVICE)
    answer = one.run(one.service.report(options, GPUS["l4"], reader="a"))
    # The verdict stands; whether a change would help is not known, so nothing is said about it.
    assert answer.launches is False and answer.suggestions == ()
    assert answer.sentence.endswith("an L4 block has 101,376 B: it would not launch")
    asked = list(one.asked)
    assert asked[0] == (64, 1024, stub.SLOW_ADVICE, 2) and len(asked) > 1
    assert one.run(one.service.report(options, GPUS["l4"], reader="a")).sentence == answer.sentence
    assert one.asked == asked


def test_a_slow_build_is_answered_by_the_table_for_the_padded_head_size(bench):
    def table(options):
        return lookup(options.with_(d=128)) if options.d == 16 else None

    one = bench(table=table, patience=0.5)
    # The stand-in compiler takes 60 s for d = 9 and the table knows d = 16, to which 9 is padded.
    options = Options(Br=64, Bc=64, d=stub.SLOW_PADDED)
    for asked in (1, 1):
        answer = one.run(one.service.report(options, reader="a"))
        assert answer.origin == "table" and answer.report.shared_bytes == 81_920 and answer.launches
        assert answer.options == options and answer.report.options.d != options.d
        assert "to which the kernel pads d = 9, as no build of its own was ready)" in answer.sentence
        # It was stopped, and is not tried again at once.
        assert len(one.asked) == asked


def test_the_limit_is_that_of_the_readers_gpu(bench):
    one = bench()
    options = Options(Br=64, Bc=256, d=ODD, target="sm_89")
    answer = one.run(one.service.report(options, GPUS["l4"], reader="a"))
    assert "an L4 block has 101,376 B: it would not launch" in answer.sentence


def test_while_a_slider_moves_only_the_last_position_is_compiled(bench):
    one = bench(pause=0.2)

    async def drag():
        requests = []
        for Bc in (16, 32, 64, 128, 256):
            requests.append(
                asyncio.ensure_future(one.service.report(Options(Br=16, Bc=Bc, d=ODD), reader="a"))
            )
            await asyncio.sleep(0.01)
        return await asyncio.gather(*requests)

    answers = one.run(drag())
    assert answers[:-1] == [None] * 4
    assert answers[-1].options.Bc == 256
    assert one.asked == [(16, 256, ODD, 2)]


def test_a_newer_request_stops_the_build_that_runs(bench):
    one = bench()

    async def change():
        slow = asyncio.ensure_future(one.service.report(Options(d=stub.SLOW), reader="a"))
        await until(lambda: one.asked)
        answer = await one.service.report(Options(d=ODD), reader="a")
        return await slow, answer

    started = time.monotonic()
    slow, answer = one.run(change())
    assert slow is None and answer.origin == "compiled"
    assert time.monotonic() - started < 60  # the stand-in would have slept that long
    assert len(one.lines("start")) == 2 and not alive(one.lines("start")[0][0])


def test_a_newer_request_takes_the_older_one_out_of_the_queue(bench):
    one = bench()

    async def change():
        slow = asyncio.ensure_future(one.service.report(Options(d=stub.SLOW), reader="a"))
        await until(lambda: one.asked)
        queued = asyncio.ensure_future(one.service.report(Options(Br=16, d=ODD), reader="b"))
        await asyncio.sleep(0.05)
        newer = asyncio.ensure_future(one.service.report(Options(Br=32, d=ODD), reader="b"))
        slow.cancel()
        return await queued, await newer

    queued, newer = one.run(change())
    assert queued is None and newer.options.Br == 32
    assert [line[0] for line in one.asked] == [64, 32]


def test_another_readers_request_is_left_alone(bench):
    one = bench()

    async def two():
        options = [Options(Br=Br, d=ODD) for Br in (16, 32)]
        return await asyncio.gather(*(one.service.report(o, reader=o.Br) for o in options))

    assert [answer.options.Br for answer in one.run(two())] == [16, 32]


def test_two_readers_share_one_build_and_one_may_leave(bench):
    one = bench(limit=1.5)

    async def two():
        options = Options(d=stub.SLOW)
        first = asyncio.ensure_future(one.service.report(options, reader="a"))
        second = asyncio.ensure_future(one.service.report(options, reader="b"))
        await until(lambda: one.asked)
        newer = asyncio.ensure_future(one.service.report(Options(d=ODD), reader="a"))
        return await first, await second, await newer

    first, second, newer = one.run(two())
    # The second reader still waits, so the build goes on, to its own end.
    assert first is None and "did not finish" in second.sentence and newer.origin == "compiled"
    assert [line[2] for line in one.asked] == [stub.SLOW, ODD]


def test_cancelling_the_task_stops_the_build(bench):
    one = bench()

    async def leave():
        task = asyncio.ensure_future(one.service.report(Options(d=stub.SLOW), reader="a"))
        await until(lambda: one.asked)
        task.cancel()
        pid = one.lines("start")[0][0]
        await until(lambda: not alive(pid))
        assert task.cancelled()

    one.run(leave())


def test_a_build_that_takes_too_long_becomes_a_sentence_and_is_not_tried_again(bench):
    one = bench(limit=0.5)
    options = Options(Br=64, Bc=256, d=stub.SLOW, stages=8)
    answer = one.run(one.service.report(options, reader="a"))
    assert answer.report is None and answer.launches is None and answer.origin == ""
    # (64 + 8 x 2 x 256) x 16 x 2 B by the formula
    assert answer.sentence == (
        "The compiler did not finish the 64 x 256 tile in 0.5 s and was stopped. By the formula for shared memory "
        "it needs 133,120 B, an H100 block has 232,448 B: it may launch."
    )
    assert one.run(one.service.report(options, reader="a")).sentence == answer.sentence
    assert len(one.asked) == 1
    assert one.run(one.service.report(Options(d=ODD), reader="a")).origin == "compiled"


@pytest.mark.parametrize("d, said", [(stub.CRASH, "SIGKILL"), (stub.EXIT, "the compiler said goodbye")])
def test_a_crash_becomes_a_sentence_and_the_next_build_works(bench, d, said):
    one = bench()
    answer = one.run(one.service.report(Options(d=d), reader="a"))
    assert answer.report is None and said in answer.sentence and "64 x 64" in answer.sentence
    assert one.run(one.service.report(Options(d=ODD), reader="a")).origin == "compiled"
    assert len(one.lines("start")) == 2


def test_a_refusal_is_remembered_and_an_error_of_ours_is_not(bench):
    one = bench()
    for d, times in ((stub.REFUSE, 1), (stub.FAIL, 2)):
        said = {one.run(one.service.report(Options(d=d), reader="a")).sentence for _ in range(2)}
        assert said == {stub.reply({"d": d}).popitem()[1]}
        assert [line[2] for line in one.asked].count(d) == times


def test_an_answer_of_another_form_becomes_a_sentence(bench):
    one = bench()
    answer = one.run(one.service.report(Options(d=stub.GARBAGE), reader="a"))
    assert answer.report is None and "something that is no report" in answer.sentence


def test_stray_output_of_a_worker_is_passed_over(bench):
    one = bench()
    assert one.run(one.service.report(Options(d=stub.NOISE), reader="a")).origin == "compiled"


def test_the_event_loop_stays_free_and_the_table_answers_during_a_build(bench):
    one = bench(table=lookup, limit=1.0)

    async def both():
        slow = asyncio.ensure_future(one.service.report(Options(d=stub.SLOW), reader="a"))
        await until(lambda: one.asked)
        answer = await one.service.report(Options(Br=64, Bc=64), reader="b")
        assert not slow.done()
        return await slow, answer

    slow, answer = one.run(both())
    assert answer.origin == "table" and "did not finish" in slow.sentence


def test_two_processes_build_side_by_side(bench):
    one = bench(processes=2)

    async def both():
        slow = asyncio.ensure_future(one.service.report(Options(d=stub.SLOW), reader="a"))
        await until(lambda: one.asked)
        answer = await one.service.report(Options(d=ODD), reader="b")
        slow.cancel()
        return answer

    assert one.run(both()).origin == "compiled"
    assert len(one.lines("start")) == 2


def test_an_idle_process_ends_and_a_later_build_starts_another(bench):
    one = bench(idle=0.05)
    one.run(one.service.report(Options(d=ODD), reader="a"))
    pid = one.lines("start")[0][0]
    deadline = time.monotonic() + 60
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not alive(pid)
    assert one.run(one.service.report(Options(d=ODD, Br=16), reader="a")).origin == "compiled"


def test_a_process_is_replaced_after_some_builds(bench):
    one = bench(builds=2)
    for Bc in (16, 32, 64, 128, 256):
        assert one.run(one.service.report(Options(Br=16, Bc=Bc, d=ODD), reader="a")).origin == "compiled"
    assert len(one.lines("start")) == 3


def test_a_server_without_triton_says_what_is_missing(tmp_path, monkeypatch):
    from workshop.kernels import compile_service

    monkeypatch.setattr(compile_service, "triton_version", lambda: None)
    service = CompileService(store=Cache(tmp_path), pause=0.0)
    answer = asyncio.run(service.report(Options(d=ODD, dtype="fp16"), reader="a"))
    assert answer.report is None and "Triton is not installed" in answer.sentence
    answer = asyncio.run(service.report(Options(d=ODD), reader="a"))
    assert answer.report == lookup(Options(d=128)) and "pads d = 72" in answer.sentence
    assert asyncio.run(service.report(Options(Br=64, Bc=64), reader="a")).origin == "table"
    service.close()


def test_a_worker_that_cannot_start_becomes_a_sentence(tmp_path):
    service = CompileService(store=Cache(tmp_path), pause=0.0, command=(str(tmp_path / "nothing"),))
    answer = asyncio.run(service.report(Options(d=ODD), reader="a"))
    assert answer.report is None and "could not be started" in answer.sentence
    service.close()


def test_a_closed_service_answers_with_a_sentence(bench):
    one = bench()
    one.service.close()
    assert "closed" in one.run(one.service.report(Options(d=ODD), reader="a")).sentence


def test_the_real_worker_compiles_and_keeps_nothing_but_the_report(tmp_path, monkeypatch):
    pytest.importorskip("triton")
    # What the server's shell says must not reach the compiler.
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    service = CompileService(store=Cache(tmp_path / "cache"), pause=0.0, table=lambda options: None)
    answer = asyncio.run(service.report(Options(Br=16, Bc=16, d=64), reader="a"))
    assert answer.origin == "compiled" and answer.report.registers > 16
    service.close()
    assert list((tmp_path / "tmp").iterdir()) == []
    assert len(list((tmp_path / "cache").rglob("*.json"))) == 1
