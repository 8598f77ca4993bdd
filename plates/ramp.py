"""The ramp of the maps: from little, light, to much, dark; without a hue, for every hue on a plate has a meaning."""

from __future__ import annotations

import numpy as np

_LIGHT, _DARK = (246, 240, 226), (29, 26, 22)
_STEPS = 256
#: The colours of the ramp, the same in both themes: light to dark, evenly.
RAMP = tuple(
    "#{:02x}{:02x}{:02x}".format(*(round(v) for v in rgb)) for rgb in np.linspace(_LIGHT, _DARK, _STEPS)
)
_INKS = ("#000000", "#ffffff")


def luminance(colour: str) -> float:
    """Return the relative luminance of ``#rrggbb`` (WCAG 2.2)."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return float(np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722])


def contrast(a: str, b: str) -> float:
    """Return the contrast ratio of two colours (WCAG 2.2)."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def at(value: float, low: float, high: float) -> str:
    """Return the colour of ``value`` on a logarithmic scale from ``low`` to ``high``, as the browser maps it."""
    place = np.log(value / low) / np.log(high / low) if high > low else 0.0
    return RAMP[int(np.clip(place * _STEPS, 0, _STEPS - 1))]


def ink_on(colour: str) -> str:
    """Return black or white: whichever stands off ``colour`` more, 4.58:1 at the least."""
    return max(_INKS, key=lambda ink: contrast(ink, colour))
