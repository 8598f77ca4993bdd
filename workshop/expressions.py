"""One formula, four uses: the same expression text is evaluated, typeset, filled with numbers and read aloud.

An expression is Python arithmetic over names: + - * / **, and the calls ceil, min, max, exp, log. Parsing it
once and drawing every form from the tree means that what a page shows cannot drift from what a test
evaluates.
"""

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
_RANK = {ast.Add: _SUM, ast.Sub: _SUM, ast.Mult: _PRODUCT, ast.Div: _ATOM, ast.Pow: _POWER}
_SPOKEN_POWERS = {2: "squared", 3: "cubed"}
#: How an expression is read, as templates. Another language is another table with the same keys and fields; it may
#: also hold names of formulas and readings of letters, each under its English text.
READING: Mapping[str, str] = {
    "equals": "{a} equals {b}",
    "plus": "{a} plus {b}",
    "minus": "{a} minus {b}",
    "times": "{a} times {b}",
    "over": "{a} over {b}",
    "squared": "{a} squared",
    "cubed": "{a} cubed",
    "larger": "the larger of {a} and {b}",
    "smaller": "the smaller of {a} and {b}",
    "rounded up": "the quantity {a}, rounded up,",
    "exponential": "e to the power of {a}",
    "logarithm": "the logarithm of {a}",
    "bracketed": "the quantity {a}, end quantity,",
    "negative": "minus {a}",
    "infinity": "infinity",
    "scientific": "{a} times ten to the power of {b}",
}
_SPOKEN_CALLS = {
    "max": "larger",
    "min": "smaller",
    "ceil": "rounded up",
    "exp": "exponential",
    "log": "logarithm",
}
_SPOKEN_OPERATORS = {ast.Add: "plus", ast.Sub: "minus", ast.Mult: "times", ast.Div: "over"}


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


# Whole numbers are written in full below the first; beside one that is not, below the second, which spares every N.
_IN_FULL, _IN_FULL_BESIDE_POWERS = 1e12, 1e7


def any_power(values: Iterable) -> bool:
    """Whether one of the numbers is so large that it is written as a power of ten."""
    return any(_IN_FULL <= abs(value) < math.inf for value in values)


def number_latex(value, powers: bool = False) -> str:
    """A number as LaTeX: whole numbers with thousands marks, others to 4 digits, rates as a power of ten.

    powers: whether it stands beside powers of ten, where a long row of digits would be the odd one out.
    """
    if isinstance(value, float) and math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if value == int(value) and abs(value) < (_IN_FULL_BESIDE_POWERS if powers else _IN_FULL):
        return f"{int(value):,}".replace(",", "{,}")
    if 1e-3 <= abs(value) < 1e6:
        return f"{float(value):.4g}"
    mantissa, exponent = _scientific(value)
    return rf"{mantissa}\times 10^{{{exponent}}}"


def number_spoken(value, words: Mapping[str, str] = READING) -> str:
    """A number in words and digits: whole ones in full, others to 4 digits, very large ones as a power of
    ten. `words`: see `READING`."""

    def signed(digits: str) -> str:
        return words["negative"].format(a=digits[1:]) if digits.startswith("-") else digits

    if isinstance(value, float) and math.isinf(value):
        return words["infinity"] if value > 0 else words["negative"].format(a=words["infinity"])
    if value == int(value) and abs(value) < 1e12:
        return signed(f"{int(value):,}")
    if 1e-3 <= abs(value) < 1e12:
        return signed(f"{float(value):.4g}")
    mantissa, exponent = _scientific(value)
    return words["scientific"].format(a=signed(mantissa), b=signed(str(exponent)))


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


def spoken(tree: ast.expr, symbol: Callable[[str], str], words: Mapping[str, str] = READING) -> str:
    """The expression in words, for a screen reader; `symbol` turns a name into words or a number. `words`: see
    `READING`."""
    if isinstance(tree, ast.Constant):
        return number_spoken(tree.value, words)
    if isinstance(tree, ast.Name):
        return symbol(tree.id)
    if isinstance(tree, ast.Call):
        parts = [spoken(argument, symbol, words) for argument in tree.args]
        return words[_SPOKEN_CALLS[tree.func.id]].format(a=parts[0], b=parts[-1])
    left, right = spoken(tree.left, symbol, words), spoken(tree.right, symbol, words)
    if isinstance(tree.op, ast.Pow) and isinstance(tree.right, ast.Constant):
        return words[_SPOKEN_POWERS[tree.right.value]].format(a=left)
    if isinstance(tree.op, (ast.Mult, ast.Div)):
        under = isinstance(tree.op, ast.Div) and isinstance(tree.right, ast.BinOp)
        left = _bracketed(left, words) if _is_sum(tree.left) else left
        right = _bracketed(right, words) if under or _is_sum(tree.right) else right
    return words[_SPOKEN_OPERATORS[type(tree.op)]].format(a=left, b=right)


def _bracketed(text: str, words: Mapping[str, str]) -> str:
    return words["bracketed"].format(a=text.rstrip(","))


def _is_sum(tree) -> bool:
    return isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.Add, ast.Sub))
