import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workshop.kernels.compile_options import DTYPES, KERNELS, SIDES, TARGETS, WARPS, Options, default_warps
from workshop.problem import OptionError

BUILDS = st.builds(
    Options,
    Br=st.sampled_from(SIDES),
    Bc=st.sampled_from(SIDES),
    d=st.integers(8, 256),
    dtype=st.sampled_from(DTYPES),
    warps=st.sampled_from(WARPS),
    stages=st.integers(1, 8),
    target=st.sampled_from(TARGETS),
    causal=st.booleans(),
    kernel=st.sampled_from(KERNELS),
)


@pytest.mark.parametrize(
    "option, value, expected",
    [
        ("Br", 48, "a power of two from 16 to 1024"),
        ("Bc", 8, "a power of two from 16 to 1024"),
        ("Br", 64.5, "a power of two from 16 to 1024"),
        ("d", 7, "a whole number from 8 to 256"),
        ("d", 257, "a whole number from 8 to 256"),
        ("dtype", "fp8", "one of bf16, fp16, fp32"),
        ("warps", 3, "one of 1, 2, 4, 8, 16, 32"),
        ("stages", 0, "a whole number from 1 to 8"),
        ("stages", True, "a whole number from 1 to 8"),
        ("target", "gfx942", "one of sm_80, sm_89, sm_90, sm_100"),
        ("kernel", "slow", "one of teaching"),
        ("causal", "yes", "0 or 1"),
    ],
)
def test_a_bad_option_is_named_with_its_range(option, value, expected):
    with pytest.raises(OptionError) as caught:
        Options(**{option: value})
    assert caught.value.option == option and caught.value.got == value
    assert expected in str(caught.value)


def test_warps_follow_the_height_of_the_block_unless_chosen():
    assert [default_warps(Br) for Br in (16, 64, 128, 256)] == [4, 4, 8, 8]
    assert Options(Br=128).warps == 8
    assert Options(Br=128).with_(Br=64).warps == 4
    assert Options(Br=128, warps=4).with_(Br=256).warps == 4


@given(st.integers(1, 1024), st.integers(1, 1024))
def test_nearest_is_the_smallest_tile_that_holds_the_readers(Br, Bc):
    found = Options.nearest(Br, Bc)
    for asked, side in ((Br, found.Br), (Bc, found.Bc)):
        assert side >= asked
        assert side == 16 or side // 2 < asked


@given(BUILDS)
def test_a_record_survives_json(options):
    assert Options(**json.loads(json.dumps(options.record()))) == options


@given(BUILDS, BUILDS)
def test_keys_tell_builds_apart_and_fit_a_file_name(one, other):
    assert (one.key() == other.key()) == (one == other)
    assert set(one.key()) <= set("abcdefghijklmnopqrstuvwxyz0123456789_-")
