"""Formulas on the page: LaTeX to MathML, which browsers typeset themselves, without fonts or scripts from elsewhere."""

from __future__ import annotations

import html
import re
from functools import lru_cache
from itertools import pairwise

from latex2mathml.converter import convert

# LaTeX groups digits as 8{,}192; MathML would set the comma as an operator with a space after it.
# The second half may stand inside a power or a fraction of its own, <msup><mn>192</mn>, and may be grouped already.
_GROUP = re.compile(
    r"<mn>([\d,.]+)</mn><mrow><mo>(?:,|&#x0002C;)</mo></mrow>((?:<msup>|<msub>)?)<mn>(\d{3}(?:,\d{3})*)</mn>"
)
# As a superscript, a prime is raised twice and hardly seen: its glyph is small and high already.
_PRIME = re.compile(r"<msup>(<mi>[^<]*</mi>)<mi>&#x02032;</mi></msup>")
# Infinity is a quantity. As an operator it would push the minus before it away.
_INFINITY = "<mo>&#x0221E;</mo>"
_TAG = re.compile(r"<(/?)(\w+)[^>]*?(/?)>")
_ROW = re.compile(r"(<math [^>]*>)<mrow>(.*)</mrow></math>", re.S)
# Where a line may break: before a sign between two terms of the whole row. MathML itself breaks nowhere.
_SIGN = re.compile(r"<mo>((?:&#x0003D;|&#x0002B;|&#x02212;|&#x02248;|&#x02264;)</mo>)")


def _in_pieces(markup: str) -> str:
    """Cut a row before its signs, each piece a row of its own, so that a stylesheet can wrap them."""
    row = _ROW.fullmatch(markup)
    if not row:
        return markup
    head, body = row.groups()
    depth, cuts, after_sign = 0, [], True
    for tag in _TAG.finditer(body):
        closing, name, empty = tag.groups()
        if depth == 0 and not closing:
            sign = _SIGN.match(body, tag.start())
            if sign and not after_sign:
                cuts.append(tag.start())
            after_sign = name == "mo"
        depth += 0 if empty else -1 if closing else 1
    ends = [0, *cuts, len(body)]
    pieces = [body[a:b] for a, b in pairwise(ends)]
    # the empty letter: a sign beside nothing but text would give its spaces to the row outside
    pieces[1:] = [_SIGN.sub(r'<mo form="infix">\1<mi></mi>', piece, count=1) for piece in pieces[1:]]
    return head + "".join(f"<mrow>{piece}</mrow>" for piece in pieces) + "</math>"


@lru_cache(maxsize=2048)
def mathml(latex: str, *, block: bool = False, reading: str = "") -> str:
    """Return ``latex`` as a MathML element; ``reading`` is what a screen reader says for it."""
    markup = convert(latex, display="block" if block else "inline")
    previous = None
    while previous != markup:
        previous, markup = markup, _GROUP.sub(r"\2<mn>\1,\3</mn>", markup)
    markup = _PRIME.sub(r'<mrow>\1<mo lspace="0" rspace="0">&#x02032;</mo></mrow>', markup)
    markup = markup.replace(_INFINITY, "<mi>&#x0221E;</mi>")
    if block:
        markup = _in_pieces(markup)
    if reading:
        markup = markup.replace("<math ", f'<math aria-label="{html.escape(reading, quote=True)}" ', 1)
    return markup
