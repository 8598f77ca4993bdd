"""What the tiles plate shows, for the tests of its parts."""

from __future__ import annotations

import html as html_lib
import re

import panel as pn


def html(atlas) -> str:
    """Return all HTML of the plate on show."""
    shown = "".join(p.object for p in atlas.plates["tiles"].view().select(pn.pane.HTML))
    return html_lib.unescape(shown).replace("\u00a0", " ")


def readouts(atlas) -> dict[str, str]:
    return dict(re.findall(r'data-readout="([^"]+)" data-value="([^"]+)"', html(atlas)))
