"""`python -m workshop`: schema, golden numbers, messages and pipes."""

import json
import subprocess
import sys
import types

import pytest

from workshop import __main__ as cli
from workshop.hardware import GPUS
from workshop.problem import LIMITS
from workshop.traffic import MODELS


def answer(capsys, *argv):
    assert cli.main(["--json", *argv]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_schema(capsys):
    found = answer(capsys)
    assert list(found) == [
        "problem",
        "tile",
        "gpu",
        "traffic_elements",
        "traffic_ratio",
        "flops",
        "time_s",
        "score_bytes",
        "working_set_bytes",
        "fits",
        "spill_bytes",
    ]
    assert found["problem"] == {"N": 8192, "d": 128, "H": 32, "B": 1, "dtype": "bf16", "causal": False}
    assert found["tile"] == {"Br": 128, "Bc": 64, "sram": 228}
    assert found["gpu"]["slug"] == "h100-sxm"
    for key in ("traffic_elements", "traffic_ratio", "time_s"):
        assert tuple(found[key]) == MODELS
    assert list(found["working_set_bytes"]) == ["q", "o", "k", "v", "s", "statistics", "total"]


def test_golden(capsys):
    found = answer(capsys, "-N", "8192", "-d", "128")
    assert found["traffic_elements"]["standard"] == 272_629_760
    assert abs(found["traffic_elements"]["bound"] - 23_031_880) <= 1
    assert found["traffic_ratio"]["bound"] == pytest.approx(11.837, abs=5e-4)
    assert found["time_s"]["standard"] == pytest.approx(5.2084e-3, abs=5e-8)
    assert found["time_s"]["bound"] == pytest.approx(1.1117e-3, abs=5e-8)
    assert found["score_bytes"] == 4_294_967_296
    assert found["flops"] == 4 * 8192**2 * 128 * 32
    assert found["fits"] is True
    assert found["spill_bytes"] == 0
    assert answer(capsys, "-d", "64")["traffic_ratio"]["bound"] == pytest.approx(39.746, abs=5e-4)
    assert answer(capsys, "-N", "512")["traffic_ratio"]["bound"] == pytest.approx(3.904, abs=5e-4)


def test_long_and_short_names_are_the_same(capsys):
    assert answer(capsys, "-N", "1000", "-d", "40") == answer(capsys, "--N", "1000", "--d=40")


def test_all_options_arrive(capsys):
    options = "-N 17 -d 40 --Br 7 --Bc 5 --sram 1 --H 3 --B 2 --dtype fp32 --causal --gpu l4"
    found = answer(capsys, *options.split())
    assert found["problem"] == {"N": 17, "d": 40, "H": 3, "B": 2, "dtype": "fp32", "causal": True}
    assert found["tile"] == {"Br": 7, "Bc": 5, "sram": 1}
    assert (found["gpu"]["slug"], found["gpu"]["bandwidth"], found["gpu"]["peak"]) == ("l4", 300e9, 30.3e12)
    assert found["score_bytes"] == 6 * 17 * 17 * 4
    assert found["spill_bytes"] == found["working_set_bytes"]["total"] - 1024
    assert found["fits"] is False
    assert found == answer(capsys, *options.replace("--causal", "--causal 1").split())


@pytest.mark.parametrize("N", [1, 15, 17, 1000, 1_048_576])
def test_ragged_and_long(capsys, N):
    found = answer(capsys, "-N", str(N), "--Br", "48", "--Bc", "112")
    assert found["traffic_elements"]["standard"] == 4 * N * 128 + 4 * N * N
    assert found["traffic_elements"]["tiled"] == 2 * N * 128 * (1 + -(-N // 48))
    assert found["score_bytes"] == 32 * N * N * 2


@pytest.mark.parametrize("end", [0, 1])
@pytest.mark.parametrize("gpu", GPUS)
def test_both_ends_of_every_option(capsys, end, gpu):
    argv = [f"--{option}={limits[end]}" for option, limits in LIMITS.items()]
    for dtype in ("fp8", "fp32"):
        found = answer(capsys, *argv, "--dtype", dtype, "--gpu", gpu)
        assert all(value > 0 for key in ("traffic_elements", "time_s") for value in found[key].values())
        assert cli.main([*argv, "--dtype", dtype, "--gpu", gpu, "--causal"]) == 0
        table = capsys.readouterr().out
        assert "nan" not in table
        assert "inf" not in table


def test_table(capsys):
    assert cli.main([]) == 0
    out = capsys.readouterr().out
    for text in (
        "545 MB",
        "46.1 MB",
        "11.8×",
        "5.21 ms",
        "1.11 ms",
        "272,629,760 elements",
        "115,200 B",
        "fits",
    ):
        assert text in out
    assert all(line == line.rstrip() and len(line) <= 120 for line in out.splitlines())
    assert cli.main(["--Br", "512", "--causal", "1", "--dtype", "fp8", "--gpu", "a100-sxm-40"]) == 0
    out = capsys.readouterr().out
    assert "no fp8 arithmetic" in out
    assert "standard does not skip" in out


@pytest.mark.parametrize(
    ("argv", "parts"),
    [
        (["-N", "0"], ("-N/--N", "1 to 1,048,576", "'0'")),
        (["-N", "1e12"], ("-N/--N", "1 to 1,048,576", "'1e12'")),
        (["-N", "-5"], ("-N/--N", "1 to 1,048,576", "'-5'")),
        (["-d", "7"], ("-d/--d", "8 to 256", "'7'")),
        (["--Br", "1025"], ("--Br", "1 to 1,024", "'1025'")),
        (["--Bc", "abc"], ("--Bc", "1 to 1,024", "'abc'")),
        (["--sram", "0"], ("--sram", "1 to 1,024", "'0'")),
        (["--sram"], ("--sram", "1 to 1,024", "nothing")),
        (["--H", "257"], ("--H", "1 to 256", "'257'")),
        (["--B", ""], ("--B", "1 to 1,024", "''")),
        (["--dtype", "int8"], ("--dtype", "bf16, fp16, fp32, fp8", "'int8'")),
        (["--causal", "2"], ("--causal", "0, 1", "'2'")),
        (["--gpu", "h100"], ("--gpu", "h100-sxm", "'h100'")),
        (["--gpu", "custom"], ("--bandwidth", "--gpu custom")),
        (["--gpu", "custom", "--bandwidth", "0", "--peak", "1"], ("--bandwidth", "above 0", "'0'")),
        (["--peak", "100"], ("--peak", "--gpu custom", "h100-sxm")),
        (["--nonsense"], ("--nonsense",)),
        (["stray"], ("stray",)),
    ],
)
def test_bad_input_is_one_line_that_names_option_and_range(capsys, argv, parts):
    with pytest.raises(SystemExit) as caught:
        cli.main(argv)
    assert caught.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    for part in parts:
        assert part in captured.err


def test_custom_gpu(capsys):
    found = answer(capsys, "--gpu", "custom", "--bandwidth", "2", "--peak", "400")
    assert (found["gpu"]["bandwidth"], found["gpu"]["peak"]) == (2e12, 400e12)
    assert found["time_s"]["standard"] == pytest.approx(545_259_520 * 32 / 2e12)


@pytest.mark.parametrize("name", ["compile", "measure"])
def test_sub_commands_are_handed_their_arguments(monkeypatch, name):
    seen = []
    stand_in = types.SimpleNamespace(main=lambda argv: seen.append(argv))
    monkeypatch.setitem(sys.modules, cli.COMMANDS[name], stand_in)
    assert cli.main([name, "--Br", "64"]) == 0
    assert seen == [["--Br", "64"]]


@pytest.mark.parametrize("name", ["compile", "measure"])
def test_a_sub_command_that_cannot_be_imported_says_what_is_missing(monkeypatch, capsys, name):
    # None in sys.modules makes the import fail, as on a machine without it.
    monkeypatch.setitem(sys.modules, cli.COMMANDS[name], None)
    assert cli.main([name]) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert f"workshop {name}: needs {cli.COMMANDS[name]}" in captured.err


def test_as_a_process():
    run = [sys.executable, "-m", "workshop"]
    found = subprocess.run(
        [*run, "--json", "-N", "8192", "-d", "128"], capture_output=True, text=True, check=True
    )
    assert json.loads(found.stdout)["traffic_elements"]["standard"] == 272_629_760
    bad = subprocess.run([*run, "--Br", "0"], capture_output=True, text=True)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert (
        bad.stderr == "python -m workshop: argument --Br: expected a whole number from 1 to 1,024; got '0'\n"
    )


def test_a_reader_that_leaves_is_no_traceback():
    command = f"{sys.executable} -m workshop --json | true"
    found = subprocess.run(
        ["bash", "-c", command + "; exit ${PIPESTATUS[0]}"], capture_output=True, text=True
    )
    assert found.stderr == ""
    # The answer may have been written before the reader left.
    assert found.returncode in (0, 141)
