"""The compiler itself: golden sizes, the launcher's specialisation, and what is said when there is none."""

import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace

import pytest

from workshop.kernels import compile_launch, compile_report
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_report import CannotCompile, Report, TritonMissing, build, refusal

triton = pytest.importorskip("triton")

# Br, Bc, warps: shared memory of a block in B at d = 128, bf16, 2 stages, as an H200 reported it for a plain
# FlashAttention kernel (Triton 3.6.0, 2026-11-29); the last one is the tile that it refused to launch.
MEASURED = {(16, 16, 4): 12_800, (64, 64, 4): 81_920, (128, 64, 8): 98_304, (64, 256, 4): 278_528}


@pytest.fixture(scope="module")
def reports():
    return {tile: build(Options(Br=tile[0], Bc=tile[1], warps=tile[2])) for tile in MEASURED}


@pytest.mark.parametrize("tile", MEASURED)
def test_shared_memory_is_what_a_gpu_reported(reports, tile):
    assert reports[tile].shared_bytes == MEASURED[tile]


def test_registers_and_spills_are_those_of_the_assembler(reports, tmp_path):
    """The assembler's own log of the same code, read in another way."""
    options = Options(Br=64, Bc=256, warps=4)
    spec = compile_launch.launch_of(options)
    target = triton.backends.compiler.GPUTarget("cuda", 90, 32)
    parsed, *source = compile_report.specialise(spec, triton.compiler.make_backend(target))
    with triton.knobs.cache.scope():
        triton.knobs.cache.dir = str(tmp_path)
        compiled = triton.compile(triton.compiler.ASTSource(spec.function, *source), target, parsed.__dict__)
    (tmp_path / "kernel.ptx").write_text(compiled.asm["ptx"])
    command = [triton.knobs.nvidia.ptxas.path, "-v", "--regAllocOptLevel=2", "--gpu-name=sm_90a"]
    command += [str(tmp_path / "kernel.ptx"), "-o", str(tmp_path / "kernel.o")]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    report = reports[64, 256, 4]
    assert report.registers == int(re.search(r"Used (\d+) registers", log)[1])
    assert report.stack_bytes == int(re.search(r"(\d+) bytes stack frame", log)[1]) > 0
    # An independent count of the same code by the other disassembler.
    command = [triton.knobs.nvidia.nvdisasm.path, "-c", str(tmp_path / "kernel.o")]
    code = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    for name in ("HGMMA", "MUFU.EX2", "LDL", "STL", "LDGSTS"):
        assert report.instructions[name] == len(re.findall(rf"\s{re.escape(name)}[. ]", code)), name


def test_the_loop_is_pipelined_only_as_a_launch_would(reports):
    """Each stage holds a K and a V tile; a stride that is no multiple of 16 bytes rules the pipeline out."""
    one = build(Options(stages=1))
    assert reports[64, 64, 4].shared_bytes - one.shared_bytes == 2 * 64 * 128 * 2
    assert reports[64, 64, 4].instructions["LDGSTS"] > 0 and "LDGSTS" not in one.instructions
    assert "LDGSTS" not in build(Options(d=40, Br=16, Bc=16)).instructions


def test_arguments_are_specialised_as_by_a_launch():
    spec = compile_launch.launch_of(Options(d=40))
    backend = triton.compiler.make_backend(triton.backends.compiler.GPUTarget("cuda", 90, 32))
    _, signature, constants, attributes = compile_report.specialise(spec, backend)
    names = list(spec.function.arg_names)
    sixteen = {names[path[0]] for path, found in attributes.items() if found == [["tt.divisibility", 16]]}
    assert {"Q", "K", "V", "O", "L", "H", "Nq", "Nk", "k_head"} <= sixteen
    # A row of 40 elements: neither the head size nor the row stride is a multiple of 16.
    assert not {"d", "q_row", "k_row", "v_row", "o_row", "scale"} & sixteen
    fixed = {names[path[0]]: value for path, value in constants.items()}
    assert fixed["q_column"] == 1 and fixed["group"] == 1 and fixed["BR"] == 64 and fixed["D"] == 64
    assert signature["Q"] == "*bf16" and signature["L"] == "*fp32"


def test_the_programs_hash_follows_what_is_computed_and_not_how_it_is_built():
    one = compile_report.program_hash(Options(Br=16, Bc=16))
    assert one == build(Options(Br=16, Bc=16)).program_hash
    # Warps, stages and the target come after the front end.
    assert one == compile_report.program_hash(Options(Br=16, Bc=16, warps=8, stages=3, target="sm_80"))
    others = [{"Bc": 32}, {"d": 64}, {"causal": True}, {"dtype": "fp16"}]
    hashes = {one} | {compile_report.program_hash(Options(**{"Br": 16, "Bc": 16} | o)) for o in others}
    assert len(hashes) == 5


def test_fp32_stays_off_the_tensor_cores():
    report = build(Options(Br=16, Bc=16, d=16, dtype="fp32"))
    assert report.tensor_core_instructions == 0 and report.instructions["FFMA"] > 100


def test_a_report_survives_json(reports):
    report = reports[64, 64, 4]
    assert Report.from_record(json.loads(json.dumps(report.record()))) == report
    with pytest.raises(ValueError, match="expected the fields of a compile report"):
        Report.from_record({"registers": 1})
    with pytest.raises(ValueError, match="registers: expected a whole number, got '9'"):
        Report.from_record(report.record() | {"registers": "9"})


def test_the_spill_count_is_that_of_local_memory(reports):
    report = replace(reports[64, 64, 4], instructions={"LDL": 3, "STL": 4, "LDS": 9})
    assert report.spill_instructions == 7


def test_nothing_is_left_behind_and_the_compilers_own_folder_is_untouched(tmp_path, monkeypatch):
    (tmp_path / "triton").mkdir()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    before = triton.knobs.cache.dir
    build(Options(Br=16, Bc=16, d=16))
    assert triton.knobs.cache.dir == before and os.environ["TRITON_CACHE_DIR"] == str(tmp_path / "triton")
    assert not list((tmp_path / "triton").iterdir()) and not list((tmp_path / "tmp").iterdir())


def test_threads_that_build_at_once_get_their_own_kernels():
    wanted = [Options(Br=16, Bc=Bc, d=16) for Bc in (16, 32)]
    alone, together = [build(options) for options in wanted], {}
    threads = [threading.Thread(target=lambda o=o: together.update({o: build(o)})) for o in wanted]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [replace(together[o], seconds=0) for o in wanted] == [replace(r, seconds=0) for r in alone]


def test_interpreter_mode_is_told(monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    with pytest.raises(TritonMissing, match="TRITON_INTERPRET=1"):
        build(Options())


def test_without_triton_and_torch_everything_loads_and_says_what_is_missing():
    code = """
import sys
sys.modules["triton"] = sys.modules["torch"] = None
from workshop.kernels import cli_compile, compile_report, compile_service, compile_table, compile_worker
from workshop.kernels.compile_options import Options
try:
    compile_report.build(Options())
except compile_report.TritonMissing as missing:
    print(missing)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Triton is not installed, so nothing can be compiled here; pip install")


def test_building_does_not_need_torch():
    code = """
import sys
sys.modules["torch"] = None
from workshop.kernels.compile_report import build
from workshop.kernels.compile_options import Options
print(build(Options(Br=16, Bc=16, d=16)).registers)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == build(Options(Br=16, Bc=16, d=16)).registers


def test_a_kernel_that_does_not_build_becomes_a_sentence(monkeypatch):
    real = compile_launch.launch_of

    def broken(options):
        spec = real(options)
        return replace(spec, arguments=spec.arguments | {"D": 48})

    monkeypatch.setattr(compile_report, "launch_of", broken)
    with pytest.raises(
        CannotCompile, match=r"does not build the teaching kernel for 64 x 64, d = 128.*power of 2"
    ):
        build(Options())


@pytest.mark.parametrize(
    "text, said",
    [
        ("at 3:50:\n  code\n  ^\narange's range must be a power of 2", "arange's range must be a power of 2"),
        ("PassManager::run failed", "PassManager::run failed"),
        ("`ptxas` failed with error code 255\n`ptxas` stderr:\nlong", "`ptxas` failed with error code 255"),
        ("", "RuntimeError"),
    ],
)
def test_the_telling_line_of_an_error_is_kept(text, said):
    assert refusal(Options(), "9.9", RuntimeError(text)).endswith(f"4 warps, sm_90: {said}")
