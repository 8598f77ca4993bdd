"""What the reader chose: the attention problem and the tile, both checked on construction."""

import operator
from dataclasses import dataclass, fields

from workshop.units import DTYPE_BYTES

LIMITS = {
    "N": (1, 1_048_576),
    "d": (8, 256),
    "Br": (1, 1024),
    "Bc": (1, 1024),
    "sram": (1, 1024),
    "H": (1, 256),
    "B": (1, 1024),
}
MEANINGS = {
    "N": "sequence length, tokens",
    "d": "head size, elements",
    "Br": "rows of a Q block",
    "Bc": "rows of a K, V block",
    "sram": "on-chip memory, KiB",
    "H": "heads",
    "B": "batch",
    "dtype": "element type",
    "causal": "each query sees itself and earlier keys only",
}


class OptionError(ValueError):
    """A setting out of range. Carries `option`, `expected` (text) and `got`, so that a caller can word its
    own."""

    def __init__(self, option: str, expected: str, got):
        super().__init__(f"{option}: expected {expected}; got {got!r}")
        self.option, self.expected, self.got = option, expected, got


def describe_range(option: str) -> str:
    """The range of a whole-number option as text: "a whole number from 8 to 256"."""
    low, high = LIMITS[option]
    return f"a whole number from {low:,} to {high:,}"


def checked(option: str, value) -> int:
    """`value` as a Python int inside `LIMITS[option]`.

    numpy integers are accepted and converted, because their products would wrap at 2^63. Raises OptionError
    for anything that is not a whole number (bools and floats included) or lies outside the range.
    """
    low, high = LIMITS[option]
    try:
        if isinstance(value, bool):
            raise TypeError
        whole = operator.index(value)
    except TypeError:
        raise OptionError(option, describe_range(option), value) from None
    if not low <= whole <= high:
        raise OptionError(option, describe_range(option), value)
    return whole


def checked_dtype(value) -> str:
    """`value` if it is a known element type. Raises OptionError otherwise."""
    if not isinstance(value, str) or value not in DTYPE_BYTES:
        raise OptionError("dtype", "one of " + ", ".join(DTYPE_BYTES), value)
    return value


def checked_causal(value) -> bool:
    """`value` as a bool: True, False, 1 or 0. Raises OptionError otherwise."""
    if not isinstance(value, str) and value in (0, 1):
        return bool(value)
    raise OptionError("causal", "0 or 1", value)


@dataclass(frozen=True)
class Problem:
    """One layer of self-attention, forward: Q, K, V and O of shape (B, H, N, d) in `dtype`.

    Raises OptionError (a ValueError) that names the option, its range and what was given.
    """

    N: int = 8192
    d: int = 128
    H: int = 32
    B: int = 1
    dtype: str = "bf16"
    causal: bool = False

    def __post_init__(self):
        for option in ("N", "d", "H", "B"):
            object.__setattr__(self, option, checked(option, getattr(self, option)))
        object.__setattr__(self, "dtype", checked_dtype(self.dtype))
        object.__setattr__(self, "causal", checked_causal(self.causal))

    @property
    def element_bytes(self) -> int:
        """Bytes of one element of `dtype`."""
        return DTYPE_BYTES[self.dtype]

    @property
    def heads(self) -> int:
        """Heads of the layer over the whole batch, B x H: all of them do the same work."""
        return self.B * self.H

    @property
    def score_bytes(self) -> int:
        """Bytes of the score matrices of a layer, one N x N matrix a head."""
        return self.heads * self.N * self.N * self.element_bytes


@dataclass(frozen=True)
class Tile:
    """Rows of a Q block, rows of a K,V block, and the on-chip budget in KiB (1 KiB = 1,024 B).

    Raises OptionError (a ValueError) that names the option, its range and what was given.
    """

    Br: int = 128
    Bc: int = 64
    sram: int = 228

    def __post_init__(self):
        for field in fields(self):
            object.__setattr__(self, field.name, checked(field.name, getattr(self, field.name)))

    @property
    def M_bytes(self) -> int:
        """The on-chip budget in bytes."""
        return self.sram * 1024

    def M(self, problem: Problem) -> int:
        """The on-chip budget in elements of the problem's dtype: the M of the papers."""
        return self.M_bytes // problem.element_bytes
