"""Settings for property tests: small ones that can be counted by hand, and ones from the whole range."""

from hypothesis import strategies as st

from workshop.problem import LIMITS, Problem, Tile
from workshop.units import DTYPE_BYTES


def _in_range(option):
    return st.integers(*LIMITS[option])


DTYPES = st.sampled_from(sorted(DTYPE_BYTES))
SMALL_PROBLEMS = st.builds(
    Problem,
    N=st.integers(1, 70),
    d=st.integers(8, 40),
    H=st.integers(1, 3),
    B=st.integers(1, 3),
    dtype=DTYPES,
    causal=st.booleans(),
)
SMALL_TILES = st.builds(Tile, Br=st.integers(1, 80), Bc=st.integers(1, 80), sram=st.integers(1, 12))
PROBLEMS = st.builds(
    Problem,
    N=_in_range("N"),
    d=_in_range("d"),
    H=_in_range("H"),
    B=_in_range("B"),
    dtype=DTYPES,
    causal=st.booleans(),
)
TILES = st.builds(Tile, Br=_in_range("Br"), Bc=_in_range("Bc"), sram=_in_range("sram"))
