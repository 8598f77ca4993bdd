"""What the machine plate shows, for the tests of its parts."""

from __future__ import annotations

import re

import panel as pn


def html(atlas) -> str:
    """All HTML of the plate."""
    panes = atlas.plates["machine"].view().select(pn.pane.HTML)
    return "".join(pane.object for pane in panes).replace("\u00a0", " ")


def values(atlas) -> dict[str, float]:
    """Readouts by name; a name stands once a page."""
    found = re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', html(atlas))
    names = [name for name, _ in found]
    assert len(names) == len(set(names)), f"a name stands twice: {names}"
    return {name: float(value) for name, value in found}


CASE = "&N=4096&d=128&H=32&Br=64&Bc=64"
