"""A hash of what decides a kernel's machine code, read from its source text without importing Triton.

Figures of a build are stored with this hash, so that a changed kernel can never be shown with old figures. The
hash covers the kernel function, whatever it calls or names in its own file and in files of this package, and
the function that puts its arguments together. Comments, docstrings, line numbers and layout do not count: moving a
function or rewording its explanation leaves the stored figures valid.
"""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from pathlib import Path

FOLDER = Path(__file__).parent
#: kernel -> the definitions that decide its build, as (file of this package, name): its device code, and how its
#: arguments are put together
ENTRY = {"teaching": (("teaching_kernel", "teaching_forward"), ("teaching", "spec"))}
#: What these lead to and what is left out: records that are handed over. Whether they still lead to the same
#: program is a question for the compiler's front end, which the table's test asks.
LEFT_OUT = ("LaunchSpec", "Shape", "strides")


@lru_cache(maxsize=32)
def kernel_hash(kernel: str) -> str:
    """16 hex digits for one of `ENTRY`.

    Raises ValueError for an unknown kernel or a definition that is gone, FileNotFoundError for a file that is.
    """
    if kernel not in ENTRY:
        raise ValueError(f"kernel: expected one of {', '.join(ENTRY)}; got {kernel!r}")
    return source_hash(FOLDER, ENTRY[kernel])


def source_hash(folder: Path, entries: tuple[tuple[str, str], ...]) -> str:
    """16 hex digits for some definitions in the files of a folder and everything of ours that they lead to.

    Raises ValueError when a file does not define a name.
    """
    found: dict[tuple[str, str], str] = {}
    for module, name in entries:
        if not _collect(folder / f"{module}.py", name, found):
            raise ValueError(f"{module}.py: expected a definition of {name}, got none")
    text = "\n".join(f"{file}:{name}\n{code}" for (file, name), code in sorted(found.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _collect(path: Path, name: str, found: dict) -> bool:
    """Adds the definition of `name` and of all that it names; False if the file does not define it."""
    if name in LEFT_OUT or (path.name, name) in found:
        return True
    definitions, imports = _module(path)
    if name in imports:
        source, original = imports[name]
        return _collect(source, original, found)
    if name not in definitions:
        return False
    nodes = definitions[name]
    found[path.name, name] = "\n".join(ast.unparse(node) for node in nodes)
    for node in nodes:
        for used in ast.walk(node):
            if isinstance(used, ast.Name):
                _collect(path, used.id, found)
            elif isinstance(used, ast.ImportFrom):
                # An import inside a function, as a file that must load without Triton writes it.
                for source, original in _sources(path, used).values():
                    _collect(source, original, found)
    return True


@lru_cache(maxsize=64)
def _module(path: Path):
    """Definitions (name -> statements that bind it, without docstrings) and imports from this package."""
    definitions: dict[str, list[ast.stmt]] = {}
    imports: dict[str, tuple[Path, str]] = {}
    for node in _statements(ast.parse(path.read_text(encoding="utf-8")).body):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            definitions.setdefault(node.name, []).append(_without_docstrings(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name):
                        definitions.setdefault(part.id, []).append(node)
        elif isinstance(node, ast.ImportFrom):
            imports |= _sources(path, node)
    return definitions, imports


def _statements(body):
    """Module-level statements, those under `if`, `try` and `with` included."""
    for node in body:
        if isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                yield from _statements(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from _statements(handler.body)
        else:
            yield node


def _sources(path: Path, node: ast.ImportFrom) -> dict[str, tuple[Path, str]]:
    """Names that an import takes from a file beside `path`: name here -> (file, name there)."""
    module = node.module or ""
    if node.level == 0 and module.startswith("workshop.kernels."):
        module = module.removeprefix("workshop.kernels.")
    elif node.level != 1:
        return {}
    source = path.parent / f"{module}.py"
    if not module or not source.exists():
        return {}
    return {alias.asname or alias.name: (source, alias.name) for alias in node.names}


def _without_docstrings(node):
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            first = part.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                part.body = part.body[1:] or [ast.Pass()]
    return node
