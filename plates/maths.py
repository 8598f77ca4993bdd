"""Formulas on the page: LaTeX to MathML, which browsers typeset themselves, without fonts or scripts from elsewhere."""

from __future__ import annotations

import html
import re
from functools import lru_cache

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


@lru_cache(maxsize=2048)
def mathml(latex: str, *, block: bool = False, reading: str = "") -> str:
    """Return ``latex`` as a MathML element; ``reading`` is what a screen reader says for it."""
    markup = convert(latex, display="block" if block else "inline")
    previous = None
    while previous != markup:
        previous, markup = markup, _GROUP.sub(r"\2<mn>\1,\3</mn>", markup)
    markup = _PRIME.sub(r'<mrow>\1<mo lspace="0" rspace="0">&#x02032;</mo></mrow>', markup)
    markup = markup.replace(_INFINITY, "<mi>&#x0221E;</mi>")
    if reading:
        markup = markup.replace("<math ", f'<math aria-label="{html.escape(reading, quote=True)}" ', 1)
    return markup
