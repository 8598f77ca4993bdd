"""The same attention in small number formats, over whole rows and in tiles, judged against float64.

The rules of the arithmetic, in a format F:
- Q, K and V are rounded to F first. Truth is float64 on those rounded inputs (workshop.reference).
- A product of two fp16 or bf16 numbers is exact in float32, and sums are kept in float32, one term after the
  other, as tensor cores keep them; float32 and float64 keep their sums in themselves.
- Standard attention writes S and P to memory, so both are rounded to F; its softmax runs in the sums' format.
- Tiled attention keeps S, m, l and O on the chip in the sums' format; only P is rounded to F, for P V.
- The output is rounded to F.

Source of the last two: how PyTorch's eager attention and the FlashAttention-2 kernels keep them. The 2x rule is
the test of the flash-attn maintainers: the error of FlashAttention in a format must be at most twice that of
standard attention in the same format, both against a more precise truth.
It is made for fp16 and bf16. In float32 both sides round only in their sums, and either may be luckier by more.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workshop.number_formats import FORMATS, Format, bf16
from workshop.reference import attention, may_look
from workshop.score_patterns import Inputs

ORDERS = ("forward", "backward", "interleaved", "shuffled", "divided")
BREAKS = ("none", "no-rescale", "no-max", "sentinel", "bf16-sum", "divide-early", "add-first", "scale-late")
FACTOR = 2  # of the 2x rule
# A stand-in for −∞ that fp16 can hold, whose largest number is 65,504.
SENTINEL = -1.0e4


def row_sums(x: np.ndarray) -> np.ndarray:
    """Row sums of x (r, c), one term after the other in its own dtype (numpy's `sum` adds in pairs)."""
    return np.add.accumulate(x, axis=1)[:, -1]


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a (r, c) times b (c, d): (r, d), one product after the other added in their own dtype.

    A library's matrix product adds in an order of its own, which differs from machine to machine.
    """
    total = a[:, :1] * b[:1]
    for j in range(1, len(b)):
        total += a[:, j : j + 1] * b[j]
    return total


class Rounded:
    """Inputs of one head rounded to a format: q (Nq, d), k, v (Nk, d) held in the sums' dtype.

    `allowed` (Nq, Nk): which query may look at which key. `raw` (Nq, Nk): Q Kᵀ. `scale`: 1/sqrt(d) of the sums' dtype.
    """

    def __init__(self, inputs: Inputs, number_format: str, *, causal: bool = False):
        if number_format not in FORMATS:
            raise ValueError(f"format: expected one of {', '.join(FORMATS)}; got {number_format!r}")
        self.format: Format = FORMATS[number_format]
        self.q, self.k, self.v = (self.format.round(x) for x in (inputs.q, inputs.k, inputs.v))
        self.allowed = may_look(len(self.q), len(self.k), causal=causal, mask=inputs.mask)
        self.scale = self.format.accumulator(inputs.scale)

    @property
    def fits(self) -> bool:
        """Whether the inputs, and the scores that standard attention writes, stay inside the format's range."""
        finite = all(np.isfinite(x).all() for x in (self.q, self.k, self.v))
        return bool(finite and np.isfinite(self.format.round(self.scale * self.raw)).all())

    @cached_property
    def raw(self) -> np.ndarray:
        """Q Kᵀ (Nq, Nk), not scaled and not masked."""
        with np.errstate(all="ignore"):
            return product(self.q, np.ascontiguousarray(self.k.T))

    @cached_property
    def truth(self) -> np.ndarray:
        """The output in float64 (Nq, d) for these rounded inputs."""
        return attention(self.q, self.k, self.v, mask=self.allowed, scale=float(self.scale)).output

    def error(self, output: np.ndarray) -> float:
        """Largest absolute difference from the truth; NaN where `output` holds one."""
        with np.errstate(invalid="ignore"):
            return float(np.abs(output.astype(np.float64) - self.truth).max())


@dataclass(frozen=True)
class Run:
    """Tiled attention, finished: `output` (Nq, d) rounded to the format.

    tiles: the keys (start, stop) of each tile in the order of their visits. partial (tiles, Nq, d): after each
    visit, the output that the running m, l and O stand for, not rounded. sums (Nq,): l at the end.
    """

    output: np.ndarray
    tiles: tuple[tuple[int, int], ...]
    partial: np.ndarray
    sums: np.ndarray


def standard(problem: Rounded) -> np.ndarray:
    """softmax(scale Q Kᵀ) V over whole rows, S and P rounded to the format; output (Nq, d)."""
    fmt = problem.format
    with np.errstate(all="ignore"):
        s = np.where(problem.allowed, fmt.round(problem.scale * problem.raw), -np.inf)
        largest = s.max(axis=1, keepdims=True)
        p = np.exp(s - np.where(np.isneginf(largest), 0, largest).astype(s.dtype))
        total = row_sums(p)[:, None]
        p = fmt.round(p / np.where(total == 0, 1, total).astype(s.dtype))
        return fmt.round(product(p, problem.v))


def visits(keys: int, Bc: int, order: str) -> tuple[tuple[int, int], ...]:
    """The tiles of `keys` keys, (start, stop) each, in an order of ORDERS ("divided" walks forward)."""
    if order not in ORDERS:
        raise ValueError(f"order: expected one of {', '.join(ORDERS)}; got {order!r}")
    if Bc < 1:
        raise ValueError(f"Bc: expected a whole number of 1 or more; got {Bc!r}")
    tiles = [(start, min(start + Bc, keys)) for start in range(0, keys, Bc)]
    if order == "backward":
        tiles.reverse()
    elif order == "interleaved":
        tiles = tiles[::2] + tiles[1::2]
    elif order == "shuffled":
        tiles = [tiles[i] for i in np.random.default_rng(len(tiles)).permutation(len(tiles))]
    return tuple(tiles)


def tiled(problem: Rounded, Bc: int, *, order: str = "forward", broken: str = "none") -> Run:
    """Tiled attention by the running softmax, tiles of `Bc` keys in an order of ORDERS.

    "divided" divides O by l after every tile and undoes it before the next, as the 2022 algorithm does.
    broken: one of BREAKS, a mistake made on purpose. The rows of a Q block never meet, so all rows run together;
    a tile that a row may not look at leaves that row's numbers as they are, as if it had been skipped.
    """
    if broken not in BREAKS:
        raise ValueError(f"broken: expected one of {', '.join(BREAKS)}; got {broken!r}")
    dtype, rows = problem.format.accumulator, len(problem.q)
    hidden = dtype(SENTINEL if broken == "sentinel" else -np.inf)
    m = np.full(rows, hidden)
    l, o = np.zeros(rows, dtype), np.zeros(problem.q.shape, dtype)
    tiles = visits(len(problem.k), Bc, order)
    partial = np.empty((len(tiles), *o.shape), dtype)
    with np.errstate(all="ignore"):
        for number, (start, stop) in enumerate(tiles):
            allowed, raw = problem.allowed[:, start:stop], problem.raw[:, start:stop]
            s = np.where(allowed, problem.scale * raw, hidden)
            judged = np.where(allowed, raw, hidden) if broken == "scale-late" else s
            m_new = np.zeros_like(m) if broken == "no-max" else np.maximum(m, judged.max(axis=1))
            shift = np.where(np.isneginf(m_new), dtype(0), m_new)
            alpha = np.exp(m - shift)
            if broken in ("no-rescale", "no-max"):
                alpha = np.ones_like(m)
            p = np.exp(s - shift[:, None])
            added = product(problem.format.round(p), problem.v[start:stop])
            if order == "divided" and broken != "divide-early":
                o = o * l[:, None]
            if broken == "add-first":
                l, o = alpha * (l + row_sums(p)), alpha[:, None] * (o + added)
            else:
                o = alpha[:, None] * o + added
                l = _bf16_sum(alpha * l, p) if broken == "bf16-sum" else alpha * l + row_sums(p)
            m = m_new
            partial[number] = divided = o / np.where(l == 0, dtype(1), l)[:, None]
            if order == "divided" or broken == "divide-early":
                o = divided
        return Run(problem.format.round(partial[-1]), tiles, partial, l)


def _bf16_sum(l: np.ndarray, p: np.ndarray) -> np.ndarray:
    """l + the row sums of p, every sum on the way rounded to bf16."""
    l = bf16(l.astype(np.float32))
    for column in p.T:
        l = bf16(l + column.astype(np.float32))
    return l.astype(p.dtype)


@dataclass(frozen=True)
class Comparison:
    """Largest errors of standard (`full`) and `tiled` attention in one format, and the `limit` of the 2x rule.

    `fits`: the inputs and scores are inside the format's range; outside it nothing is compared (NaN).
    """

    format: str
    fits: bool
    full: float
    tiled: float
    limit: float

    @property
    def yardstick(self) -> bool:
        """Whether this is the format of the truth, of which the rule says nothing."""
        return self.format == "float64"

    @property
    def holds(self) -> bool:
        """Whether the tiled error is within the limit; NaN is not."""
        return self.tiled <= self.limit


def limit(problem: Rounded) -> tuple[float, float]:
    """(error of standard attention, what a tiled one may have) for these inputs.

    Twice the error, or the finest step that can be asked for where that is more: one unit in the last place of the
    largest output in a format that rounds at the end; one of the largest V where the sums themselves are kept in
    the format; eight of them in float64, whose truth is rounded as well.
    """
    full = problem.error(standard(problem))
    fmt = problem.format
    rounds_once = fmt.fraction < np.finfo(fmt.accumulator).nmant
    step = fmt.spacing(float(np.abs(problem.truth if rounds_once else problem.v).max()))
    return full, max(FACTOR * full, step * (8 if fmt.name == "float64" else 1))


def compare(problem: Rounded, Bc: int, *, order: str = "forward", broken: str = "none") -> Comparison:
    """Errors of standard and tiled attention on `problem`, tiles of `Bc` keys, and the rule."""
    if not problem.fits:
        return Comparison(problem.format.name, False, np.nan, np.nan, np.nan)
    full, allowed = limit(problem)
    found = problem.error(tiled(problem, Bc, order=order, broken=broken).output)
    return Comparison(problem.format.name, True, full, found, allowed)
