"""A new plate to start from: ``python -m plates.new <slug>`` writes it, registers it, and it passes the tests.

It writes the module, its prose in every language and a test, and puts the plate before the last one. What it shows is
a placeholder: replace it piece by piece, as ``plates/README.md`` says.
"""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SKELETON = Path(__file__).parent / "skeleton"
#: File of the skeleton -> where it goes; SLUG, NAME and CLASS are replaced in both.
FILES = {
    "plate.py.txt": "plates/SLUG.py",
    "en.md": "plates/prose/SLUG.md",
    "zh.md": "plates/prose/zh/SLUG.md",
    "test.py.txt": "tests/plates/test_SLUG.py",
}


def filled(source: str, slug: str) -> str:
    """Return ``source`` with the names of the plate ``slug``."""
    name = slug.replace("_", " ").capitalize()
    for mark, value in (
        ("SLUG", slug),
        ("NAME", name),
        ("CLASS", "".join(p.capitalize() for p in slug.split("_"))),
    ):
        source = source.replace(mark, value)
    return source


def registered(registry: str, slug: str) -> str:
    """Return the text of ``registry.py`` with the plate ``slug`` imported and listed before the last one."""
    name = filled("CLASS", slug)
    lines = registry.splitlines(keepends=True)
    imports = [i for i, line in enumerate(lines) if line.startswith("from plates.")]
    lines[imports[0] : imports[-1] + 1] = sorted(
        [*(lines[i] for i in imports), f"from plates.{slug} import {name}\n"]
    )
    entries = [i for i, line in enumerate(lines) if re.fullmatch(r"    \w+,\n", line)]
    lines.insert(entries[-1], f"    {name},\n")
    return "".join(lines)


def write(slug: str, root: Path = ROOT) -> list[Path]:
    """Write a plate into the tree at ``root``; returns its files. Raises ValueError for a slug that cannot be one."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", slug) or keyword.iskeyword(slug):
        raise ValueError(
            f"slug: expected small letters, digits and _ that make a module's name, got {slug!r}"
        )
    targets = {name: root / filled(path, slug) for name, path in FILES.items()}
    there = [path for path in targets.values() if path.exists()]
    if there:
        raise ValueError(f"slug: {slug!r} is taken, {there[0].relative_to(root)} exists")
    for name, path in targets.items():
        path.write_text(filled((SKELETON / name).read_text(encoding="utf-8"), slug), encoding="utf-8")
    registry = root / "plates" / "registry.py"
    registry.write_text(registered(registry.read_text(encoding="utf-8"), slug), encoding="utf-8")
    return [*targets.values(), registry]


def main(argv: list[str] | None = None) -> int:
    """The command; exit status 2 for a slug that cannot be one."""
    made = argparse.ArgumentParser(prog="python -m plates.new", description="Write a plate to start from.")
    made.add_argument(
        "slug", help="its name in addresses (?plate=slug) and of its files, such as 'intensity'"
    )
    try:
        files = write(made.parse_args(argv).slug)
    except ValueError as error:
        print(f"plates.new: {error}", file=sys.stderr)
        return 2
    print("\n".join(str(path.relative_to(ROOT)) for path in files))
    print("It passes the tests as it is. What to write next: plates/README.md, 'Add a plate'.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
