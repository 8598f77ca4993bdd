"""One role a name: a model or a kernel has the same colour in every figure, readout and table."""

from __future__ import annotations

import re

import pytest
from bokeh.models import GlyphRenderer, Label

from plates import text
from plates.registry import PLATES
from plates.roles import MODEL, PROVIDER
from plates.settings import Settings
from plates.theme import PALETTES
from workshop import traffic
from workshop.recordings import PROVIDERS

READOUT = re.compile(r'style="--c:var\(--([\w-]+)\)">\s*<b data-readout="([\w-]+)"')
NAME = re.compile(r'<b style="color:var\(--([\w-]+)\)[^>]*>([^<]+)</b>')


def names() -> dict[str, str]:
    """What readers call a model or a kernel -> its role."""
    machine = text.labels("machine", "en")
    found = {text.labels("traffic", "en")[model]: role for model, role in MODEL.items()}
    for provider, role in PROVIDER.items():
        found[machine[f"provider_{provider}"]] = found[machine[f"short_{provider}"]] = role
    return found


def test_every_model_and_every_kernel_has_a_role_of_the_palette():
    assert MODEL.keys() == set(traffic.MODELS) and PROVIDER.keys() == set(PROVIDERS)
    assert {*MODEL.values(), *PROVIDER.values()} <= PALETTES["light"].keys()
    assert len(set(MODEL.values())) == len(MODEL)


@pytest.mark.parametrize("cls", PLATES, ids=lambda cls: cls.slug)
def test_a_name_has_one_colour_on_every_plate(cls):
    plate, known = cls(Settings()), names()
    for name in ("models", "time_models"):
        if name in plate.local_keys:
            setattr(plate.local, name, plate.local.param[name].objects)
    plate.view()
    for model, prop, role in plate.themed._roles:
        if isinstance(model, Label) and prop == "text_color" and model.text in known:
            # pins on a map are in ink, whatever they are called
            assert role in (known[model.text], "ink"), f"{cls.slug}: {model.text}"
    roles = {model: role for model, prop, role in plate.themed._roles if prop in ("line_color", "fill_color")}
    figures = {fig for model in roles for fig in ([model] if hasattr(model, "renderers") else [])}
    for renderer in (r for fig in figures for r in fig.renderers if isinstance(r, GlyphRenderer)):
        if renderer.name in known and renderer.glyph in roles:
            assert roles[renderer.glyph] in (known[renderer.name], "paper"), f"{cls.slug}: {renderer.name}"
    html = "".join(pane.object for pane in plate._texts.values())
    for role, name in READOUT.findall(html):
        model = name.split("-", 1)[-1].replace("-", "_")
        if model in MODEL:
            assert role == MODEL[model], f"{cls.slug}: {name}"
    for role, name in NAME.findall(html):
        if name in known:
            assert role == known[name], f"{cls.slug}: {name}"


def test_the_bytes_of_the_scores_have_one_colour_on_both_plates_that_tell_them():
    for slug, name, role in (("wall", "score-bytes", "standard"), ("traffic", "score-bytes", "standard")):
        plate = next(cls for cls in PLATES if cls.slug == slug)(Settings())
        plate.view()
        assert (role, name) in READOUT.findall(plate._texts["_readouts"].object)
