"""A new plate to start from: it passes, as it is written, what every plate has to pass."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plates import new
from plates.plate import Plate
from workshop.hardware import GPU

ROOT = Path(__file__).parents[2]
SLUG = "brand_new"
#: What walks every plate without being told to; `tests/browser` does so in Chromium.
WALKS = (
    "text",
    "answers",
    "translation",
    "walk",
    "readouts",
    "path",
    "every_key",
    "roles",
    "theme",
    "typography",
    SLUG,
)


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """A copy of the pages and their tests, with a new plate; models and style sheets are the same."""
    root = tmp_path_factory.mktemp("tree")
    for name in ("plates", "tests"):
        shutil.copytree(ROOT / name, root / name, ignore=shutil.ignore_patterns("__pycache__", "browser"))
    for name in ("workshop", "static", "app.py", "pyproject.toml"):
        (root / name).symlink_to(ROOT / name)
    new.write(SLUG, root)
    return root


def run(root: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Run Python in the tree ``root``."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=root, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip


def test_a_plate_as_it_is_written_passes_what_walks_every_plate(tree):
    files = [f"tests/plates/test_{name}.py" for name in WALKS]
    done = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", SLUG, *files)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


def test_it_is_as_the_linter_wants_it(tree):
    files = ["plates/registry.py", f"plates/{SLUG}.py", f"tests/plates/test_{SLUG}.py"]
    for check in (("check",), ("format", "--check")):
        done = run(tree, "-m", "ruff", *check, *files)
        assert done.returncode == 0, done.stdout + done.stderr


def test_it_stands_before_the_last_plate(tree):
    done = run(tree, "-c", "from plates.registry import PLATES; print([p.slug for p in PLATES[-2:]])")
    assert done.stdout.strip() == f"['{SLUG}', 'review']", done.stderr


def names() -> list[tuple[str, str]]:
    """Return (module, name) of what the README says answers a question."""
    table = (
        (ROOT / "plates" / "README.md").read_text(encoding="utf-8").split("## Which function answers what")[1]
    )
    return re.findall(r"`((?:\w+\.)*\w+)\.(\w+)", re.sub(r"`settings\.[^|]*?: ", "", table))


@pytest.mark.parametrize(("module", "name"), names())
def test_the_functions_that_the_readme_names_are_there(module, name):
    if module in ("self", "GPU"):
        owner = {"self": Plate, "GPU": GPU}[module]
    else:
        owner = importlib.import_module(f"workshop.{module}")
    assert hasattr(owner, name)


@pytest.mark.parametrize("slug", ["", "Intensity", "two words", "2d", "class", "wall", "../x"])
def test_a_slug_that_cannot_be_one_is_refused_and_nothing_is_written(slug, tmp_path):
    shutil.copytree(ROOT / "plates", tmp_path / "plates", ignore=shutil.ignore_patterns("__pycache__"))
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(ValueError, match="slug"):
        new.write(slug, tmp_path)
    assert sorted(tmp_path.rglob("*")) == before
