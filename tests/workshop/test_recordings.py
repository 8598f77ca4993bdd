"""The schema of recordings, the reader, and every line of what is shipped."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop import recordings
from workshop.recordings import (
    COLUMNS,
    METRICS,
    PROVIDERS,
    UNITS,
    Recording,
    Row,
    available,
    load,
    problems,
    read,
)
from workshop.recordings.schema import DIRECTIONS, append_rows, parse

# The names other programs rely on, written out once more on purpose.
ISSUED_COLUMNS = (
    "provider, direction, dtype, batch, heads, kv_heads, N, d, causal, Br, Bc, warps, stages, metric, unit, p20, p50, "
    "p80, gpu, driver, torch, triton, commit, time"
).split(", ")
ISSUED_PROVIDERS = {"standard", "teaching", "fast", "sdpa-flash", "sdpa-cudnn", "sdpa-efficient"}
ISSUED_UNITS = {
    "time": "s",
    "error-max": "1",
    "dram-read": "B",
    "dram-write": "B",
    "l2": "B",
    "l1-load": "B",
    "shared": "B",
    "registers": "1",
    "spills": "B",
    "copy-bandwidth": "B/s",
    "matmul-rate": "FLOP/s",
}


def row(**changes) -> Row:
    values = {
        "provider": "teaching",
        "direction": "forward",
        "dtype": "bf16",
        "batch": 1,
        "heads": 32,
        "kv_heads": 32,
        "N": 4096,
        "d": 128,
        "causal": False,
        "Br": 64,
        "Bc": 64,
        "warps": 4,
        "stages": 2,
        "metric": "time",
        "unit": "s",
        "p20": 1e-3,
        "p50": 1.1e-3,
        "p80": 1.2e-3,
        "gpu": "GPU",
        "driver": "1",
        "torch": "2",
        "triton": "3",
        "commit": "abc",
        "time": "2026-11-29T12:00:00Z",
    }
    return Row(**(values | changes))


def test_names_are_as_published():
    assert list(COLUMNS) == ISSUED_COLUMNS
    assert set(PROVIDERS) == ISSUED_PROVIDERS
    assert UNITS == ISSUED_UNITS and set(METRICS) == set(ISSUED_UNITS)


def test_a_good_row_has_no_problems():
    assert problems(row()) == []
    library = row(provider="sdpa-cudnn", Br=None, Bc=None, warps=None, stages=None)
    assert problems(library) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"provider": "cudnn"}, "provider: expected one of"),
        ({"provider": "teaching", "Br": None}, "Br of teaching: expected a value"),
        ({"direction": "both"}, "direction: expected one of"),
        ({"dtype": "fp8"}, "dtype: expected one of"),
        ({"metric": "speed"}, "metric: expected one of"),
        ({"unit": "ms"}, "unit of time: expected 's', got 'ms'"),
        ({"p20": 2.0}, "expected p20 <= p50 <= p80"),
        ({"p20": 0.0}, "p20 of time: expected above 0"),
        ({"p50": float("nan")}, "expected finite numbers"),
        ({"p80": float("inf")}, "expected finite numbers"),
        ({"N": None}, "N: expected a value, got nothing"),
        ({"causal": None}, "causal: expected a value"),
        ({"heads": 0}, "heads: expected 1 or more"),
        ({"kv_heads": 5}, "heads: expected a multiple of 5, got 32"),
        ({"gpu": " "}, "gpu: expected a name or version"),
        ({"commit": ""}, "commit: expected a name or version"),
        ({"time": "yesterday"}, "time: expected YYYY-MM-DDThh:mm:ssZ"),
        ({"metric": "copy-bandwidth", "unit": "B/s"}, "provider of copy-bandwidth: expected nothing"),
    ],
)
def test_each_mistake_is_named(changes, words):
    assert any(words in problem for problem in problems(row(**changes)))


@given(
    st.floats(1e-9, 1e15),
    st.floats(1, 1.5),
    st.floats(1, 1.5),
    st.integers(1, 2**20),
    st.sampled_from(DIRECTIONS),
    st.booleans(),
    st.none() | st.integers(1, 1024),
)
def test_what_is_written_is_read_back(tmp_path_factory, low, up, more, N, direction, causal, Br):
    p20, p50, p80 = sorted((low, low * up, low * up * more))
    provider = "fast" if Br is None else "teaching"
    written = row(
        p20=p20, p50=p50, p80=p80, N=N, direction=direction, causal=causal, provider=provider, Br=Br
    )
    path = tmp_path_factory.mktemp("rows") / "a.csv"
    append_rows(path, [written])
    append_rows(path, [written])
    again = read(path).rows
    assert len(again) == 2 and again[0] == again[1]
    for name in COLUMNS:
        got, want = getattr(again[0], name), getattr(written, name)
        assert got == (pytest.approx(want, rel=1e-8) if name in ("p20", "p50", "p80") else want), name


def test_whole_numbers_stay_whole_in_the_file(tmp_path):
    append_rows(tmp_path / "a.csv", [row(metric="dram-read", unit="B", p20=1e11, p50=1e11 + 1, p80=2e11)])
    assert ",100000000000,100000000001,200000000000," in (tmp_path / "a.csv").read_text()


def test_a_bad_row_is_not_written_at_all(tmp_path):
    with pytest.raises(ValueError, match="row not written: unit of time"):
        append_rows(tmp_path / "a.csv", [row(), row(unit="ms")])
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("N", "many", "column N: expected a whole number or nothing, got 'many'"),
        ("p50", "", "column p50: expected a number, got ''"),
        ("causal", "yes", "column causal: expected 0, 1 or nothing, got 'yes'"),
    ],
)
def test_a_cell_that_does_not_parse_is_named(name, text, words):
    cells = dict(zip(COLUMNS, row().cells(), strict=True)) | {name: text}
    with pytest.raises(ValueError) as raised:
        parse(cells)
    assert str(raised.value) == words


def test_a_file_that_is_no_recording_is_refused_with_its_line(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"a\.csv: expected the columns provider, .* got a, b"):
        read(path)
    path.write_text(",".join(COLUMNS) + "\n1,2\n")
    with pytest.raises(ValueError, match="line 2: expected 24 cells, got 2"):
        read(path)
    path.write_text("")
    with pytest.raises(ValueError, match="got nothing"):
        read(path)


THREE = Recording(
    "three",
    (
        row(N=1024, p20=2.0, p50=2.0, p80=2.5),
        row(N=512, p20=1.0, p50=1.0, p80=1.5),
        row(N=512, provider="fast", Br=None, Bc=None, warps=None, stages=None),
    ),
)


def test_conditions_are_values_sets_or_predicates():
    assert len(THREE.where(provider="teaching")) == 2
    assert len(THREE.where(provider={"fast", "teaching"}, N=512)) == 2
    assert len(THREE.where(N=lambda n: n > 512)) == 1
    assert [r.provider for r in THREE.where(Br=None).rows] == ["fast"]
    with pytest.raises(ValueError, match="expected a column"):
        THREE.where(tile=64)


def test_one_is_one():
    assert THREE.one(N=1024).p50 == 2.0
    assert THREE.get(N=7) is None
    with pytest.raises(ValueError, match="got none"):
        THREE.one(N=7)
    with pytest.raises(ValueError, match="at most one"):
        THREE.one(N=512)


def test_columns_as_arrays_and_values():
    assert THREE.array("provider").tolist() == ["teaching", "teaching", "fast"]
    Br = THREE.array("Br")
    assert Br[:2].tolist() == [64, 64] and np.isnan(Br[2])
    assert THREE.values("N") == [512, 1024] and THREE.values("Br") == [64]


def test_notes_and_method_come_from_the_json(tmp_path):
    append_rows(tmp_path / "a.csv", [row()])
    note = {
        "what": "time",
        "case": {"N": 5},
        "sentence": "no",
        "resource": "threads",
        "required": 2,
        "limit": 1,
    }
    about = {"refused": [note], "skipped": [note | {"sentence": "big"}], "method": {"time": "a clock"}}
    (tmp_path / "a.json").write_text(json.dumps(about))
    made = read(tmp_path / "a.csv")
    assert [(n.kind, n.sentence, n.required) for n in made.notes] == [
        ("refused", "no", 2),
        ("skipped", "big", 2),
    ]
    assert made.method("time") == "a clock" and made.method("l2") == ""
    assert made.where(N=4096).notes == made.notes, "a selection keeps its provenance"


def test_the_source_line_names_machine_versions_commits_and_days():
    two = replace(THREE, rows=(row(), row(commit="def", time="2026-11-30T00:00:00Z")))
    assert two.source() == "GPU, driver 1, torch 2, triton 3, commit abc, def, 2026-11-29 and 2026-11-30"


def test_an_unknown_recording_lists_those_there_are():
    with pytest.raises(ValueError, match="got 'b300'"):
        load("b300")


@pytest.mark.parametrize("name", sorted(available()))
def test_every_line_shipped_follows_the_schema(name):
    wrong = [(number, problem) for number, r in enumerate(load(name).rows, 2) for problem in problems(r)]
    assert wrong == []


def test_the_package_needs_only_numpy():
    import subprocess
    import sys

    code = "import sys, workshop.recordings; print(sorted({'torch', 'triton', 'panel', 'pandas'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert recordings.FOLDER.is_dir()
