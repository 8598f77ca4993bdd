"""One formula, four uses: the same expression text is evaluated, typeset, filled with numbers and read aloud.

An expression is Python arithmetic over names: + - * / **, and the calls ceil, min, max, exp, log. Parsing it
once and drawing every form from the tree means that what a page shows cannot drift from what a test
evaluates.
"""

import ast
import math
from collections.abc import Callable, Mapping
from fractions import Fraction

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
_RANK = {ast.Add: _SUM, ast.Sub: _SUM, ast.Mult: _PRODUCT, ast.Div: _ATOM, ast.Pow: _POWER}
_SPOKEN_POWERS = {2: "squared", 3: "cubed"}


def parse(expression: str) -> ast.expr:
    """The tree of an expression. Raises ValueError for anything but the arithmetic named above."""
    tree = ast.parse(expression, mode="eval").body
    for node in ast.walk(tree):
        known = (ast.BinOp, ast.Call, ast.Name, ast.Constant, ast.operator, ast.expr_context)
        if not isinstance(node, known) or (isinstance(node, ast.operator) and type(node) not in _RANK):
            raise ValueError(
                f"expression: expected plain arithmetic; got {type(node).__name__} in {expression!r}"
            )
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) not in _CALLS:
            raise ValueError(
                f"expression: expected one of {', '.join(_CALLS)}; got another call in {expression!r}"
            )
    return tree


_CALLS: dict[str, Callable] = {"ceil": math.ceil, "min": min, "max": max, "exp": math.exp, "log": math.log}
_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.Pow: lambda a, b: a**b,
}


def names(tree: ast.expr) -> list[str]:
    """Names in the order they appear, each once, without the calls."""
    found = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id not in _CALLS]
    return list(dict.fromkeys(found))


def evaluate(tree: ast.expr, values: Mapping[str, int | float | Fraction]):
    """The value of the expression; exact (Fractions) as long as every value is an int or a Fraction."""
    if isinstance(tree, ast.Constant):
        return Fraction(tree.value)
    if isinstance(tree, ast.Name):
        value = values[tree.id]
        return Fraction(value) if isinstance(value, int) else value
    if isinstance(tree, ast.Call):
        return _CALLS[tree.func.id](*(evaluate(argument, values) for argument in tree.args))
    return _OPERATORS[type(tree.op)](evaluate(tree.left, values), evaluate(tree.right, values))


def number_latex(value) -> str:
    """A number as LaTeX: whole numbers with thousands marks, others to 4 digits, rates as a power of ten."""
    if isinstance(value, float) and math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}".replace(",", "{,}")
    if 1e-3 <= abs(value) < 1e6:
        return f"{float(value):.4g}"
    mantissa, exponent = _scientific(value)
    return rf"{mantissa}\times 10^{{{exponent}}}"


def number_spoken(value) -> str:
    """A number in words and digits: whole ones in full, others to 4 digits, very large ones as a power of
    ten."""
    if isinstance(value, float) and math.isinf(value):
        return "infinity" if value > 0 else "minus infinity"
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}".replace("-", "minus ")
    if 1e-3 <= abs(value) < 1e12:
        return f"{float(value):.4g}".replace("-", "minus ")
    mantissa, exponent = _scientific(value)
    return f"{mantissa} times ten to the power of {exponent}".replace("-", "minus ")


def _scientific(value) -> tuple[str, int]:
    """Mantissa to 4 digits without trailing zeros, and the exponent of ten."""
    mantissa, exponent = f"{float(value):.3e}".split("e")
    return mantissa.rstrip("0").rstrip("."), int(exponent)


def latex(tree: ast.expr, symbol: Callable[[str], str], times: str = r"\,") -> str:
    """The expression as LaTeX.

    `symbol` turns a name into LaTeX, a letter or the reader's number; `times` stands between factors (a dot
    where they are numbers).
    """
    return _typeset(tree, symbol, times)[0]


def _wrapped(text: str, rank: int, least: int) -> str:
    return text if rank >= least else rf"\left({text}\right)"


def _typeset(tree, symbol, times) -> tuple[str, int]:
    """LaTeX and how tightly its outermost operation binds."""
    if isinstance(tree, ast.Constant):
        return number_latex(tree.value), _ATOM
    if isinstance(tree, ast.Name):
        text = symbol(tree.id)
        return text, _SUM if text.startswith("-") else _PRODUCT if r"\times" in text else _ATOM
    if isinstance(tree, ast.Call):
        inner = ", ".join(latex(argument, symbol, times) for argument in tree.args)
        if tree.func.id == "ceil":
            return rf"\left\lceil {inner} \right\rceil", _ATOM
        if tree.func.id == "exp":
            return rf"e^{{{inner}}}", _POWER
        call = {"log": r"\ln"}.get(tree.func.id, "\\" + tree.func.id)
        return rf"{call}\left({inner}\right)", _ATOM
    left, left_rank = _typeset(tree.left, symbol, times)
    right, right_rank = _typeset(tree.right, symbol, times)
    if isinstance(tree.op, ast.Div):
        return rf"\frac{{{left}}}{{{right}}}", _ATOM
    if isinstance(tree.op, ast.Pow):
        return rf"{_wrapped(left, left_rank, _ATOM)}^{{{right}}}", _POWER
    if isinstance(tree.op, ast.Mult):
        left, right = _wrapped(left, left_rank, _PRODUCT), _wrapped(right, right_rank, _PRODUCT)
        # Two numbers side by side would read as one.
        return left + (r" \cdot " if right[0].isdigit() else times) + right, _PRODUCT
    sign = " + " if isinstance(tree.op, ast.Add) else " - "
    negative = right.startswith("-")
    strict = isinstance(tree.op, ast.Sub) and isinstance(tree.right, ast.BinOp)
    return left + sign + (_wrapped(right, right_rank, _PRODUCT) if negative or strict else right), _SUM


def spoken(tree: ast.expr, symbol: Callable[[str], str]) -> str:
    """The expression in words, for a screen reader; `symbol` turns a name into words or a number."""
    if isinstance(tree, ast.Constant):
        return number_spoken(tree.value)
    if isinstance(tree, ast.Name):
        return symbol(tree.id)
    if isinstance(tree, ast.Call):
        parts = [spoken(argument, symbol) for argument in tree.args]
        if tree.func.id in ("min", "max"):
            return f"the {'larger' if tree.func.id == 'max' else 'smaller'} of {parts[0]} and {parts[1]}"
        before = {"ceil": "the quantity", "exp": "e to the power of", "log": "the logarithm of"}[tree.func.id]
        return f"{before} {parts[0]}" + (", rounded up," if tree.func.id == "ceil" else "")
    left, right = spoken(tree.left, symbol), spoken(tree.right, symbol)
    if isinstance(tree.op, ast.Pow) and isinstance(tree.right, ast.Constant):
        return f"{left} {_SPOKEN_POWERS[tree.right.value]}"
    if isinstance(tree.op, (ast.Mult, ast.Div)):
        under = isinstance(tree.op, ast.Div) and isinstance(tree.right, ast.BinOp)
        left = _bracketed(left) if _is_sum(tree.left) else left
        right = _bracketed(right) if under or _is_sum(tree.right) else right
    word = {ast.Add: "plus", ast.Sub: "minus", ast.Mult: "times", ast.Div: "over"}[type(tree.op)]
    return f"{left} {word} {right}"


def _bracketed(text: str) -> str:
    return f"the quantity {text.rstrip(',')}, end quantity,"


def _is_sum(tree) -> bool:
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Sub))
