"""The controls beside the plate: only those that change what it shows, in three groups, with presets and Reset."""

from __future__ import annotations

import html
from collections.abc import Callable
from urllib.parse import urlencode

import panel as pn
import panel_material_ui as pmui

from plates import text
from plates.controls import NumberControl, choice, switch
from plates.settings import Settings
from workshop import hardware, presets

GROUPS = {
    "problem": ("N", "d", "H", "B", "dtype", "causal"),
    "tile": ("Br", "Bc"),
    "chip": ("gpu", "bandwidth", "tflops", "sram"),
}


SHOWS_ALL = "traffic"  # the plate that uses every setting of a preset


def unseen(preset: presets.Preset, used: frozenset[str]) -> bool:
    """Whether a plate that uses the settings ``used`` shows nothing of what is special about a preset."""
    special = {name for name, value in preset.settings.items() if value != presets.DEFAULTS[name]}
    return bool(special) and not special & used


def _presets(words: dict[str, str], lang: str, used: frozenset[str], elsewhere: str) -> str:
    """The list of links; one that would change nothing here leads to a plate that shows it, and says so."""

    def item(preset: presets.Preset) -> str:
        values = {k: int(v) if isinstance(v, bool) else v for k, v in preset.settings.items()}
        title = html.escape(
            f"{text.phrase(preset.description, lang)} {text.phrase(preset.source, lang)}", quote=True
        )
        name, aside = html.escape(text.phrase(preset.name, lang)), ""
        if elsewhere and unseen(preset, used):
            values = {"plate": SHOWS_ALL, **values}
            aside = f" <small>{words['preset_elsewhere'].format(plate=html.escape(elsewhere))}</small>"
        return f'<li><a href="?{html.escape(urlencode(values))}" title="{title}">{name}{aside}</a></li>'

    return f"<h2>{words['presets']}</h2><ul>{''.join(item(p) for p in presets.PRESETS.values())}</ul>"


class Sidebar:
    """Builds each control once; ``show`` says which are visible.

    ``elsewhere`` is the name of the plate ``SHOWS_ALL``.
    """

    def __init__(
        self, settings: Settings, words: dict[str, str], on_reset: Callable[[], None], elsewhere: str
    ) -> None:
        self._settings, self._words, self._elsewhere = settings, words, elsewhere
        self._shown: frozenset[str] = frozenset()
        self._controls: dict[str, object] = {}
        for name in ("N", "d", "H", "B", "Br", "Bc", "sram", "bandwidth", "tflops"):
            symbol, _, meaning = words[f"control_{name}"].partition("|")
            self._controls[name] = NumberControl(
                settings, name, symbol, meaning, lang=settings.lang
            ).__panel__()
        gpus = {gpu.name: slug for slug, gpu in hardware.GPUS.items()}
        self._controls["gpu"] = choice(
            settings, "gpu", words["control_gpu"], {**gpus, words["custom_gpu"]: "custom"}
        )
        self._controls["dtype"] = choice(
            settings, "dtype", words["control_dtype"], {d: d for d in settings.param["dtype"].objects}
        )
        self._controls["causal"] = switch(settings, "causal", words["control_causal"])
        self._heads = {
            group: pn.pane.HTML(
                f"<h2>{words[f'group_{group}']}</h2>",
                margin=0,
                stylesheets=[
                    "h2{font:600 14px/1.2 var(--serif);color:var(--muted);margin:12px 0 4px;letter-spacing:.04em}"
                ],
            )
            for group in GROUPS
        }
        reset = pmui.Button(
            label=words["reset"], variant="outlined", size="small", margin=(10, 0), color="default"
        )
        reset.on_click(lambda _: on_reset())
        self._presets = pn.pane.HTML(
            "",
            margin=(10, 0, 0, 0),
            stylesheets=[
                ":host{font:14px/1.4 var(--sans);color:var(--muted)}h2{font:600 14px/1.2 var(--serif);margin:4px 0}"
                "ul{list-style:none;padding:0;margin:0}li{margin:5px 0}a{color:var(--ink);text-underline-offset:3px}"
                "a:focus-visible{outline:2px solid var(--focus);outline-offset:2px}"
            ],
        )
        items = []
        for group, names in GROUPS.items():
            items += [self._heads[group], *(self._controls[name] for name in names)]
        self.view = pn.Column(
            *items,
            reset,
            self._presets,
            stylesheets=[text.static("controls.css")],
            margin=0,
            sizing_mode="stretch_width",
        )
        settings.param.watch(lambda _: self._update(), "gpu")

    def show(self, names: frozenset[str]) -> None:
        """Show the controls in ``names``; hide the view if there are none."""
        self._shown = names
        self._presets.object = _presets(self._words, self._settings.lang, names, self._elsewhere)
        self._update()

    def _update(self) -> None:
        names = set(self._shown)
        if self._settings.gpu == "custom" and "gpu" in names:
            names |= {"bandwidth", "tflops"}
        with pn.io.hold():
            for name, control in self._controls.items():
                control.visible = name in names
            for group, members in GROUPS.items():
                self._heads[group].visible = bool(names & set(members))
