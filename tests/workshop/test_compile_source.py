"""The hash of a kernel's source changes with what decides its machine code, and with nothing else."""

import pytest

from workshop.kernels.compile_source import kernel_hash, source_hash

KERNEL = '''"""A kernel file."""
import math
from .shared import step, unused

SCALE = 2.0
OTHER = 3.0


def helper(x):
    """Explains."""
    return step(x) * SCALE


def kernel():
    def fwd(q):  # a comment
        return helper(q)

    return fwd


def launch_spec(n):
    return {"warps": 4, "n": n}


def not_used():
    return OTHER
'''
SHARED = """def step(x):
    return x + 1


def unused(x):
    return x
"""


@pytest.fixture
def hashed(tmp_path):
    counter = iter(range(100))

    def run(kernel=KERNEL, shared=SHARED):
        # A folder each: parsed files are remembered by path.
        folder = tmp_path / str(next(counter))
        folder.mkdir()
        (folder / "kernel.py").write_text(kernel)
        (folder / "shared.py").write_text(shared)
        return source_hash(folder, (("kernel", "kernel"), ("kernel", "launch_spec")))

    return run


@pytest.mark.parametrize(
    "old, new",
    [
        ("# a comment", "# another comment, longer"),
        ('"""Explains."""', '"""Explains something else."""'),
        ("def helper(x):", "\n\n\ndef helper(x):"),
        ("OTHER = 3.0", "OTHER = 4.0"),
        ('"""A kernel file."""', ""),
        ("return step(x) * SCALE", "return (step(x)  *  SCALE)"),
    ],
)
def test_what_does_not_reach_the_machine_code_does_not_count(hashed, old, new):
    assert old in KERNEL
    assert hashed(KERNEL.replace(old, new)) == hashed()


@pytest.mark.parametrize(
    "old, new",
    [
        ("return helper(q)", "return helper(q) + 1"),
        ("SCALE = 2.0", "SCALE = 4.0"),
        ("step(x) * SCALE", "step(x) + SCALE"),
        ('{"warps": 4', '{"warps": 8'),
    ],
)
def test_what_reaches_the_machine_code_counts(hashed, old, new):
    assert old in KERNEL
    assert hashed(KERNEL.replace(old, new)) != hashed()


def test_a_helper_in_another_file_counts_and_its_neighbour_does_not(hashed):
    assert hashed(shared=SHARED.replace("x + 1", "x + 2")) != hashed()
    assert hashed(shared=SHARED.replace("return x\n", "return -x\n")) == hashed()


def test_an_import_inside_a_function_is_followed(hashed):
    lazy = KERNEL.replace("from .shared import step, unused\n", "").replace(
        "return step(x)", "from .shared import step\n    return step(x)"
    )
    assert hashed(lazy, SHARED.replace("x + 1", "x + 2")) != hashed(lazy)


def test_definitions_under_a_condition_are_found(hashed):
    guarded = KERNEL.replace("SCALE = 2.0", "try:\n    SCALE = 2.0\nexcept ImportError:\n    SCALE = None")
    assert hashed(guarded) != hashed(guarded.replace("2.0", "2.5"))


def test_a_missing_definition_and_an_unknown_kernel_are_errors(hashed):
    with pytest.raises(ValueError, match="expected a definition of launch_spec"):
        hashed(KERNEL.replace("def launch_spec", "def other_spec"))
    with pytest.raises(ValueError, match=r"expected one of teaching.*got 'slow'"):
        kernel_hash("slow")


def test_our_own_kernel_has_a_hash():
    assert len(kernel_hash("teaching")) == 16
