"""The HTML that a plate makes itself, made when it is first asked for."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable
from functools import cached_property


class Blocks(UserDict):
    """Blocks by name, from ``make()`` on the first look.

    While a slider is dragged only readouts and figures are patched, and the answer of a task needs a few facts of
    another state: neither asks for tables and formulas.
    """

    def __init__(self, make: Callable[[], dict[str, str]]) -> None:
        self._make = make

    @cached_property
    def data(self) -> dict[str, str]:
        return self._make()
