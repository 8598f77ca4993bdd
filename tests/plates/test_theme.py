"""Colours: the same roles in both themes, readable, and told apart by colour-blind readers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from plates.theme import PALETTES, css_variables

# Viénot, Brettel, Mollon 1999: what a dichromat sees, as a matrix on linear RGB.
_BLIND = {
    "protan": np.array([[0.11238, 0.88762, 0.0], [0.11238, 0.88762, 0.0], [0.00401, -0.00401, 1.0]]),
    "deutan": np.array([[0.29275, 0.70725, 0.0], [0.29275, 0.70725, 0.0], [-0.02234, 0.02234, 1.0]]),
}


def linear(colour: str) -> np.ndarray:
    """Return ``#rrggbb`` as linear RGB in 0..1 (sRGB, IEC 61966-2-1)."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def contrast(a: str, b: str) -> float:
    """Return the WCAG 2.2 contrast ratio of two colours."""
    lights = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (a, b))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    """Return linear RGB as CIELAB under D65."""
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ rgb
    f = np.cbrt(np.clip(xyz / [0.9505, 1, 1.089], 1e-6, None))
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_both_themes_have_the_same_roles():
    assert PALETTES["light"].keys() == PALETTES["dark"].keys()
    for role in PALETTES["light"]:
        assert css_variables().count(f"--{role}:") == 2


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize(
    "role", ["ink", "muted", "standard", "flash", "tiled", "algorithm-1", "chip", "hbm", "over"]
)
def test_text_colours_reach_the_contrast_of_wcag_aa(theme, role):
    palette = PALETTES[theme]
    for ground in ("paper", "panel"):
        assert contrast(palette[role], palette[ground]) >= 4.5, f"{theme} {role} on {ground}"


@pytest.mark.parametrize("theme", PALETTES)
def test_the_edge_of_a_control_reaches_the_contrast_of_wcag_aa(theme):
    for ground in ("paper", "panel"):
        assert contrast(PALETTES[theme]["edge"], PALETTES[theme][ground]) >= 3


@pytest.mark.parametrize("theme", PALETTES)
@pytest.mark.parametrize("blind", _BLIND)
def test_models_are_told_apart_by_colour_blind_readers(theme, blind):
    roles = ("standard", "flash", "tiled", "algorithm-1")
    for a, b in itertools.combinations(roles, 2):
        seen = [lab(_BLIND[blind] @ linear(PALETTES[theme][role])) for role in (a, b)]
        assert np.linalg.norm(seen[0] - seen[1]) > 20, f"{a} and {b}"


@pytest.mark.parametrize("theme", PALETTES)
def test_no_two_meanings_share_a_colour(theme):
    roles = ("standard", "flash", "tiled", "algorithm-1", "chip", "hbm", "over", "ink")
    for a, b in itertools.combinations(roles, 2):
        gap = np.linalg.norm(lab(linear(PALETTES[theme][a])) - lab(linear(PALETTES[theme][b])))
        assert gap > 15, f"{theme}: {a} and {b}"
