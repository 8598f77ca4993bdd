"""The backward pass by recomputation, in float64: tile by tile, K,V blocks on the outer loop.

Kept from the forward pass are O and one logsumexp L a row. With D = rowsum(dO ∘ O), each tile makes its weights
again and takes five products (Dao, FlashAttention-2, 2023, Algorithm 2):

    S = scale Q Kᵀ      (1)         P = exp(S − L)
    dV += Pᵀ dO         (2)
    dP = dO Vᵀ          (3)         dS = scale P ∘ (dP − D)
    dQ += dS K          (4)
    dK += dSᵀ Q         (5)

D replaces rowsum(P ∘ dP), which would need the whole row: the two are equal in real arithmetic, because
O = P V. `full` computes the same gradients the long way, from a stored P, and is what the tiles are judged by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from workshop.reference import attention, check_shapes, may_look

# The lines of the loop in order: name, and the number of its matrix product (0: none).
LINES = (
    ("load-kv", 0),
    ("load-q", 0),
    ("scores", 1),
    ("weights", 0),
    ("dv", 2),
    ("dp", 3),
    ("ds", 0),
    ("dq", 4),
    ("dk", 5),
    ("store", 0),
)


@dataclass(frozen=True)
class Gradients:
    """dq (Nq, d), dk and dv (Nk, d), and what they went through: p, dp, ds (Nq, Nk), D (Nq,); float64."""

    dq: np.ndarray
    dk: np.ndarray
    dv: np.ndarray
    p: np.ndarray
    dp: np.ndarray
    ds: np.ndarray
    D: np.ndarray


@dataclass(frozen=True)
class TileGradient:
    """What one tile makes and adds: p, dp, ds (rows, keys), dv and dk (keys, d), dq (rows, d).

    row, key: where the tile starts; i, j: its block numbers.
    """

    i: int
    j: int
    row: int
    key: int
    p: np.ndarray
    dp: np.ndarray
    ds: np.ndarray
    dv: np.ndarray
    dq: np.ndarray
    dk: np.ndarray

    @property
    def rows(self) -> slice:
        """Rows of the score matrix that the tile covers."""
        return slice(self.row, self.row + self.p.shape[0])

    @property
    def keys(self) -> slice:
        """Columns of the score matrix that the tile covers."""
        return slice(self.key, self.key + self.p.shape[1])


def _checked(q, k, v, do):
    q, k, v, do = (np.asarray(array, dtype=np.float64) for array in (q, k, v, do))
    check_shapes(q, k, v)
    if do.shape != q.shape:
        raise ValueError(f"do: expected shape {q.shape} like q, got {do.shape}")
    return q, k, v, do


def full(q, k, v, do, *, causal: bool = False, scale: float | None = None) -> Gradients:
    """Gradients of sum(do ∘ attention(q, k, v)) with the whole P stored, as standard attention does it.

    q, do (Nq, d), k and v (Nk, d); scale defaults to 1/sqrt(d). Rows that see no key have gradient 0.
    """
    q, k, v, do = _checked(q, k, v, do)
    scale = q.shape[1] ** -0.5 if scale is None else scale
    p = attention(q, k, v, causal=causal, scale=scale).weights
    dp = do @ v.T
    D = (p * dp).sum(axis=1)
    ds = scale * p * (dp - D[:, None])
    return Gradients(ds @ k, ds.T @ q, p.T @ do, p, dp, ds, D)


def row_sums(o, do) -> np.ndarray:
    """D = rowsum(dO ∘ O), (Nq,): what the softmax's derivative needs of a row, from N x d data only."""
    o, do = np.asarray(o, dtype=np.float64), np.asarray(do, dtype=np.float64)
    if o.shape != do.shape:
        raise ValueError(f"do: expected shape {o.shape} like o, got {do.shape}")
    return (o * do).sum(axis=1)


def tile_gradient(q, k, v, do, logsumexp, D, allowed, *, scale, i=0, j=0, row=0, key=0) -> TileGradient:
    """One tile from its own blocks and two numbers a row.

    q, do (rows, d), k, v (keys, d), logsumexp and D (rows,), allowed (rows, keys) booleans.
    """
    s = scale * (q @ k.T)
    # A row without a key has logsumexp -inf; its weights are 0, and so is all it adds.
    safe = np.where(np.isneginf(logsumexp), 0.0, logsumexp)
    p = np.exp(np.where(allowed, s, -np.inf) - safe[:, None])
    dp = do @ v.T
    ds = scale * p * (dp - D[:, None])
    return TileGradient(i, j, row, key, p, dp, ds, p.T @ do, ds @ k, ds.T @ q)


def tiles(q, k, v, do, o, logsumexp, Br, Bc, *, causal=False, scale=None) -> Iterator[TileGradient]:
    """The visited tiles in loop order: K,V blocks outside, Q blocks inside.

    o (Nq, d) and logsumexp (Nq,) are what the forward pass kept. Raises ValueError for block sizes below 1.
    """
    q, k, v, do = _checked(q, k, v, do)
    if min(Br, Bc) < 1:
        raise ValueError(f"Br, Bc: expected 1 or more; got {Br}, {Bc}")
    scale = q.shape[1] ** -0.5 if scale is None else scale
    D = row_sums(o, do)
    allowed = may_look(len(q), len(k), causal=causal)
    for j, key in enumerate(range(0, len(k), Bc)):
        for i, row in enumerate(range(0, len(q), Br)):
            rows, keys = slice(row, row + Br), slice(key, key + Bc)
            if not allowed[rows, keys].any():
                continue
            yield tile_gradient(
                q[rows], k[keys], v[keys], do[rows], logsumexp[rows], D[rows], allowed[rows, keys],
                scale=scale, i=i, j=j, row=row, key=key,
            )  # fmt: skip


def summed(found: Iterable[TileGradient], Nq: int, Nk: int, d: int) -> tuple[np.ndarray, ...]:
    """(dq, dk, dv) of the tiles of a head, added up as the loop does: P is never stored. float64."""
    dq, dk, dv = np.zeros((Nq, d)), np.zeros((Nk, d)), np.zeros((Nk, d))
    for tile in found:
        dv[tile.keys] += tile.dv
        dq[tile.rows] += tile.dq
        dk[tile.keys] += tile.dk
    return dq, dk, dv


@dataclass(frozen=True)
class Check:
    """One comparison of a tile (or of the finished sums) with the full computation.

    quantity: what; shape; largest: its largest magnitude in the full computation; error: the largest difference.
    """

    quantity: str
    shape: tuple[int, ...]
    largest: float
    error: float


def _check(quantity, got, wanted):
    return Check(quantity, got.shape, float(np.abs(wanted).max()), float(np.abs(got - wanted).max()))


def check_tile(tile: TileGradient, q, k, v, do, whole: Gradients) -> list[Check]:
    """Compare all that a tile makes with its part of the full computation, which stored P.

    The full P, dP and dS are cut at the tile, and its shares of dV, dQ, dK are formed from the cuts.
    """
    q, k, v, do = _checked(q, k, v, do)
    rows, keys = tile.rows, tile.keys
    p, dp, ds = whole.p[rows, keys], whole.dp[rows, keys], whole.ds[rows, keys]
    return [
        _check("P", tile.p, p),
        _check("dP", tile.dp, dp),
        _check("dS", tile.ds, ds),
        _check("dV", tile.dv, p.T @ do[rows]),
        _check("dQ", tile.dq, ds @ k[keys]),
        _check("dK", tile.dk, ds.T @ q[rows]),
    ]


@dataclass(frozen=True)
class Report:
    """A whole check: `tile` (its comparisons), where it is, `sums` of the finished gradients, tiles checked.

    error: the largest difference of any tile and of the sums.
    """

    N: int
    i: int
    j: int
    visited: int
    tile: list[Check]
    sums: list[Check]
    error: float


def report(N: int, d: int, Br: int, Bc: int, *, causal: bool = False, seed: int = 7) -> Report:
    """Check every tile of a random head of N x d against the full gradient, and show the middle one."""
    q, k, v, do = np.random.default_rng(seed).standard_normal((4, N, d))
    kept = attention(q, k, v, causal=causal)
    whole = full(q, k, v, do, causal=causal)
    found = list(tiles(q, k, v, do, kept.output, kept.logsumexp, Br, Bc, causal=causal))
    checks = [check_tile(tile, q, k, v, do, whole) for tile in found]
    sums = summed(found, N, N, d)
    wanted = (whole.dq, whole.dk, whole.dv)
    last = [_check(name, got, want) for name, got, want in zip(("dQ", "dK", "dV"), sums, wanted, strict=True)]
    middle = len(found) // 2
    error = max(check.error for part in (*checks, last) for check in part)
    return Report(N, found[middle].i, found[middle].j, len(found), checks[middle], last, error)


def record(N: int, d: int, Br: int, Bc: int, *, causal: bool = False, seed: int = 7) -> dict:
    """The play of the loop, for a picture: plain lists of a random head, one step a line of the loop.

    Keys: N, d, Br, Bc, causal; tiles: [{i, j, row, key, p, dp, ds, error}] in loop order; steps: [{line, product,
    tile, i, j, read, written}] where tile indexes `tiles`, and read, written are elements moved so far, which end
    at the `tiled` totals of `training_traffic.backward`.
    """
    q, k, v, do = np.random.default_rng(seed).standard_normal((4, N, d))
    kept = attention(q, k, v, causal=causal)
    whole = full(q, k, v, do, causal=causal)
    found = list(tiles(q, k, v, do, kept.output, kept.logsumexp, Br, Bc, causal=causal))
    read, written = 2 * N * d, N  # O and dO in, D out, before the loop
    steps = [{"line": "rowsum", "product": 0, "tile": -1, "i": -1, "j": -1, "read": read, "written": written}]
    drawn, touched = [], set()
    for number, tile in enumerate(found):
        rows, keys = tile.p.shape
        first = number == 0 or found[number - 1].j != tile.j
        last = number == len(found) - 1 or found[number + 1].j != tile.j
        for line, product in LINES:
            if (line == "load-kv" and not first) or (line == "store" and not last):
                continue
            if line == "load-kv":
                read += 2 * keys * d
            elif line == "load-q":
                read += 2 * rows * d + 2 * rows
            elif line == "dq":
                read += rows * d if tile.i in touched else 0
                written += rows * d
                touched.add(tile.i)
            elif line == "store":
                written += 2 * keys * d
            steps.append(
                {
                    "line": line,
                    "product": product,
                    "tile": number,
                    "i": tile.i,
                    "j": tile.j,
                    "read": read,
                    "written": written,
                }
            )
        drawn.append(
            {
                "i": tile.i,
                "j": tile.j,
                "row": tile.row,
                "key": tile.key,
                "p": tile.p.tolist(),
                "dp": tile.dp.tolist(),
                "ds": tile.ds.tolist(),
                "error": max(check.error for check in check_tile(tile, q, k, v, do, whole)),
            }
        )
    return {"N": N, "d": d, "Br": Br, "Bc": Bc, "causal": causal, "tiles": drawn, "steps": steps}
