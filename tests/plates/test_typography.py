"""Last touches on texts: one of a thing is not several, equations stay on one line, numbers have their marks."""

from __future__ import annotations

import re

import pytest

from plates import typography
from plates.registry import PLATES
from tests.plates.english import of_view
from tests.plates.walk import open_plate

# words after a 1 that are no plural: verbs, and the number as a name
NO_PLURAL = {"ms", "ns", "ps", "is", "walks", "moves", "cuts", "comes", "has", "times", "takes", "rounds"}
_ONE = re.compile(r"(?<![\w.,×·/−-])(?<!× )1 ([A-Za-z]+s)\b(?! block)")
_AT_ONE = ("&N=1&H=1&B=1&Br=1&Bc=1", "&H=1&B=1", "&N=2&H=1&Br=1024&Bc=1024&gpus=1&splits=1&window=1&tokens=1")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("1 tokens", "1 token"),
        ("1\u00a0heads, 11 heads", "1\u00a0head, 11 heads"),
        ("<b>1</b> heads", "<b>1</b> head"),
        ("128 × 1 tiles", "128 × 1 tiles"),
        ("0.1 tokens, 1,001 tokens, N/1 rows", "0.1 tokens, 1,001 tokens, N/1 rows"),
        ("1 tokens-long", "1 tokens-long"),
    ],
)
def test_one_of_a_thing(given, shown):
    assert typography.singular(given) == shown
    assert typography.singular(given, "zh") == given


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("at N = 1,024 and Br = 16", "at N\u00a0=\u00a01,024 and Br\u00a0=\u00a016"),
        ("m = −∞", "m\u00a0=\u00a0−∞"),
        ("L = m + 1", "L = m + 1"),
        ("$N = 4$, d = 5", "$N = 4$, d\u00a0=\u00a05"),
    ],
)
def test_an_equation_stays_on_one_line(given, shown):
    assert typography.kept(given) == shown


@pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.slug)
def test_no_plate_speaks_of_one_heads(plate):
    for query in _AT_ONE:
        for said in of_view([open_plate(plate.slug, query).plates[plate.slug].view()]):
            plain = said.replace("\u00a0", " ")
            several = [m for m in _ONE.finditer(plain) if m[1] not in NO_PLURAL]
            assert not several, plain[max(0, several[0].start() - 60) : several[0].end() + 30]


@pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.slug)
def test_numbers_of_a_setting_have_their_thousands_marks_and_stand_on_one_line(plate):
    shown = open_plate(plate.slug, "&N=16384&Br=1024&Bc=1024").plates[plate.slug]
    for said in of_view([shown.view()]):
        bare = re.search(r"\b(?:N|Br|Bc)[ \u00a0]=[ \u00a0]\d{4}", said)
        assert not bare, said[max(0, bare.start() - 40) : bare.end() + 20]
    for name, pane in shown._texts.items():
        assert not re.search(r"\b(?:N|d|Br|Bc) = \d", re.sub(r"<[^>]*>", "", pane.object)), name
