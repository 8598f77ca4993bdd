import json
import subprocess
import sys

import pytest

from workshop.kernels import cli_compile, compile_table
from workshop.kernels.cli_compile import main
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_report import TritonMissing

KEYS = [
    *("shared_bytes", "limit_bytes", "launches", "registers", "stack_bytes", "spill_instructions"),
    *("instructions", "blocks_per_sm", "triton", "kernel"),
]
OVER = ["--Br", "64", "--Bc", "256", "-d", "128", "--dtype", "bf16", "--warps", "4", "--stages", "2"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def no_build(monkeypatch):
    """Fails a test that compiles although the table has the answer."""

    def build(options):
        raise AssertionError(f"compiled {options}")

    monkeypatch.setattr(cli_compile, "build", build)


def test_json_has_the_agreed_keys_and_the_tables_figures(capsys, no_build):
    assert main(["--json", *OVER, "--target", "sm_90"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert list(said) == KEYS
    row = compile_table.lookup(Options(Br=64, Bc=256))
    assert said["shared_bytes"] == row.shared_bytes == 278_528
    assert said["limit_bytes"] == 232_448 and said["launches"] is False and said["blocks_per_sm"] == 0
    assert (said["registers"], said["stack_bytes"]) == (row.registers, row.stack_bytes)
    assert said["spill_instructions"] == said["instructions"]["LDL"] + said["instructions"]["STL"]
    assert said["instructions"]["HGMMA"] > 0 and said["instructions"]["MUFU.EX2"] > 0
    assert (said["triton"], said["kernel"]) == (row.triton, "teaching")


def test_the_command_runs_as_a_sub_command_of_the_workshop():
    command = [sys.executable, "-m", "workshop", "compile", "--json", *OVER, "--target", "sm_90"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert list(json.loads(done.stdout)) == KEYS and done.stderr == ""


def test_the_table_ends_with_the_verdict(capsys, no_build):
    assert main(OVER) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(
        "It needs 278,528 B, an H100 block has 232,448 B: it would not launch; try Bc=128 or one stage"
    )


def test_the_gpu_sets_the_target_and_the_limit(capsys, no_build):
    assert main(["--json", "--Br", "64", "--Bc", "64", "--gpu", "l4"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["limit_bytes"] == 101_376
    assert said["shared_bytes"] == compile_table.lookup(Options(target="sm_89")).shared_bytes


def test_blackwell_names_its_tensor_memory(capsys, no_build):
    assert main(["--Br", "128", "--Bc", "64", "--target", "sm_100"]) == 0
    said = capsys.readouterr().out
    assert "tensor memory" in said and "UTCHMMA" in said


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--Br", "48"], "argument --Br: expected a power of two from 16 to 1024; got '48'"),
        (["--Bc", "two"], "argument --Bc: expected a power of two from 16 to 1024; got 'two'"),
        (["-d", "300"], "argument -d/--d: expected a whole number from 8 to 256; got '300'"),
        (["--dtype", "fp8"], "argument --dtype: expected one of bf16, fp16, fp32; got 'fp8'"),
        (["--warps", "5"], "argument --warps: expected one of 1, 2, 4, 8, 16, 32; got '5'"),
        (["--stages", "9"], "argument --stages: expected a whole number from 1 to 8; got '9'"),
        (["--stages"], "argument --stages: expected a whole number from 1 to 8; got nothing"),
        (
            ["--target", "sm_70"],
            "argument --target: expected one of sm_80, sm_89, sm_90, sm_100; got 'sm_70'",
        ),
        (["--kernel", "slow"], "argument --kernel: expected one of teaching"),
        (["--causal", "2"], "argument --causal: expected 0 or 1; got '2'"),
        (["--gpu", "mi300x"], "argument --gpu: expected one of h100-sxm"),
        (["--gpu", "l4", "--target", "sm_90"], "expected sm_89 with --gpu l4; got 'sm_90'"),
        (["--Blue", "1"], "unrecognized arguments: --Blue 1"),
    ],
)
def test_bad_input_is_one_line_that_names_option_and_range_and_status_2(capsys, arguments, message):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    said = capsys.readouterr()
    assert end.value.code == 2 and said.out == ""
    assert said.err.startswith("python -m workshop compile: ") and message in said.err
    assert said.err.count("\n") == 1


def test_a_build_is_kept_for_the_next_call(capsys, monkeypatch):
    built = []

    def build(options):
        built.append(options)
        return compile_table.lookup(Options(d=128)).__class__(
            **vars(compile_table.lookup(Options(d=128))) | {"options": options}
        )

    monkeypatch.setattr(cli_compile, "build", build)
    for _ in range(2):
        assert main(["--json", "-d", "104"]) == 0
    assert main(["--json", "-d", "104", "--fresh"]) == 0
    assert built == [Options(d=104)] * 2


def test_without_triton_the_table_still_answers_and_the_rest_says_what_is_missing(capsys, monkeypatch):
    def build(options):
        raise TritonMissing("Triton is not installed.")

    monkeypatch.setattr(cli_compile, "build", build)
    monkeypatch.setattr(cli_compile, "triton_version", lambda: None)
    assert main(["--json", "--Br", "64"]) == 0
    with pytest.raises(SystemExit) as end:
        main(["--json", "-d", "104"])
    assert end.value.code == 2
    assert capsys.readouterr().err == "python -m workshop compile: Triton is not installed.\n"
