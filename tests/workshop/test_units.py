"""Text of numbers: units, digits and the edges between units."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop import units


@pytest.mark.parametrize(
    ("function", "value", "text"),
    [
        (units.count, 8192, "8,192"),
        (units.count, np.int64(2**40), "1,099,511,627,776"),
        (units.elements, 272_629_760, "272,629,760 elements"),
        (units.elements, 1, "1 element"),
        (units.exact_bytes, 2048, "2,048 B"),
        (units.with_exact_bytes, 115200, "112.5 KiB (115,200 B)"),
        (units.with_exact_bytes, 233472, "228 KiB (233,472 B)"),
        (units.with_exact_bytes, 96, "96 B"),
        (units.bytes_, 545_259_520, "545 MB"),
        (units.bytes_, 46_063_760, "46.1 MB"),
        (units.bytes_, 8_388_608, "8.39 MB"),
        (units.bytes_, 1.0995e12, "1.10 TB"),
        (units.bytes_, 41, "41 B"),
        (units.bytes_, 999, "999 B"),
        (units.bytes_, 1000, "1.00 kB"),
        (units.bytes_, 999_499, "999 kB"),
        (units.bytes_, 999_500, "1.00 MB"),
        (units.bytes_, 999_600, "1.00 MB"),
        (units.bytes_, 999.6e6, "1.00 GB"),
        (units.bytes_, 4.6e18, "4.60 EB"),
        (units.bytes_, -1500, "−1.50 kB"),
        (units.binary, 233_472, "228 KiB"),
        (units.binary, 1024, "1 KiB"),
        (units.binary, 33_554_432, "32 MiB"),
        (units.binary, 164_352, "160 KiB"),
        (units.binary, 1000 * 1024, "1,000 KiB"),
        (units.binary, 1023 * 1024, "1,023 KiB"),
        (units.binary, 1_048_575, "1.00 MiB"),
        (units.binary, 1023, "1,023 B"),
        (units.binary, 1536, "1.50 KiB"),
        (units.seconds, 5.2084e-3, "5.21 ms"),
        (units.seconds, 0.9996e-3, "1.00 ms"),
        (units.seconds, 1.1117e-3, "1.11 ms"),
        (units.seconds, 90, "90.0 s"),
        (units.seconds, 119.97, "2.00 min"),
        (units.seconds, 304_000, "3.52 d"),
        (units.seconds, 3e-14, "0.0300 ps"),
        (units.ratio, 11.837, "11.8×"),
        (units.ratio, 1, "1.00×"),
        (units.ratio, 264.0, "264×"),
        (units.ratio, 9.996, "10.0×"),
        (units.number, 0.018315638, "0.0183"),
        (units.number, 4, "4"),
        (units.number, 1e-7, "1.00×10⁻⁷"),
        (units.percent, 0.625, "62.5 %"),
        (units.flops, 1.0995e12, "1.10 TFLOP"),
        (units.rate_flops, 989e12, "989 TFLOP/s"),
        (units.rate_flops, 2250e12, "2.25 PFLOP/s"),
        (units.rate_bytes, 3.35e12, "3.35 TB/s"),
        (units.rate_bytes, 300e9, "300 GB/s"),
        (units.intensity, 63.0, "63.0 FLOP/B"),
    ],
)
def test_text(function, value, text):
    assert function(value) == text


FORMATTERS = [
    units.count,
    units.exact_bytes,
    units.with_exact_bytes,
    units.bytes_,
    units.binary,
    units.seconds,
    units.ratio,
    units.number,
    units.percent,
    units.flops,
    units.rate_flops,
    units.rate_bytes,
    units.intensity,
]


@pytest.mark.parametrize("function", FORMATTERS)
def test_zero_infinity_and_not_a_number(function):
    assert function(0).startswith("0")
    assert function(math.inf).startswith("∞")
    assert function(-math.inf).startswith("−∞")
    assert function(math.nan) == "n/a"
    assert function(np.float32(0)) == function(0)


PREFIX = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}


@given(st.integers(1, 999 * 10**18))
def test_decimal_bytes_read_back_within_half_a_digit(value):
    text = units.bytes_(value)
    number, prefix = re.fullmatch(r"([\d.]+) ([kMGTPE]?)B", text).groups()
    assert float(number) < 1000
    assert float(number) * PREFIX[prefix] == pytest.approx(value, rel=5.1e-3)
    assert len(number.replace(".", "")) == 3 or value < 100


@given(st.integers(1, 2**60))
def test_binary_bytes_read_back_within_half_a_digit(value):
    number, unit = re.fullmatch(r"([\d.,]+) ((?:[KMGTPE]i)?B)", units.binary(value)).groups()
    number = float(number.replace(",", ""))
    assert 1 <= number < 1024
    assert number * 1024 ** "BKMGTPE".index(unit[0]) == pytest.approx(value, rel=5.1e-3)


def test_beyond_the_last_binary_unit_digits_are_kept():
    assert units.binary(1024**9) == "1,024 YiB"
    assert units.binary(1023.9 * 1024**8).endswith(" YiB")
    assert units.binary(1e30) == "827,200 YiB"


SPAN = {"d": 86400, "h": 3600, "min": 60, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "ps": 1e-12}


@given(st.floats(1e-12, 1e6))
def test_seconds_read_back_within_half_a_digit(value):
    number, unit = units.seconds(value).split()
    assert 1 <= float(number) < 1000
    assert float(number) * SPAN[unit] == pytest.approx(value, rel=5.1e-3)
