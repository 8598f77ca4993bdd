"""Which tiles of the score matrix a kernel visits, and how many rows it reads for them.

The score matrix is Nq x Nk, cut in Tr = ceil(Nq/Br) by Tc = ceil(Nk/Bc) tiles, the last ones short. With a
causal mask, query row r sees keys up to r + (Nk - Nq): the alignment is bottom-right, as in flash-attn 2.1
and later. A tile is visited when its first key is visible to the last row of its Q block, and it is then read
whole.

Counts are closed forms (no loop over tiles), exact, and work on Python ints or on arrays that broadcast;
inside `problem.LIMITS` an array stays below 2^61, so int64 never wraps.
"""

import numpy as np

SKIPPED, PARTIAL, FULL = 0, 1, 2
MOST_TILES = 4_194_304


def ceil_div(a, b):
    """Quotient rounded up, exact for ints and integer arrays."""
    return -(-a // b)


def floor_sum(n, m, a, b):
    """Sum over i = 0 .. n-1 of floor((a i + b) / m), for n, a, b >= 0 and m >= 1; ints or arrays.

    Counts lattice points under a line by the steps of Euclid's algorithm, so its cost is logarithmic in n.
    """
    n, m, a, b = np.broadcast_arrays(*(np.asarray(x, dtype=np.int64) for x in (n, m, a, b)))
    total = np.zeros(n.shape, dtype=np.int64)
    while True:
        total += n * (n - 1) // 2 * (a // m) + n * (b // m)
        a, b = a % m, b % m
        top = a * n + b
        alive = top >= m
        if not alive.any():
            return total if total.ndim else int(total)
        # Where the sum is complete, an empty one (n = 0) is carried along with a harmless divisor.
        n, b, m, a = (
            np.where(alive, top // m, 0),
            np.where(alive, top % m, 0),
            np.where(alive, a, 1),
            np.where(alive, m, 0),
        )


def _most(*values):
    """Elementwise maximum that keeps Python ints Python ints."""
    return np.maximum(*values) if any(isinstance(v, np.ndarray) for v in values) else max(values)


def _least(*values):
    return np.minimum(*values) if any(isinstance(v, np.ndarray) for v in values) else min(values)


def _seeing(Nk, Br, Nq):
    """The full Q blocks before the last that see any key: (first, how many), and the shift of the
    diagonal."""
    shift = Nk - Nq
    first = _most((-shift) // Br, 0)
    return first, _most(ceil_div(Nq, Br) - 1 - first, 0), shift


def visited(N, Br, Bc, causal, Nq=None):
    """Tiles visited and tiles in all: (visited, total), ints or integer arrays.

    N is the number of keys; Nq (default N) the number of queries. Example: N=512, Br=Bc=128, causal -> (10,
    16).
    """
    Nq = N if Nq is None else Nq
    Tr, Tc = ceil_div(Nq, Br), ceil_div(N, Bc)
    if not causal:
        return Tr * Tc, Tr * Tc
    first, blocks, shift = _seeing(N, Br, Nq)
    # The last Q block ends on the last key and sees every K,V block.
    return floor_sum(blocks, Bc, Br, (first + 1) * Br - 1 + shift) + blocks + Tc, Tr * Tc


def _kv_rows_before_last(N, Br, Bc, Nq):
    """K rows read for all Q blocks but the last, causal."""
    first, blocks, shift = _seeing(N, Br, Nq)
    # Blocks that reach the last, possibly short, K,V tile read all N rows; those before it read whole tiles.
    short = (ceil_div(N, Bc) - 1) * Bc
    whole = _most(_least(first + blocks, (short - shift) // Br) - first, 0)
    tiles = floor_sum(whole, Bc, Br, (first + 1) * Br - 1 + shift) + whole
    return tiles * Bc + (blocks - whole) * N


def kv_rows(N, Br, Bc, causal, Nq=None):
    """Rows of K read (as many of V) when Q blocks are the outer loop: the sum over Q blocks of visited
    rows."""
    Nq = N if Nq is None else Nq
    return N * ceil_div(Nq, Br) if not causal else _kv_rows_before_last(N, Br, Bc, Nq) + N


def q_rows(N, Br, Bc, causal, Nq=None):
    """Rows of Q read when K,V blocks are the outer loop: the sum over K,V blocks of visited Q rows."""
    Nq = N if Nq is None else Nq
    Tc = ceil_div(N, Bc)
    if not causal:
        return Nq * Tc
    shift = N - Nq
    # K,V blocks that start at or before the first query's diagonal are seen by every Q block.
    free = _least(_most(ceil_div(shift, Bc), 0), Tc)
    return Nq * Tc - Br * floor_sum(Tc - free, Br, Bc, free * Bc - shift)


def visited_elements(N, Br, Bc, causal, Nq=None):
    """Scores computed: elements of all visited tiles, short tiles at their true size."""
    Nq = N if Nq is None else Nq
    if not causal:
        return Nq * N
    return Br * _kv_rows_before_last(N, Br, Bc, Nq) + (Nq - (ceil_div(Nq, Br) - 1) * Br) * N


def unmasked_elements(N, causal, Nq=None):
    """Scores that the mask lets through: Nq x N, or the trapezium on and below the diagonal."""
    Nq = N if Nq is None else Nq
    if not causal:
        return Nq * N
    seeing = _least(Nq, N)
    # The last `seeing` rows see N - seeing + 1 .. N keys.
    return seeing * (N - seeing) + seeing * (seeing + 1) // 2


def kinds(N, Br, Bc, causal, Nq=None) -> np.ndarray:
    """The tile grid, an int8 array of shape (Tr, Tc) of SKIPPED, PARTIAL (the diagonal crosses it) or FULL.

    Raises ValueError above MOST_TILES tiles: such a grid is a texture, not a picture.
    """
    Nq = N if Nq is None else Nq
    Tr, Tc = ceil_div(Nq, Br), ceil_div(N, Bc)
    if Tr * Tc > MOST_TILES:
        raise ValueError(f"tiles: expected at most {MOST_TILES:,}; got {Tr:,} x {Tc:,}")
    if not causal:
        return np.full((Tr, Tc), FULL, dtype=np.int8)
    first_row = np.arange(Tr)[:, None] * Br + (N - Nq)
    last_row = np.minimum(np.arange(1, Tr + 1) * Br, Nq)[:, None] - 1 + (N - Nq)
    first_key = np.arange(Tc)[None, :] * Bc
    last_key = np.minimum(np.arange(1, Tc + 1) * Bc, N)[None, :] - 1
    return np.where(first_key > last_row, SKIPPED, np.where(last_key <= first_row, FULL, PARTIAL)).astype(
        np.int8
    )
