"""The models know neither the pages nor the kernels' libraries."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

WORKSHOP = Path(__file__).parents[2] / "workshop"
MODELS = sorted(path.stem for path in WORKSHOP.glob("*.py") if path.stem not in ("__init__", "__main__"))
VIEWS = {"panel", "bokeh", "param", "panel_material_ui", "plates"}
HEAVY = {"torch", "triton"}


def loaded_by(module):
    """Top-level packages in sys.modules after importing `module` in a fresh process."""
    code = f"import sys, {module}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=WORKSHOP.parent
    )
    return set(found.stdout.split())


def test_no_model_loads_a_view_or_torch_or_triton():
    modules = ", ".join(f"workshop.{name}" for name in [*MODELS, "__main__", "kernels", "recordings"])
    loaded = loaded_by(modules)
    assert "numpy" in loaded
    assert not loaded & (VIEWS | HEAVY)


@pytest.mark.parametrize(
    "path", sorted(WORKSHOP.rglob("*.py")), ids=lambda path: str(path.relative_to(WORKSHOP))
)
def test_no_file_imports_a_view_even_inside_a_function(path):
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.add(node.module.split(".")[0])
    assert not imported & VIEWS
