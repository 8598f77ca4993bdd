"""The controls beside the plate: only those that change what it shows, in three groups, with presets and Reset."""

from __future__ import annotations

import html
from collections.abc import Callable
from urllib.parse import urlencode

import panel as pn

from plates import text
from plates.controls import NumberControl, button, choice, switch
from plates.settings import CUSTOM_GPU, Settings
from workshop import hardware, presets

GROUPS = {
    "problem": ("N", "d", "H", "B", "dtype", "causal"),
    "tile": ("Br", "Bc"),
    "chip": ("gpu", "bandwidth", "tflops", "sram"),
}


_OFFERED = frozenset(name for members in GROUPS.values() for name in members)
SHOWS_ALL = "traffic"  # the plate that uses every setting of a preset


def special(preset: presets.Preset) -> frozenset[str]:
    """What a preset sets apart: what differs from the defaults, or everything where nothing does."""
    values = dict(preset.settings)
    found = {name for name, value in values.items() if value != presets.DEFAULTS[name]} or set(values)
    return frozenset(found | ({"model"} if preset.model else set()))


def unseen(preset: presets.Preset, used: frozenset[str]) -> bool:
    """Whether a plate that uses the settings ``used`` shows nothing of what is special about a preset."""
    return not special(preset) & used


def _presets(words: dict[str, str], lang: str, used: frozenset[str], elsewhere: str) -> str:
    """The list of links. Each says which of its settings take effect here, in sight where they are the smaller part;
    one that would change nothing here leads to a plate that shows it.
    """

    def item(preset: presets.Preset) -> str:
        values = {k: int(v) if isinstance(v, bool) else v for k, v in preset.settings.items()}
        if preset.model and "model" in used:
            values["model"] = preset.model
        apart = special(preset)
        acts = ", ".join(words[f"control_{n}"].partition("|")[0] for n in values if n in apart & used)
        name, aside = html.escape(text.phrase(preset.name, lang)), ""
        said = [text.phrase(preset.description, lang), text.phrase(preset.source, lang)]
        if elsewhere and unseen(preset, used):
            values = {"plate": SHOWS_ALL, **values}
            aside = words["preset_elsewhere"].format(plate=html.escape(elsewhere))
        else:
            here = words["preset_here"].format(names=acts)
            said.append(here)
            aside = here if 2 * len(apart & used) < len(apart) else ""
        title = html.escape(" ".join(said), quote=True)
        aside = f" <small>{aside}</small>" if aside else ""
        return f'<li><a href="?{html.escape(urlencode(values))}" title="{title}">{name}{aside}</a></li>'

    return f"<h2>{words['presets']}</h2><ul>{''.join(item(p) for p in presets.PRESETS.values())}</ul>"


class Sidebar:
    """Builds each control once, when it is first shown; ``show`` says which are visible.

    ``elsewhere`` is the name of the plate ``SHOWS_ALL``.
    """

    def __init__(
        self, settings: Settings, words: dict[str, str], on_reset: Callable[[], None], elsewhere: str
    ) -> None:
        self._settings, self._words, self._elsewhere = settings, words, elsewhere
        self._shown: frozenset[str] = frozenset()
        self._controls: dict[str, pn.viewable.Viewable] = {}
        self._heads = {
            group: pn.pane.HTML(
                f"<h2>{words[f'group_{group}']}</h2>",
                margin=0,
                stylesheets=[
                    "h2{font:600 var(--control-size,14px)/1.2 var(--serif);color:var(--muted);margin:12px 0 4px;"
                    "letter-spacing:.04em}"
                    "p{font:var(--control-size,13px)/1.35 var(--sans);color:var(--muted);margin:0 0 4px}"
                ],
            )
            for group in GROUPS
        }
        reset = button(words["reset"], margin=(10, 0))
        reset.on_click(lambda _: on_reset())
        self._presets = pn.pane.HTML(
            "",
            margin=(10, 0, 0, 0),
            stylesheets=[
                ":host{display:var(--others,block);font:var(--control-size,14px)/1.4 var(--sans);color:var(--muted)}"
                "h2{font:600 var(--control-size,14px)/1.2 var(--serif);margin:4px 0}"
                "@media(pointer:coarse){li a{display:block;padding:10px 0}}"
                "ul{list-style:none;padding:0;margin:0}li{margin:5px 0}a{color:var(--ink);text-underline-offset:3px}"
                "a:focus-visible{outline:2px solid var(--focus);outline-offset:2px}"
            ],
        )
        # on a narrow screen the controls are a sheet over the page, which the bar opens and this closes
        head = pn.pane.HTML(
            f'<h2>{words["controls"]}</h2><button type="button" data-act="close-controls" '
            f'aria-label="{words["close_controls"]}">×</button>',
            margin=0,
            css_classes=["sheet-head"],
            sizing_mode="stretch_width",
            stylesheets=[text.static("sheet_head.css")],
        )
        self._top, self._bottom = [head], [reset, self._presets]
        self.view = pn.Column(
            *self._top,
            *self._bottom,
            stylesheets=[text.static("controls.css")],
            margin=0,
            sizing_mode="stretch_width",
        )
        settings.param.watch(lambda _: self._update(), "gpu")

    def show(self, names: frozenset[str], waits: str = "") -> None:
        """Show the controls in ``names``; hide the view if there are none. ``waits`` says what the tile acts on."""
        self._shown = names
        self._presets.object = _presets(self._words, self._settings.lang, names, self._elsewhere)
        note = f"<p>{waits}</p>" if waits else ""
        self._heads["tile"].object = f"<h2>{self._words['group_tile']}</h2>{note}"
        self._update()

    def _update(self) -> None:
        names = self._shown & _OFFERED - set(CUSTOM_GPU)
        if self._settings.gpu == "custom" and "gpu" in names:
            names |= set(CUSTOM_GPU)
        with pn.io.hold():
            if new := names - set(self._controls):
                self._controls.update({name: self._control(name) for name in new})
                self.view.objects = [*self._top, *self._in_order(), *self._bottom]
            for name, control in self._controls.items():
                control.visible = name in names
            for group, members in GROUPS.items():
                self._heads[group].visible = bool(names & set(members))

    def _in_order(self) -> list[pn.viewable.Viewable]:
        found = []
        for group, members in GROUPS.items():
            found += [
                self._heads[group],
                *(self._controls[name] for name in members if name in self._controls),
            ]
        return found

    def _control(self, name: str) -> pn.viewable.Viewable:
        settings, words = self._settings, self._words
        label = words[f"control_{name}"]
        if name == "gpu":
            known = {gpu.name: slug for slug, gpu in hardware.GPUS.items()}
            return choice(settings, name, label, {**known, words["custom_gpu"]: "custom"})
        if name == "dtype":
            return choice(settings, name, label, {d: d for d in settings.param["dtype"].objects})
        if name == "causal":
            return switch(settings, name, label)
        symbol, _, meaning = label.partition("|")
        return NumberControl(settings, name, symbol, meaning, lang=settings.lang).__panel__()
