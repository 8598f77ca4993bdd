import json
from dataclasses import replace
from pathlib import Path

import pytest

from workshop.kernels import compile_cache
from workshop.kernels.compile_cache import Cache, cache_folder
from workshop.kernels.compile_options import Options
from workshop.kernels.compile_report import Report
from workshop.kernels.compile_source import kernel_hash


def made(**changes):
    return Report(
        options=Options(d=80),
        shared_bytes=81920,
        tensor_columns=0,
        registers=168,
        stack_bytes=0,
        instructions={"HGMMA": 16},
        instruction_total=900,
        triton="9.9",
        kernel_hash=kernel_hash("teaching"),
        program_hash="0",
        **changes,
    )


def test_a_report_comes_back_equal(tmp_path):
    assert Cache(tmp_path, "9.9").put(made())
    assert Cache(tmp_path, "9.9").get(Options(d=80)) == made()
    assert [path.suffix for path in tmp_path.rglob("*") if path.is_file()] == [".json"]


def test_another_compiler_kernel_or_option_is_another_entry(tmp_path, monkeypatch):
    Cache(tmp_path, "9.9").put(made())
    assert Cache(tmp_path, "9.8").get(Options(d=80)) is None
    assert Cache(tmp_path, "9.9").get(Options(d=81)) is None
    monkeypatch.setattr(compile_cache, "kernel_hash", lambda kernel: "another")
    assert Cache(tmp_path, "9.9").get(Options(d=80)) is None


def test_a_report_of_another_compiler_or_kernel_is_not_kept(tmp_path):
    assert not Cache(tmp_path, "9.8").put(made())
    assert not Cache(tmp_path, "9.9").put(replace(made(), kernel_hash="another"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", '{"options": {}}'])
def test_a_damaged_entry_is_passed_over_and_replaced(tmp_path, text):
    cache = Cache(tmp_path, "9.9")
    cache.put(made())
    cache.path(Options(d=80)).write_text(text)
    assert cache.get(Options(d=80)) is None
    assert cache.put(made()) and cache.get(Options(d=80)) == made()


def test_an_entry_under_a_wrong_name_is_passed_over(tmp_path):
    cache = Cache(tmp_path, "9.9")
    cache.put(made())
    record = json.loads(cache.path(Options(d=80)).read_text())
    cache.path(Options(d=81)).write_text(json.dumps(record))
    assert cache.get(Options(d=81)) is None


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file", "9.9")
    assert not cache.put(made()) and cache.get(Options(d=80)) is None


def test_the_folder_follows_the_system(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == tmp_path / ".cache" / "flashattention-workshop"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert cache_folder() == tmp_path / ".cache" / "flashattention-workshop"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_folder() == tmp_path / "x" / "flashattention-workshop"
    monkeypatch.setattr("sys.platform", "darwin")
    assert cache_folder() == Path(tmp_path) / "Library" / "Caches" / "flashattention-workshop"
    monkeypatch.setattr("sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "flashattention-workshop"
