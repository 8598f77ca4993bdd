"""What a reader sees in a readout is its value: the text beside every ``data-value`` is that value, formatted."""

from __future__ import annotations

import html
import re

import panel as pn
import pytest

from plates import machine_bytes, tile_bar
from plates.registry import PLATES
from tests.plates.walk import open_plate
from workshop import units

QUERIES = (
    "",
    "&N=1000&d=80&dtype=fp32&causal=1&gpu=l4",
    "&N=131072&Br=512&Bc=512&sram=16&H=3&B=2",
)
FORMATS = (
    units.count, units.elements, units.exact_bytes, units.bytes_, units.binary, units.seconds, units.number,
    units.with_exact_bytes, units.ratio, units.percent, units.flops, units.rate_flops, units.rate_bytes,
    units.intensity,
)  # fmt: skip
#: Other ways that a plate may write a number: fewer digits, the size of a signed one, a whole one as it is.
LOOSER = (
    lambda value: units.number(value, 2), lambda value: units.count(abs(value)), tile_bar.amount,
    machine_bytes.share, str,
)  # fmt: skip
_READOUT = re.compile(r'data-readout="([^"]+)" data-value="([^"]*)"[^>]*>([^<]*)<')


def shown(slug: str, query: str) -> list[tuple[str, str, str]]:
    """Return (name, value, text) of every readout on a plate."""
    plate = open_plate(slug, query).plates[slug]
    found = []
    for pane in plate.view().select(pn.pane.HTML):
        for name, value, text in _READOUT.findall(pane.object):
            found.append((name, html.unescape(value), html.unescape(text).replace("\u00a0", " ")))
    return found


def number(value: str) -> int | float | None:
    """Return the number that a ``data-value`` holds; None for a word such as "yes"."""
    if re.fullmatch(r"[a-z]+", value) and value not in ("inf", "nan"):
        return None
    return int(value) if re.fullmatch(r"-?\d+", value) else float(value)


def possible(value: int | float) -> set[str]:
    """Return all texts that a formatter makes of a number."""
    return {made(value) for made in (*FORMATS, *LOOSER)}


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("plate", PLATES, ids=lambda p: p.slug)
def test_the_text_of_a_readout_is_its_value(plate, query):
    readouts = shown(plate.slug, query)
    names = [name for name, _, _ in readouts]
    assert len(names) == len(set(names)), "a name stands once a page"
    for name, value, text in readouts:
        if number(value) is None:
            assert text.strip(), name
            continue
        part = re.sub(r" of [\d,]+$", "", text)  # "10 of 16" is the ten
        assert part in possible(number(value)), (
            f"{name}: {value} is shown as {text!r}, no formatter's text of it"
        )


def test_a_text_of_another_number_is_found():
    for value, text in (("545259520", "546 MB"), ("11.837", "11.9×"), ("0.0052", "5.21 ms"), ("2", "3")):
        assert text not in possible(number(value))
