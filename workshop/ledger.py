"""The currency between models: an ordered list of named transfers whose total is the sum of its lines."""

from collections.abc import Iterator
from dataclasses import dataclass

from workshop.units import DTYPE_BYTES

DIRECTIONS = ("read", "write")


@dataclass(frozen=True)
class Line:
    """One named transfer between the memory and the chip.

    tensor: what moves. direction: "read" (to the chip) or "write" (from it). elements: how many, a Python
    int. why: one clause for the reader. Raises ValueError for another direction, a non-integer or a negative
    count.
    """

    tensor: str
    direction: str
    elements: int
    why: str

    def __post_init__(self):
        if self.direction not in DIRECTIONS:
            raise ValueError(f"direction: expected one of {DIRECTIONS}; got {self.direction!r}")
        if type(self.elements) is not int or self.elements < 0:
            raise ValueError(f"elements: expected an int of 0 or more; got {self.elements!r}")


@dataclass(frozen=True)
class Ledger:
    """The traffic of one head in one forward pass under one model, line by line, in elements."""

    model: str
    lines: tuple[Line, ...]

    def __post_init__(self):
        object.__setattr__(self, "lines", tuple(self.lines))

    def __iter__(self) -> Iterator[Line]:
        return iter(self.lines)

    @property
    def total(self) -> int:
        """Elements moved, both directions."""
        return sum(line.elements for line in self.lines)

    @property
    def reads(self) -> int:
        """Elements read."""
        return sum(line.elements for line in self.lines if line.direction == "read")

    @property
    def writes(self) -> int:
        """Elements written."""
        return sum(line.elements for line in self.lines if line.direction == "write")

    def of(self, tensor: str, direction: str | None = None) -> int:
        """Elements moved of one tensor, in one direction or in both."""
        return sum(
            line.elements
            for line in self.lines
            if line.tensor == tensor and direction in (None, line.direction)
        )

    def bytes(self, dtype: str) -> int:
        """Bytes moved when every element is stored in `dtype` (a key of units.DTYPE_BYTES)."""
        if dtype not in DTYPE_BYTES:
            raise ValueError(f"dtype: expected one of {', '.join(DTYPE_BYTES)}; got {dtype!r}")
        return self.total * DTYPE_BYTES[dtype]
