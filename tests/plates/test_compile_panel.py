"""The compiler's section: its figures are the report's, a newer choice wins, and whatever fails becomes a sentence."""

from __future__ import annotations

import asyncio
import re

import param
import pytest

from plates import text
from plates.compile_panel import CompilePanel
from plates.settings import Settings
from plates.tiles import Tiles
from workshop.hardware import GPUS, custom
from workshop.kernels import compile_service
from workshop.kernels.compile_cache import Cache
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_report import Report
from workshop.kernels.compile_service import Answer
from workshop.kernels.compile_verdict import Suggestion, launches, occupancy, sentence
from workshop.problem import Problem, Tile

WORDS = text.labels("compile")
H100 = GPUS["h100-sxm"]


class View(param.Parameterized):
    tile_stages = param.Selector(default="2", objects=["1", "2", "3", "4"])


def report(options: Options, **changes) -> Report:
    """A report such as an H200 gives for 64 x 256 at d=128 with two stages: 278,528 B."""
    values = {
        "shared_bytes": 2 * options.d * (options.Br + 2 * options.stages * options.Bc),
        "tensor_columns": 0,
        "registers": 168,
        "stack_bytes": 0,
        "instructions": {"HGMMA": 16, "MUFU.EX2": 66, "LDL": 0, "STL": 0},
        "instruction_total": 1234,
        "triton": "3.7.1",
        "kernel_hash": "h",
        "program_hash": "p",
    }
    return Report(options=options, **(values | changes))


def answer(options, gpu, found=None, suggestions=(), origin="table") -> Answer:
    found = found or report(options)
    return Answer(
        options,
        gpu,
        found,
        origin,
        launches(found, gpu),
        suggestions,
        sentence(found, gpu, suggestions or None),
        0.01,
    )


class Compiler:
    """Answers after ``delay`` seconds; notes who asked what."""

    def __init__(self, delay: float = 0.0, **changes) -> None:
        self.delay, self.changes, self.asked, self.readers, self.cancelled = delay, changes, [], [], 0

    async def __call__(self, options, gpu, reader=None):
        self.asked.append(options)
        self.readers.append(reader)
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        found = report(options, **self.changes)
        changes = ()
        if not launches(found, gpu):
            changes = (
                Suggestion("Bc", 128, "Bc=128", report(options.with_(Bc=128))),
                Suggestion("stages", 1, "one stage", report(options.with_(stages=1))),
            )
        return answer(options, gpu, found, changes)


@pytest.fixture(autouse=True)
def table(monkeypatch, tmp_path):
    """What the shipped table and the cache know: by default nothing, so that every answer is asked for."""
    held: dict[Options, Report] = {}
    service = compile_service.CompileService(store=Cache(tmp_path), table=held.get)
    monkeypatch.setattr(compile_service, "shared_service", lambda: service)
    yield held
    service.close()


def shown(compiler, tile=(64, 64), gpu=H100, problem=None, wait=0.0, stages="2") -> CompilePanel:
    async def run():
        made = CompilePanel(View(tile_stages=stages), "tile_stages", ask=compiler)
        made.show(problem or Problem(N=4096, d=128), Tile(*tile), gpu)
        await asyncio.sleep(wait)
        if made._task is not None and not wait:
            await made._task
        return made

    return asyncio.run(run())


def values(page: str) -> dict[str, str]:
    return dict(re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', page))


def test_the_figures_are_the_reports():
    made = shown(Compiler(stack_bytes=144, instructions={"HGMMA": 16, "MUFU.EX2": 66, "LDL": 20, "STL": 21}))
    found, numbers = made.answer.report, values(made.html)
    assert float(numbers["compile-shared"]) == found.shared_bytes == 2 * 128 * (64 + 4 * 64)
    assert float(numbers["compile-limit"]) == 232448
    assert float(numbers["compile-registers"]) == 168 and float(numbers["compile-stack"]) == 144
    assert float(numbers["compile-spill-instructions"]) == 41 and float(numbers["compile-exp2"]) == 66
    assert float(numbers["compile-tensor-core"]) == 16 and numbers["compile-launches"] == "yes"
    assert float(numbers["compile-blocks"]) == occupancy(found, H100).blocks
    assert "registers spill 144\u00a0B a thread" in made.html and "kind-compiled" in made.html
    assert "kind-live" not in made.html and "Triton 3.7.1 for sm_90" in made.html


def test_a_tile_that_would_not_launch_and_what_to_try():
    made = shown(Compiler(), tile=(64, 256))
    page = made.html
    assert "needs 278,528\u00a0B, an H100 block has 232,448\u00a0B: it would not launch" in page, "units stay"
    assert '<a href="?Bc=128">Bc=128</a>' in page and '<a href="?tile_stages=1">one stage</a>' in page
    assert values(page)["compile-launches"] == "no" and 'class="limit past"' in page


def test_the_bar_is_to_scale():
    page = shown(Compiler()).html
    width = float(re.search(r'class="limit".*?<i style="width:([\d.]+)%', page)[1])
    line = float(re.search(r'<b style="left:([\d.]+)%', page)[1])
    assert width / line == pytest.approx(81920 / 232448, rel=1e-3)


@pytest.mark.parametrize(("slug", "target"), [("a100-sxm-80", "sm_80"), ("l4", "sm_89"), ("b200", "sm_100")])
def test_the_chosen_gpu_is_the_target(slug, target):
    compiler = Compiler()
    made = shown(compiler, gpu=GPUS[slug])
    assert compiler.asked[0].target == target and made.answer.gpu is GPUS[slug]


def test_a_gpu_without_a_compiler_here_is_named():
    compiler = Compiler()
    page = shown(compiler, gpu=GPUS["mi300x"]).html
    assert "MI300X" in page and not compiler.asked and "data-readout" not in page


def test_a_typed_in_gpu_says_what_it_was_compiled_for():
    page = shown(Compiler(), gpu=custom(bandwidth=1e12, peak=1e14)).html
    assert "compiled for sm_90" in page


def test_a_tile_that_triton_cannot_build_is_rounded_and_said():
    compiler = Compiler()
    page = shown(compiler, tile=(96, 48)).html
    assert (compiler.asked[0].Br, compiler.asked[0].Bc) == (128, 64)
    assert "96 x 48 is compiled as 128 x 64" in page


def test_a_format_without_a_kernel_is_said():
    compiler = Compiler()
    assert "no fp8 version" in shown(compiler, problem=Problem(dtype="fp8")).html and not compiler.asked


def test_waiting_is_shown_and_old_figures_are_no_readouts():
    async def run():
        compiler = Compiler()
        made = CompilePanel(View(), "tile_stages", ask=compiler)
        made.show(Problem(d=128), Tile(64, 64), H100)
        await made._task
        compiler.delay = 0.4
        made.show(Problem(d=128), Tile(64, 128), H100)
        await asyncio.sleep(0.2)
        waiting = made.html
        await made._task
        return waiting, made.html

    waiting, end = asyncio.run(run())
    assert 'role="status"' in waiting and WORDS["compiling"] in waiting and "data-readout" not in waiting
    assert "64 × 128" in end and "data-readout" in end and WORDS["compiling"] not in end


def test_an_instant_answer_shows_no_spinner(monkeypatch):
    written = []
    monkeypatch.setattr(CompilePanel, "_pending", lambda self, wanted: written.append(wanted))
    shown(Compiler())
    assert not written


def test_a_newer_choice_stops_the_older():
    async def run():
        compiler = Compiler(delay=30)
        made = CompilePanel(View(), "tile_stages", ask=compiler)
        made.show(Problem(d=128), Tile(64, 64), H100)
        await asyncio.sleep(0.05)
        compiler.delay = 0
        made.show(Problem(d=128), Tile(128, 64), H100)
        await made._task
        await asyncio.sleep(0)
        return compiler, made

    compiler, made = asyncio.run(run())
    assert compiler.cancelled == 1 and "128 × 64" in made.html
    assert set(compiler.readers) == {made.session.key}


def test_the_same_choice_is_asked_once():
    async def run():
        compiler = Compiler()
        made = CompilePanel(View(), "tile_stages", ask=compiler)
        for N in (4096, 8192, 1000):  # N does not change the program
            made.show(Problem(N=N, d=128), Tile(64, 64), H100)
            await made._task
        return compiler

    assert len(asyncio.run(run()).asked) == 1


def test_warps_and_stages_are_the_readers():
    async def run():
        compiler, view = Compiler(), View()
        made = CompilePanel(view, "tile_stages", ask=compiler)
        made.show(Problem(d=128), Tile(64, 64), H100)
        made.choice.warps = "8"
        view.tile_stages = "3"
        made.show(Problem(d=128), Tile(64, 64), H100)
        await made._task
        return compiler.asked[-1]

    last = asyncio.run(run())
    assert (last.warps, last.stages) == (8, 3)


def test_closing_the_page_stops_the_build():
    async def run():
        compiler = Compiler(delay=30)
        made = CompilePanel(View(), "tile_stages", ask=compiler)
        made.show(Problem(d=128), Tile(64, 64), H100)
        await asyncio.sleep(0.05)
        before = made.html
        made.session.close()
        await asyncio.sleep(0.05)
        return compiler, before == made.html

    compiler, unchanged = asyncio.run(run())
    assert compiler.cancelled == 1 and unchanged


def test_a_failure_is_a_sentence(caplog):
    async def broken(options, gpu, reader=None):
        raise RuntimeError("the pool is gone")

    assert WORDS["failed"] in shown(broken).html
    assert "the pool is gone" in caplog.text


def test_taken_over_by_another_request_draws_nothing():
    async def taken(options, gpu, reader=None):
        return None

    assert shown(taken).html == ""


def test_a_refusal_of_the_compiler_has_no_figures():
    async def refused(options, gpu, reader=None):
        return Answer(options, gpu, None, "", None, (), "Triton does not build this", 0.1)

    page = shown(refused).html
    assert "Triton does not build this" in page and "data-readout" not in page


def test_without_a_server_only_what_is_known_is_shown(table):
    table[Options(Bc=64)] = report(Options(Bc=64))
    made = CompilePanel(View(), "tile_stages")
    made.show(Problem(d=128), Tile(64, 64), H100)
    assert values(made.html)["compile-launches"] == "yes"
    made.show(Problem(d=128), Tile(64, 128), H100)
    assert made.html == "" and made.answer is None


def test_while_a_slider_is_dragged_only_what_is_known_whole_is_shown(table):
    table[Options(Bc=64)] = report(Options(Bc=64))
    table[Options(Bc=256)] = report(Options(Bc=256))  # would not launch, and advice takes a compiler

    async def run():
        compiler = Compiler()
        made = CompilePanel(View(), "tile_stages", ask=compiler)
        seen = []
        for Bc in (64, 128, 256):
            made.show_known(Problem(d=128), Tile(64, Bc), H100)
            seen.append(made.html)
        made.show(Problem(d=128), Tile(64, 256), H100)
        await made._task
        made.show_known(Problem(dtype="fp8"), Tile(64, 64), H100)
        return compiler.asked, seen, made.html

    asked, (known, *rest), end = asyncio.run(run())
    assert values(known)["compile-launches"] == "yes" and rest == [known, known]
    assert asked == [Options(Bc=256)] and "no fp8 version" in end


def test_the_tiles_plate_sends_a_known_verdict_with_its_readouts(table, monkeypatch):
    table[Options(Bc=64)] = report(Options(Bc=64))
    table[Options(Bc=128)] = report(Options(Bc=128))
    settings = Settings(Br=64, Bc=64, d=128, causal=False, gpu="h100-sxm")
    plate = Tiles(settings)
    plate.view()
    monkeypatch.setattr(plate._prose, "ask", lambda: True)  # the slider does not rest
    settings.Bc = 128
    plate.update()
    assert "64 × 128" in plate._compile.html


def test_the_table_answers_before_anything_is_asked(table):
    table[Options(Bc=64)] = report(Options(Bc=64))
    compiler = Compiler()
    made = shown(compiler, wait=0.01)
    assert not compiler.asked and "from the table that ships with this page" in made.html


def test_the_table_answers_a_refusal_with_its_advice(table):
    for Bc, stages in ((256, 2), (128, 2), (256, 1)):
        options = Options(Bc=Bc, stages=stages)
        table[options] = report(options)
    compiler = Compiler()
    made = shown(compiler, tile=(64, 256), wait=0.01)
    assert not compiler.asked
    assert "it would not launch" in made.html and '<a href="?Bc=128">' in made.html
    assert '<a href="?tile_stages=1">' in made.html


def test_advice_that_the_table_lacks_is_looked_for_while_the_verdict_stands(table):
    table[Options(Bc=256)] = report(Options(Bc=256))

    async def run():
        compiler = Compiler(delay=0.3)
        made = CompilePanel(View(), "tile_stages", ask=compiler)
        made.show(Problem(N=4096, d=128), Tile(64, 256), H100)
        first = made.html
        await asyncio.sleep(0.2)
        waiting = made.html
        await made._task
        return first, waiting, made.html

    first, waiting, end = asyncio.run(run())
    assert "it would not launch" in first and "try" not in first and waiting == first
    assert '<a href="?Bc=128">' in end
