"""Numbers as text: the right unit, three significant digits, and no surprise at a unit's edge.

Decimal units (kB, MB, GB) for traffic and capacity, binary ones (KiB, MiB) for on-chip memory. Rounding comes
first and the unit second, so 999.6 kB reads "1.00 MB" and never "1,000 kB". Arithmetic is decimal and exact,
so the text does not depend on how a float happens to divide. 0 is "0 B", infinity "∞ B", not-a-number "n/a".
"""

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal

DTYPE_BYTES = {"bf16": 2, "fp16": 2, "fp32": 4, "fp8": 1}

_EXACT = Context(prec=80, rounding=ROUND_HALF_EVEN)
_DECIMAL = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB")
# A span stays in its unit until two of the next one: "90.0 s" says more than "1.50 min".
_TIME = (
    (Decimal(86400), "d", 2),
    (Decimal(3600), "h", 2),
    (Decimal(60), "min", 2),
    (Decimal(1), "s", 1),
    (Decimal("1e-3"), "ms", 1),
    (Decimal("1e-6"), "µs", 1),
    (Decimal("1e-9"), "ns", 1),
    (Decimal("1e-12"), "ps", 1),
)
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _decimal(value):
    """`value` (int, float, numpy number or Fraction) as an exact Decimal, or the text of a non-finite one."""
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, int):
        return Decimal(value), ""
    if isinstance(value, Decimal):
        value = float(value) if not value.is_finite() else value
        if isinstance(value, Decimal):
            return value, ""
    value = float(value)
    if math.isnan(value):
        return None, "n/a"
    if math.isinf(value):
        return None, "∞" if value > 0 else "−∞"
    return Decimal(value), ""


def _round(value: Decimal, digits: int) -> Decimal:
    """`value` to so many significant digits, half to even."""
    return Context(prec=digits, rounding=ROUND_HALF_EVEN).plus(value)


def _digits(value: Decimal, digits: int = 3) -> str:
    """Significant digits with thousands separators; powers of ten outside 0.0001 to 10^15."""
    value = _round(value, digits)
    if value == 0:
        return "0"
    exponent = value.adjusted()
    if not -5 < exponent < 15:
        mantissa = _EXACT.scaleb(value, -exponent)
        return f"{mantissa:.{digits - 1}f}".replace("-", "−") + "×10" + str(exponent).translate(_SUPERSCRIPT)
    return f"{value:,.{max(0, digits - 1 - exponent)}f}".replace("-", "−")


def _prefixed(value, unit: str, prefixes=_DECIMAL, small: str | None = None) -> str:
    """Decimal prefix text, as in "545 MB"; whole numbers below 1000 stay whole when `small` names their
    unit."""
    exact, text = _decimal(value)
    if exact is None:
        return text if text == "n/a" else f"{text} {unit}"
    if exact == 0:
        return f"0 {small or unit}"
    for power in range(len(prefixes) - 1, 0, -1):
        scaled = _EXACT.scaleb(exact, -3 * power)
        if abs(_round(scaled, 3)) >= 1:
            return f"{_digits(scaled)} {prefixes[power]}{unit}"
    if small and exact == exact.to_integral_value():
        return f"{_count(exact)} {small}"
    return f"{_digits(exact)} {small or unit}"


def _count(exact: Decimal) -> str:
    return f"{exact:,.0f}".replace("-", "−")


def count(value) -> str:
    """A whole number with thousands separators: 8192 -> "8,192". Fractions are rounded to the nearest."""
    exact, text = _decimal(value)
    return text if exact is None else _count(exact)


def elements(value) -> str:
    """A number of tensor elements, exact: "272,629,760 elements"."""
    return f"{count(value)} element" + ("" if value == 1 else "s")


def exact_bytes(value) -> str:
    """Bytes, every digit: 2048 -> "2,048 B"."""
    text = count(value)
    return text if text == "n/a" else f"{text} B"


def bytes_(value) -> str:
    """Bytes in decimal units: 545259520 -> "545 MB"."""
    return _prefixed(value, "B", small="B")


def binary(value, digits: int = 3) -> str:
    """Bytes in binary units, for on-chip memory: 233472 -> "228 KiB". A whole number of units is printed
    whole, another one to so many digits."""
    exact, text = _decimal(value)
    if exact is None:
        return text if text == "n/a" else f"{text} B"
    if exact == 0:
        return "0 B"
    for power in range(len(_BINARY) - 1, -1, -1):
        scaled = _EXACT.divide(exact, Decimal(1024) ** power)
        # Between 1,000 and 1,023 of a unit, four digits are kept: the next unit starts at 1,024.
        shown = _round(scaled, max(digits, 4) if abs(scaled) >= 1000 else digits)
        if abs(shown) >= 1 or power == 0:
            if scaled == scaled.to_integral_value():
                return f"{_count(scaled)} {_BINARY[power]}"
            if abs(shown) >= 1024 and power + 1 < len(_BINARY):
                return f"1.00 {_BINARY[power + 1]}"
            return f"{_digits(scaled, max(digits, 4) if abs(shown) >= 1000 else digits)} {_BINARY[power]}"
    raise AssertionError("unreachable: the loop ends at power 0")


def with_exact_bytes(value) -> str:
    """Bytes on the chip in binary units, and every digit of them: 233472 -> "228 KiB (233,472 B)"."""
    short, exact = binary(value, 4), exact_bytes(value)
    return short if short == "n/a" or short.endswith(" B") else f"{short} ({exact})"


def seconds(value) -> str:
    """A time in seconds: 5.2084e-3 -> "5.21 ms"; minutes, hours and days from two of them on."""
    exact, text = _decimal(value)
    if exact is None:
        return text if text == "n/a" else f"{text} s"
    if exact == 0:
        return "0 s"
    for scale, unit, least in _TIME:
        scaled = _EXACT.divide(exact, scale)
        if abs(_round(scaled, 3)) >= least or unit == "ps":
            return f"{_digits(scaled)} {unit}"
    raise AssertionError("unreachable: the loop ends at picoseconds")


def number(value, digits: int = 3) -> str:
    """A pure number to significant digits: 0.018315 -> "0.0183". A whole one of as many digits stays whole:
    "4"."""
    exact, text = _decimal(value)
    if exact is None:
        return text
    whole = exact == exact.to_integral_value() and abs(exact) < 10**digits
    return _count(exact) if whole else _digits(exact, digits)


def _with(value, unit: str) -> str:
    """Three significant digits and a unit, always: a measured-looking 63.0 keeps its zero."""
    exact, text = _decimal(value)
    if exact is None:
        return text if text == "n/a" else text + unit
    return _digits(exact) + unit


def ratio(value) -> str:
    """A quotient of like things: 11.837 -> "11.8×"."""
    return _with(value, "×")


def percent(value) -> str:
    """A share as text, 0.625 -> "62.5 %"."""
    exact, text = _decimal(value)
    if exact is None:
        return text if text == "n/a" else f"{text} %"
    return f"{_digits(exact * 100)} %"


def flops(value) -> str:
    """Floating-point operations: 1.0995e12 -> "1.10 TFLOP"."""
    return _prefixed(value, "FLOP", small="FLOP")


def rate_flops(value) -> str:
    """Arithmetic rate in FLOP/s: 989e12 -> "989 TFLOP/s"."""
    return _prefixed(value, "FLOP/s")


def rate_bytes(value) -> str:
    """Bandwidth in B/s, decimal: 3.35e12 -> "3.35 TB/s"."""
    return _prefixed(value, "B/s")


def intensity(value) -> str:
    """FLOPs per byte of traffic: 63.0 -> "63.0 FLOP/B"."""
    return _with(value, " FLOP/B")
