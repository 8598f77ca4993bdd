"""The letters of the formulas: how each is typeset, how it is read, and what it means with its unit."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Symbol:
    """A letter of the formulas: its LaTeX, how it is read, and what it means with its unit."""

    latex: str
    spoken: str
    meaning: str


SYMBOLS: Mapping[str, Symbol] = MappingProxyType(
    {
        "N": Symbol("N", "N", "sequence length, tokens"),
        "d": Symbol("d", "d", "head size, elements"),
        "H": Symbol("H", "H", "heads"),
        "B": Symbol("B", "B", "batch"),
        "b": Symbol("b", "b", "bytes an element"),
        "M": Symbol("M", "M", "on-chip memory, elements"),
        "budget": Symbol(r"M_{\mathrm{bytes}}", "M in bytes", "on-chip memory, bytes"),
        "Br": Symbol("B_r", "B r", "rows of a Q block"),
        "Bc": Symbol("B_c", "B c", "rows of a K, V block"),
        "Tr": Symbol("T_r", "T r", "Q blocks, N / Br rounded up"),
        "Tc": Symbol("T_c", "T c", "K, V blocks of Algorithm 1: N / Bc, with Bc = M / 4d, both rounded up"),
        "R": Symbol("R", "R", "Q blocks resident on the whole GPU at once"),
        "kv_rows": Symbol("\\rho", "rho", "rows of K read, visited tiles only, over all Q blocks"),
        "wave_rows": Symbol(
            "\\rho_w", "rho w", "rows of K read, visited tiles only, added up over the waves"
        ),
        "q_rows": Symbol("\\rho_q", "rho q", "rows of Q read, visited tiles only, over all K, V blocks"),
        "scores": Symbol(r"\mathrm{scores}", "scores", "scores computed: elements of visited tiles"),
        "visits": Symbol(r"\mathrm{visits}", "visits", "tiles visited"),
        "W": Symbol("W", "W", "working set of a tile, bytes"),
        "sparsity": Symbol("s", "s", "share of the tiles that are visited"),
        "layers": Symbol("L", "L", "layers of the model"),
        "kv_heads": Symbol(r"H_{kv}", "H k v", "heads of K and V"),
        "group": Symbol("G", "G", "query heads that share one head of K and V"),
        "F": Symbol(r"\mathrm{FLOPs}", "FLOPs", "floating-point operations of a layer"),
        "D": Symbol(r"\mathrm{bytes}", "bytes", "bytes moved for a layer"),
        "peak": Symbol(r"\mathrm{peak}", "peak", "arithmetic rate at peak, FLOP/s"),
        "beta": Symbol(r"\mathrm{bandwidth}", "bandwidth", "memory bandwidth, B/s"),
        "m": Symbol("m", "m", "running maximum of a row before this block"),
        "m_new": Symbol("m'", "m new", "running maximum after this block"),
        "s": Symbol("\\max_j S_j", "the block's largest score", "largest score of this block in the row"),
        "alpha": Symbol("\\alpha", "alpha", "rescale factor"),
        "l": Symbol("\\ell", "l", "running sum of exponentials before this block"),
        "l_new": Symbol("\\ell'", "l new", "running sum after this block"),
        "p": Symbol("\\textstyle\\sum_j P_j", "the block's sum of P", "sum of this block's exponentials"),
        "o": Symbol("O", "O", "unscaled output before this block"),
        "o_new": Symbol("O'", "O new", "unscaled output after this block"),
        "pv": Symbol(
            "\\textstyle\\sum_j P_j V_j", "the block's P times V", "this block's share of the output"
        ),
    }
)
