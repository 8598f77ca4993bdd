"""Formulas on the page: LaTeX to MathML, which browsers typeset themselves, without fonts or scripts from elsewhere."""

from __future__ import annotations

import html
import re
from functools import lru_cache

from latex2mathml.converter import convert

# LaTeX groups digits as 8{,}192; MathML would set the comma as an operator with a space after it.
_GROUP = re.compile(r"(<mn>[\d,.]+)</mn><mrow><mo>(?:,|&#x0002C;)</mo></mrow><mn>(\d{3})</mn>")


@lru_cache(maxsize=2048)
def mathml(latex: str, *, block: bool = False, reading: str = "") -> str:
    """Return ``latex`` as a MathML element; ``reading`` is what a screen reader says for it."""
    markup = convert(latex, display="block" if block else "inline")
    previous = None
    while previous != markup:
        previous, markup = markup, _GROUP.sub(r"\1,\2</mn>", markup)
    if reading:
        markup = markup.replace("<math ", f'<math aria-label="{html.escape(reading, quote=True)}" ', 1)
    return markup
