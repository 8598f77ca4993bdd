"""Rounding and bits of the four formats, against torch's dtypes, numpy's own, and values from IEEE 754."""

import struct

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from workshop.number_formats import FORMATS, bf16

TORCH = {"float64": torch.float64, "float32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
FLOAT32 = st.integers(0, 2**32 - 1).map(lambda n: np.array([n], dtype=np.uint32).view(np.float32))


@given(FLOAT32)
def test_bf16_rounds_as_torch_does(x):
    expected = torch.from_numpy(x.copy()).to(torch.bfloat16).float().numpy()
    np.testing.assert_array_equal(bf16(x), expected)
    if not np.isnan(x[0]):
        assert bf16(x).view(np.uint32)[0] == expected.view(np.uint32)[0]  # the sign of 0 as well


def test_bf16_ties_go_to_even_and_the_largest_overflows():
    # 1 + 2^-8 lies half-way between 1 and 1 + 2^-7; 1 + 3 * 2^-8 half-way to an even one above
    x = np.array([1 + 2**-8, 1 + 3 * 2**-8, 3.4e38, -3.4e38, np.inf, 2.0**-133], dtype=np.float32)
    assert bf16(x).tolist() == [1.0, 1 + 2**-6, np.inf, -np.inf, np.inf, 2.0**-133]
    assert np.isnan(bf16(np.array([np.nan], dtype=np.float32)))[0]


def test_bf16_keeps_shapes_and_refuses_other_dtypes():
    assert bf16(np.ones((3, 4), dtype=np.float32).T).shape == (4, 3)
    with pytest.raises(ValueError, match="expected float32, got float64"):
        bf16(np.ones(3))


@pytest.mark.parametrize("name", FORMATS)
@given(x=FLOAT32)
def test_every_format_rounds_as_torch_does(name, x):
    expected = torch.from_numpy(x.copy()).to(TORCH[name]).double().numpy()
    np.testing.assert_array_equal(FORMATS[name].round(x).astype(np.float64), expected)


@pytest.mark.parametrize("name", FORMATS)
def test_sizes_are_torchs(name):
    info, fmt = torch.finfo(TORCH[name]), FORMATS[name]
    assert (fmt.bits, fmt.largest, fmt.spacing(1.0)) == (info.bits, info.max, info.eps)
    assert fmt.spacing(0.0) == fmt.spacing(info.tiny / 4) == info.smallest_normal * info.eps


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_bits_of_float64_are_those_in_memory(x):
    bits = "".join(FORMATS["float64"].split(x))
    assert int(bits, 2).to_bytes(8, "big") == struct.pack(">d", x)


@pytest.mark.parametrize("name", ["fp16", "bf16"])
@given(number=st.integers(0, 2**16 - 1))
def test_bits_of_16_bit_formats_are_torchs(name, number):
    held = torch.tensor([number - 2**16 if number >= 2**15 else number], dtype=torch.int16)
    value = held.view(TORCH[name]).item()
    if value == value:  # a NaN has many patterns
        sign, exponent, fraction = FORMATS[name].split(value)
        assert int(sign + exponent + fraction, 2) == number
        assert (len(exponent), len(fraction)) == {"fp16": (5, 10), "bf16": (8, 7)}[name]


def test_bits_of_a_number_of_another_format_are_refused():
    with pytest.raises(ValueError, match=r"expected a number of bf16, got 0\.1"):
        FORMATS["bf16"].split(0.1)
