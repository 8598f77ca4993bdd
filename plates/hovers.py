"""Numbers under the pointer as text with units, written in the browser: figures send numbers, not thousands of words.

Each function returns a new formatter for ``HoverTool(formatters={"@column": ...})``, used as ``@column{custom}``.
They write what `workshop.units` writes, but for idle zeros.
"""

from __future__ import annotations

from bokeh.models import CustomJSHover

_BYTES = """
const size = Number(value.toPrecision(3))
const k = size < 1000 ? 0 : Math.min(8, Math.floor((Math.log10(size) + 1e-9) / 3))
const unit = ["B", "kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"][k]
return Number((value / 10 ** (3 * k)).toPrecision(3)) + " " + unit
"""
_SECONDS = """
if (value >= 1) return Number(value.toPrecision(3)).toLocaleString("en") + " s"
const k = Math.min(4, Math.max(1, Math.ceil(-Math.log10(value) / 3 - 1e-9)))
return Number((value * 10 ** (3 * k)).toPrecision(3)) + " " + ["s", "ms", "µs", "ns", "ps"][k]
"""
_BINARY = """
const k = value < 1024 ? 0 : value < 1024 ** 2 ? 1 : 2
const exact = value.toLocaleString("en") + " B"
if (!k) return exact
const short = Number((value / 1024 ** k).toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 3 })
return short + " " + ["KiB", "MiB"][k - 1] + " (" + exact + ")"
"""


def bytes_() -> CustomJSHover:
    """Decimal bytes: 545259520 -> "545 MB"."""
    return CustomJSHover(code=_BYTES)


def binary() -> CustomJSHover:
    """Bytes on the chip, and every digit of them: 115200 -> "112.5 KiB (115,200 B)"."""
    return CustomJSHover(code=_BINARY)


def seconds() -> CustomJSHover:
    """A time in s: 5.2084e-3 -> "5.21 ms"."""
    return CustomJSHover(code=_SECONDS)


def count(unit: str = "") -> CustomJSHover:
    """A whole number with separators, and a unit: 115200 -> "115,200 B"."""
    return CustomJSHover(args={"unit": unit}, code='return value.toLocaleString("en") + unit')


def one_of(values: list) -> CustomJSHover:
    """The item of ``values`` in whose cell the position lies: 3.7 -> values[3]."""
    return CustomJSHover(args={"values": values}, code="return values[Math.floor(value)]")


def words(yes: str, no: str) -> CustomJSHover:
    """One of two texts, for a number above 0 or not."""
    return CustomJSHover(args={"yes": yes, "no": no}, code="return value > 0 ? yes : no")
