"""Four binary number formats: rounding to them, their bits, and the distance between neighbours.

float64, float32 and fp16 are IEEE 754-2008 binary64, binary32 and binary16; bf16 is the upper half of a
binary32 number. Rounding is to nearest, ties to even. numpy has no bf16, so its rounding is done here on the
bits of a float32; nothing needs another library.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np


@dataclass(frozen=True)
class Format:
    """A number format: `exponent` and `fraction` bits beside the sign, and the dtype that its sums are kept in."""

    name: str
    exponent: int
    fraction: int
    accumulator: type

    @property
    def bits(self) -> int:
        """All bits of one number."""
        return 1 + self.exponent + self.fraction

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return float((2 - 2.0**-self.fraction) * 2.0 ** (2 ** (self.exponent - 1) - 1))

    def round(self, x: np.ndarray) -> np.ndarray:
        """`x` rounded to this format, any shape, held in its accumulator's dtype.

        What lies beyond the largest number becomes an infinity, NaN stays NaN.
        """
        with np.errstate(over="ignore"):
            if self.name == "fp16":
                return np.asarray(x).astype(np.float16).astype(np.float32)
            held = np.asarray(x).astype(self.accumulator)
        return bf16(held) if self.name == "bf16" else held

    def spacing(self, x: float) -> float:
        """One unit in the last place of `x` (finite): the distance to the next number away from 0."""
        least = 2 - 2 ** (self.exponent - 1)
        power = max(int(np.frexp(abs(x))[1]) - 1, least) if x else least
        return 2.0 ** (power - self.fraction)

    def split(self, x: float) -> tuple[str, str, str]:
        """Sign, exponent and fraction bits of `x`, which must be a number of this format (ValueError)."""
        held = self.round(np.array([x]))
        if not (held[0] == x or (np.isnan(x) and np.isnan(held[0]))):
            raise ValueError(f"x: expected a number of {self.name}, got {x!r}")
        if self.name == "fp16":
            number = int(held.astype(np.float16).view(np.uint16)[0])
        elif self.name == "float64":
            number = int(held.view(np.uint64)[0])
        else:
            number = int(held.view(np.uint32)[0]) >> (32 - self.bits)
        text = f"{number:0{self.bits}b}"
        return text[0], text[1 : 1 + self.exponent], text[1 + self.exponent :]


def bf16(x: np.ndarray) -> np.ndarray:
    """float32 `x` rounded to bf16, to nearest and ties to even, held in float32; any shape."""
    if x.dtype != np.float32:
        raise ValueError(f"x: expected float32, got {x.dtype}")
    raw = np.ascontiguousarray(x).view(np.uint32)
    # Adding just under half of the dropped part, or half where the kept part is odd, carries when it must.
    carried = (raw + (np.uint32(0x7FFF) + ((raw >> np.uint32(16)) & np.uint32(1)))) & np.uint32(0xFFFF0000)
    # In a NaN the carry could run into the exponent or the sign.
    return np.where(np.isnan(x), np.float32(np.nan), carried.view(np.float32)).reshape(x.shape)


FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        "float64": Format("float64", 11, 52, np.float64),
        "float32": Format("float32", 8, 23, np.float32),
        "fp16": Format("fp16", 5, 10, np.float32),
        "bf16": Format("bf16", 8, 7, np.float32),
    }
)
