"""What the models, the compiler and the runner say in English sentences: each has its Chinese one."""

from __future__ import annotations

import itertools
import sys
from fractions import Fraction
from types import SimpleNamespace

import pytest

from plates import language, machine_run, provenance, text
from plates.settings import Settings
from tests.plates.english import read, stray
from tests.plates.event_loop import EventLoop
from tests.workshop import fake_device as fake
from workshop import block_masks, expressions, hardware, kv_cache, language_models, presets, results
from workshop.formulas import FORMULAS
from workshop.hardware import GPUS
from workshop.kernels import advice, compile_verdict, method
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_process import crash_sentence, late_sentence
from workshop.kernels.compile_report import Report
from workshop.kernels.compile_request import request
from workshop.kernels.compile_sass import MEANINGS
from workshop.kernels.compile_service import _padded
from workshop.kernels.identify import remarks
from workshop.kernels.plan import Case
from workshop.kernels.requests import Request, on_cpu
from workshop.kernels.runner import Runner
from workshop.problem import Problem, Tile
from workshop.recordings.curves import case_of
from workshop.residency import resident_blocks


def said(sentence: str) -> str:
    """Return a sentence in Chinese; it must have been translated whole."""
    found = text.phrase(sentence, "zh")
    assert found != sentence and not stray(found), f"{sentence!r} -> {found!r}"
    return found


def report(shared: int, *, stack: int = 0, columns: int = 0, registers: int = 128, **options) -> Report:
    """Return a compile report with these figures."""
    counts = {"HGMMA": 1, "MUFU.EX2": 1, "LDL": 5 if stack else 0, "STL": 7 if stack else 0}
    return Report(
        options=Options(**options), shared_bytes=shared, tensor_columns=columns, registers=registers, stack_bytes=stack,
        instructions=counts, instruction_total=100, triton="0", kernel_hash="0", program_hash="0",
    )  # fmt: skip


SUGGESTED = [
    compile_verdict.Suggestion("Bc", 64, "Bc=64", report(1)),
    compile_verdict.Suggestion("stages", 1, "one stage", report(1)),
    compile_verdict.Suggestion("stages", 3, "three stages", report(1, stack=16)),
    compile_verdict.Suggestion("Bc", 32, "Bc=32", report(1, stack=144)),
]


@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_the_compilers_verdict(gpu):
    found = [
        report(shared, stack=stack, registers=registers, warps=warps)
        for shared in (1024, gpu.smem_block // 2, gpu.smem_block)
        for stack in (0, 144)
        for registers in (32, 128, 255)
        for warps in (4, 8)
    ]
    limiters = set()
    for one in found:
        sentence = compile_verdict.sentence(one, gpu)
        chinese = said(sentence)
        assert all(number in chinese for number in (f"{one.shared_bytes:,} B", f"{gpu.smem_block:,} B"))
        assert ("144 B" in chinese) == bool(one.stack_bytes)
        limiters.add(compile_verdict.occupancy(one, gpu).limiter)
    assert len(limiters) > 1
    over = report(gpu.smem_block + 1)
    for k in range(3):
        for changes in itertools.permutations(SUGGESTED, k):
            chinese = said(compile_verdict.sentence(over, gpu, changes))
            assert "无法启动" in chinese and all(text.phrase(c.text, "zh") in chinese for c in changes)
    said(compile_verdict.sentence(report(1, columns=640), gpu))
    padded = compile_verdict.sentence(found[0], gpu) + _padded(Options(d=96), report(1, d=128))
    assert "d = 96" in said(padded) and "d = 128" in said(padded)


def test_every_limiter_of_a_kernel():
    names = ("shared memory", "registers", "threads", "tensor memory")
    for count in range(1, 5):
        for some in itertools.combinations(names, count):
            said(compile_verdict._listed(list(some)))
    for tile, d in itertools.product(
        (Tile(Br=16), Tile(Br=64), Tile(Br=128, Bc=128), Tile(Br=1024)), (64, 256)
    ):
        for gpu in GPUS.values():
            found = resident_blocks(gpu, tile, d, "bf16")
            if found.note:
                assert gpu.name in said(found.note)


def test_why_there_is_no_verdict():
    options = Options(Br=128, Bc=256)
    for gpu in GPUS.values():
        for one in (options, Options(Br=16, Bc=16)):
            said(late_sentence(one, 60.0, gpu))
    for how in ("ended with status 3", "was ended by SIGKILL", "was ended by signal 99"):
        said(crash_sentence(options, SimpleNamespace(how=how, last_words="")))
    assert "core dumped" in text.phrase(
        crash_sentence(options, SimpleNamespace(how="was ended by SIGKILL", last_words="core dumped")), "zh"
    )
    custom = hardware.custom(bandwidth=1e12, peak=1e14)
    for gpu, dtype in itertools.product((GPUS["mi300x"], custom, GPUS["l4"]), ("fp8", "bf16")):
        for note in request(Problem(dtype=dtype), Tile(Br=100, Bc=60), gpu).notes:
            said(note)
    for meaning in MEANINGS.values():
        said(meaning)


def test_what_a_recording_says():
    found = provenance.evidence()
    for case in found.cases:
        for level in case.levels:
            said(f"{level.sentence[:1].upper()}{level.sentence[1:]}.")
    for note in found.recording.notes:
        said(note.sentence)
    for row in found.recording.where(metric="time").rows:
        for remark in remarks(case_of(row), row, row.gpu):
            said(remark)
    said(found.recording.source())
    for words in (*method.METHOD.values(), *method.CPU_METHOD.values()):
        said(words)
    assert {*found.recording.provenance["method"].values()} <= {*method.METHOD.values()}


def test_refusals_and_remarks_of_a_run():
    case = Case("teaching", Br=64, Bc=256, warps=4, stages=2)
    for resource, required, limit in (
        ("shared memory", 278528, 232448), ("shared memory", 10**9, 232448), ("threads", 2048, 1024),
        ("tensor memory", 640, 512),
    ):  # fmt: skip
        said(advice.refusal(case, resource, required, limit, "NVIDIA H200", "9.0"))
    impossible = SimpleNamespace(p20=1e-12, p50=1e-12, p80=2e-12)
    assert len(remarks(case, impossible, "NVIDIA H200")) == 2
    for remark in remarks(case, impossible, "NVIDIA H200"):
        said(remark)
    for change in on_cpu(Request(N=8192, H=32, B=64, dtype="bf16"))[1]:
        said(change)
    with pytest.raises(ValueError) as wrong:
        Request(dtype="fp8")
    said(str(wrong.value))


def test_sources_notes_presets_and_results():
    for gpu in (*GPUS.values(), hardware.custom(bandwidth=1e12, peak=1e14)):
        for one in (*gpu.notes, *filter(None, (gpu.rate(t).note for t in ("fp8", "fp32")))):
            said(one)
        assert not stray(text.phrase("; ".join(gpu.sources), "zh")), gpu.sources
    for one in presets.PRESETS.values():
        said(one.name), said(one.description), said(one.source)
    for one in language_models.LANGUAGE_MODELS.values():
        said(one.source)
    for one in (*results.TRAINING, *results.LONG_RANGE, *results.MEMORY, *results.THROUGHPUT):
        said(one.source)
        for name in ("task", "baseline", "method", "what"):
            assert not stray(text.phrase(getattr(one, name, ""), "zh"))


RECORDS = [*FORMULAS.values(), kv_cache.CACHE, kv_cache.INTENSITY, block_masks.BLOCK_SPARSE]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.slug)
def test_formulas_are_named_and_read(record):
    words = language.reading("zh")
    english = set(" ".join(expressions.READING.values()).replace("{a}", "").replace("{b}", "").split())
    for causal in (False, True):
        spoken = record.spoken(causal, words)
        assert not stray(spoken) and not english & set(spoken.replace("e 的", "").split()), spoken
        assert "等于" in spoken and record.name not in spoken.replace("FlashAttention", "")
        latex = text.lettered(record.latex_for(causal), "zh")
        assert "mathrm" not in latex.replace(r"\mathrm{FLOPs}", ""), latex
    said(record.plain)
    if record.inputs is not None and record in FORMULAS.values():
        numbers = text.lettered(record.substituted(Problem(), Tile()), "zh")
        assert "elements" not in numbers


def test_another_language_changes_the_words_of_a_formula_and_nothing_else():
    words = dict(expressions.READING) | {"plus": "{a} und {b}", "alpha": "Alpha"}
    tree = expressions.parse("alpha*l + p/(1 + l)")

    def letter(name: str) -> str:
        return words.get(name, name)

    assert (
        expressions.spoken(tree, letter, words)
        == "Alpha times l und p over the quantity 1 und l, end quantity,"
    )
    assert expressions.spoken(tree, str) == "alpha times l plus p over the quantity 1 plus l, end quantity,"
    assert expressions.number_spoken(Fraction(-3, 2), words | {"negative": "minus {a}!"}) == "minus 1.5!"


# Runs ---------------------------------------------------------------------------------------------------

ZH = text.labels("machine", "zh")
LOOP = EventLoop()
COMMAND = [sys.executable, "-m", "tests.workshop.fake_device"]


@pytest.fixture(scope="module")
def runner():
    made = Runner("cuda:0", COMMAND, idle=30, silent=120, patience=0.5)
    yield made
    made.close()


def panel(runner: Runner, N: int) -> machine_run.RunPanel:
    made = LOOP.serve(machine_run.RunPanel(Settings(N=N, Br=128, Bc=32, lang="zh"), ZH, find=lambda: runner))
    made.heard = []
    show = made._show
    made._show = lambda turn, update: (show(turn, update), made.heard.append(made._state.object))
    return made


def check(made: machine_run.RunPanel) -> str:
    html = [made._what.object, made._result.object, *made.heard]
    texts = [one for part in html for one in read(part)]
    # what a process or a library said last is quoted as it was
    texts = [
        one.replace("about to touch address 0", "").replace("expected a power of two, got 48", "")
        for one in texts
    ]
    found = {one: stray(one) for one in texts if stray(one)}
    assert not found, found
    return "".join(html)


@pytest.mark.parametrize("N", ["NORMAL", "REFUSE", "CRASH", "EXIT", "ABSURD", "RAISE"])
def test_a_run_in_chinese(runner, N):
    made = panel(runner, getattr(fake, N))
    made.start()
    LOOP.until(lambda: not made.busy)
    shown = check(made)
    assert {"NORMAL": "测了", "REFUSE": "无法启动", "CRASH": "新的进程", "EXIT": "状态 9"}.get(N, "") in shown


def test_waiting_and_cancelling_in_chinese(runner):
    first, second = panel(runner, fake.SLOW), panel(runner, fake.NORMAL)
    second.session.key = "another reader"
    first.start()
    LOOP.until(lambda: any("running" in html for html in first.heard))
    second.start()
    second.cancel()
    LOOP.until(lambda: not second.busy)
    assert "开始之前已取消" in check(second)
    first.cancel()
    LOOP.until(lambda: not first.busy)
    assert "已取消" in check(first)
