"""The softmax plate without a browser, and what it shows: for the tests of the step-through and of its lab."""

import re

from plates.settings import Settings
from plates.softmax import Softmax


def open_softmax(causal=False, **small) -> Softmax:
    """Return the plate with its own state set to ``small``, built."""
    plate = Softmax(Settings(plate="softmax", causal=causal))
    plate.local.param.update(**small)
    plate.view()
    return plate


def html(plate: Softmax) -> str:
    """Return all HTML that the plate shows."""
    return " ".join(pane.object for pane in plate._texts.values())


def readout(plate: Softmax, name: str) -> tuple[str, str]:
    """Return the raw value and the text of the one readout ``name``."""
    found = re.findall(rf'data-readout="{name}" data-value="([^"]*)">([^<]*)<', html(plate))
    assert len(found) == 1, (name, found)
    return found[0]
