"""Ledgers: totals are sums of named lines."""

import numpy as np
import pytest

from workshop.ledger import Ledger, Line

LINES = (Line("Q", "read", 3, "once"), Line("O", "read", 5, "again"), Line("O", "write", 7, "once"))


def test_sums():
    found = Ledger("example", LINES)
    assert (found.total, found.reads, found.writes) == (15, 8, 7)
    assert (found.of("O"), found.of("O", "write"), found.of("V")) == (12, 7, 0)
    assert [found.bytes(dtype) for dtype in ("fp8", "bf16", "fp16", "fp32")] == [15, 30, 30, 60]
    assert list(found) == list(LINES)


def test_refusals():
    with pytest.raises(ValueError, match=r"direction: expected one of .* got 'up'"):
        Line("Q", "up", 1, "")
    for count in (-1, 1.0, np.int64(1)):
        with pytest.raises(ValueError, match="elements: expected an int of 0 or more"):
            Line("Q", "read", count, "")
    with pytest.raises(ValueError, match="dtype: expected one of"):
        Ledger("example", LINES).bytes("int8")
