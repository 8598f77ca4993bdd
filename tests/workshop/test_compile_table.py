"""The shipped table: complete, current, and what the compiler says today."""

import itertools

import pytest

from workshop.kernels import compile_table
from workshop.kernels.compile_options import TARGETS, Options
from workshop.kernels.compile_report import CannotCompile, Report, program_hash
from workshop.kernels.compile_sass import MEANINGS
from workshop.kernels.compile_source import kernel_hash
from workshop.kernels.compile_table import (
    COLUMNS,
    PATH,
    differences,
    find,
    grid,
    lookup,
    make,
    parse,
    read,
    row,
    stale,
)

ROWS = read()


def test_the_table_is_complete_and_made_from_todays_kernel():
    # The message says which command to run.
    assert stale() == []


def test_the_sliders_grid_is_covered_on_every_target():
    sides = (16, 32, 64, 128, 256)
    for Br, Bc, d, target, stages in itertools.product(sides, sides, (64, 128, 256), TARGETS, (1, 2)):
        assert find(Options(Br=Br, Bc=Bc, d=d, target=target, stages=stages)) is not None
    for Br, Bc, d, target in itertools.product(sides, sides, (64, 128), TARGETS):
        assert find(Options(Br=Br, Bc=Bc, d=d, target=target, stages=3)) is not None
        assert find(Options(Br=Br, Bc=Bc, d=d, target=target, causal=True)) is not None


def test_every_line_stands_alone():
    assert len(ROWS) == len(set(grid())) == len({parse(cells)[0] for cells in ROWS})
    for cells in ROWS:
        assert cells["triton"] and cells["date"] and cells["kernel_hash"]
        options, found = parse(cells)
        if isinstance(found, str):
            assert found.startswith("Triton")
            continue
        assert 0 < found.registers <= 255
        assert found.shared_bytes > 0
        assert found.instructions["MUFU.EX2"] > 0 or found.tensor_columns > 512
        assert (found.tensor_columns > 0) <= (options.target == "sm_100")
        assert set(found.instructions) <= set(MEANINGS)


@pytest.mark.parametrize(
    "target, names",
    [("sm_80", {"HMMA"}), ("sm_89", {"HMMA"}), ("sm_90", {"HGMMA", "HMMA"}), ("sm_100", {"UTCHMMA"})],
)
def test_the_tensor_cores_are_those_of_the_target(target, names):
    report = lookup(Options(Br=128, Bc=64, target=target))
    assert {name for name in ("HMMA", "HGMMA", "UTCHMMA") if report.instructions.get(name)} <= names
    assert report.tensor_core_instructions > 0


def test_the_front_end_still_makes_the_same_programs():
    pytest.importorskip("triton")
    for cells in compile_table.sample(ROWS, 40):
        assert program_hash(parse(cells)[0]) == cells["program_hash"], (
            f"{cells} is out of date; run {compile_table.COMMAND}"
        )


def test_a_sample_of_lines_recompiles_to_the_same_figures():
    pytest.importorskip("triton")
    built = [cells for cells in ROWS if cells["d"] != "256" and int(cells["Br"]) * int(cells["Bc"]) <= 8192]
    for cells in compile_table.sample(built, 6):
        assert differences(cells) == []


def test_a_row_survives_its_text():
    report = lookup(Options(Br=64, Bc=256))
    assert parse(row(report.options, report)) == (report.options, report)
    refused = row(Options(), None, "Triton does not build this.")
    assert parse(refused) == (Options(), "Triton does not build this.")


def test_an_unknown_build_is_none_and_a_stale_line_is_passed_over(monkeypatch):
    assert lookup(Options(d=120)) is None
    compile_table._table.cache_clear()
    monkeypatch.setattr(compile_table, "kernel_hash", lambda kernel: "another")
    assert lookup(Options()) is None
    assert "was made from another teaching kernel" in stale()[0]
    assert "run python -m workshop.kernels.compile_table" in stale()[0]
    monkeypatch.undo()
    compile_table._table.cache_clear()
    assert lookup(Options()) is not None


def test_a_table_that_lacks_builds_says_so(tmp_path):
    compile_table.write(tmp_path / "table.csv", ROWS[:-3])
    assert stale(tmp_path / "table.csv") == [
        "table.csv lacks 3 builds of its grid; run python -m workshop.kernels.compile_table"
    ]


def test_other_columns_are_an_error(tmp_path):
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="expected the columns kernel, target"):
        read(tmp_path / "table.csv")


class Compiler:
    """Stands in for the compiler: refuses Bc = 32, and can be told to stop after some builds."""

    def __init__(self, stop=None):
        self.asked, self.stop = [], stop

    def __call__(self, options):
        if len(self.asked) == self.stop:
            raise KeyboardInterrupt
        self.asked.append(options)
        if options.Bc == 32:
            raise CannotCompile("Triton does not build this.")
        version = compile_table.triton_version() or ""
        return Report(options, 1024, 0, 32, 0, {"LDL": 0}, 9, version, kernel_hash(options.kernel), "program")


def test_making_goes_on_where_it_was_stopped_and_redoes_what_is_out_of_date(tmp_path, monkeypatch):
    path, said = tmp_path / "table.csv", []
    builds = [Options(Bc=Bc) for Bc in (16, 32, 64, 128)]
    monkeypatch.setattr(compile_table, "build", Compiler(stop=2))
    with pytest.raises(KeyboardInterrupt):
        make(path, builds, said.append, save_every=0)
    assert [cells["status"] for cells in read(path)] == ["built", "refused"]

    second = Compiler()
    monkeypatch.setattr(compile_table, "build", second)
    assert make(path, builds, said.append, save_every=0) == 2
    assert second.asked == builds[2:] and len(read(path)) == 4
    assert make(path, builds, said.append) == 0

    monkeypatch.setattr(compile_table, "triton_version", lambda: "another")
    assert make(path, builds, said.append) == 4
    assert [cells["Bc"] for cells in read(path)] == ["16", "32", "64", "128"]


def test_a_changed_source_is_recompiled_only_where_the_program_changed(tmp_path, monkeypatch):
    path, builds = tmp_path / "table.csv", [Options(Bc=Bc) for Bc in (16, 64, 128)]
    monkeypatch.setattr(compile_table, "build", Compiler())
    make(path, builds, lambda text: None)

    again = Compiler()
    monkeypatch.setattr(compile_table, "build", again)
    monkeypatch.setattr(compile_table, "kernel_hash", lambda kernel: "another")
    monkeypatch.setattr(compile_table, "program_hash", lambda o: "changed" if o.Bc == 64 else "program")
    assert make(path, builds, lambda text: None) == 1
    assert again.asked == [builds[1]]
    # The line that was kept says so by its hash; the stand-in's compiled one carries today's real hash.
    assert [cells["kernel_hash"] for cells in read(path)] == ["another", kernel_hash("teaching"), "another"]
    assert {cells["shared_bytes"] for cells in read(path)} == {"1024"}


def test_a_line_that_differs_is_named(monkeypatch):
    cells = next(cells for cells in ROWS if cells["status"] == "built")
    monkeypatch.setattr(compile_table, "build", lambda options: Compiler()(Options(Bc=16)))
    found = differences(cells)
    assert any(f"registers: expected {cells['registers']} as in the table, got 32" in text for text in found)


def test_columns_are_those_of_the_docstring():
    for name in COLUMNS:
        assert name in compile_table.__doc__
    assert PATH.name == "compile-table.csv"
