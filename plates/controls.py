"""The controls of the sidebar: sliders over round values beside a box that takes any value in range."""

from __future__ import annotations

from collections.abc import Callable

import panel as pn
import panel_material_ui as pmui
import param
from panel.util import edit_readonly

from plates.agreement import Agreement
from plates.language import labels
from plates.links import whole
from plates.rail import STEP, Rail
from workshop import units

ROUND = {
    "N": [1, *(m << k for k in range(4, 20) for m in (2, 3)), 1 << 20],
    "d": [8, 16, 32, 40, 64, 80, 96, 128, 160, 192, 256],
    "H": [1, 2, 4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256],
    "B": [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    "Br": [1, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024],
    "Bc": [1, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 896, 1024],
    "sram": [
        1,
        4,
        8,
        16,
        24,
        32,
        48,
        64,
        80,
        96,
        100,
        112,
        128,
        144,
        164,
        192,
        228,
        256,
        320,
        384,
        512,
        768,
        1024,
    ],
    "bandwidth": [10, 20, 50, 100, 200, 500, 1000, 2000, 3000, 5000, 8000, 10000, 20000, 50000, 100000],
    "tflops": [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000],
}

_SIZE = "var(--control-size, 14px)"
_COARSE = "@media (pointer: coarse)"
_LABEL = f":host{{font:{_SIZE}/1.3 var(--sans);color:var(--muted)}}"
_SLIDER = {
    "& .MuiSlider-rail": {"backgroundColor": "var(--edge)", "opacity": 1, "height": "4px"},
    "& .MuiSlider-track": {"backgroundColor": "var(--ink)", "border": "none", "height": "4px"},
    "& .MuiSlider-mark": {"display": "none"},
    "& .MuiSlider-thumb": {
        "width": 17,
        "height": 17,
        "backgroundColor": "var(--paper)",
        "border": "2px solid var(--ink)",
        "boxShadow": "none",
        "&:before": {"boxShadow": "none"},
        "&.Mui-focusVisible, &:hover": {
            "boxShadow": "0 0 0 4px color-mix(in srgb, var(--focus) 35%, transparent)"
        },
    },
    "& .MuiFormLabel-root": {"display": "none"},
    "& .MuiTypography-root": {"display": "none"},
    # the rail is as long as the line of words and number above it
    "padding": "0 6px 0 0",
    "& .MuiSlider-root": {"padding": "10px 0 12px", "margin": 0, "width": "100%"},
}
_BOX = {
    "& .MuiInputBase-root": {"fontSize": _SIZE, "fontWeight": 600, "fontVariantNumeric": "tabular-nums"},
    "& .MuiInputBase-input": {"textAlign": "right", "padding": "2px 6px"},
    "& .MuiOutlinedInput-notchedOutline": {"borderColor": "transparent"},
    "& .MuiInputBase-root:hover .MuiOutlinedInput-notchedOutline": {"borderColor": "var(--edge)"},
    "& .MuiFormHelperText-root": {"margin": "2px 0 0", "textAlign": "right", "color": "var(--over)"},
    "& .MuiInputLabel-root": {  # read aloud, not shown: the symbol stands beside the box
        "position": "absolute",
        "width": 1,
        "height": 1,
        "overflow": "hidden",
        "clipPath": "inset(50%)",
        "transform": "none",
    },
    "& legend": {"display": "none"},
    "& fieldset": {"top": 0},
}


SELECT = {
    "& .MuiOutlinedInput-notchedOutline": {"borderColor": "var(--edge)"},
    # as large as the gap for it in the line above
    "& .MuiInputLabel-root": {"fontSize": "var(--control-size, 16px)"},
    _COARSE: {"& .MuiSelect-select": {"minHeight": "27px !important", "lineHeight": "27px"}},
}
_SWITCH = {
    "& .MuiSwitch-track": {"backgroundColor": "var(--edge)", "opacity": 1},
    _COARSE: {"minHeight": "44px"},
}
_BUTTON = {
    "&, & .MuiButton-root": {"color": "var(--ink)", "borderColor": "var(--edge)", "fontSize": _SIZE},
    "&:hover, & .MuiButton-root:hover": {"borderColor": "var(--ink)", "backgroundColor": "var(--panel)"},
    _COARSE: {"&, & .MuiButton-root": {"minHeight": "44px"}},
}


def _lay(slider: pmui.DiscreteSlider, rail: Rail, typed: Callable[[], int]) -> None:
    """Lay a slider on a rail: the browser sees its places, Python the numbers.

    (A subclass would be a type of its own, which the browser does not know.)

    The browser keeps the place that it named, between stops too, while a typed number is on the rail: a correction
    would cross its next keys. `NumberControl._forget_typed` puts the thumb right when both sides rest.
    """
    read, write = slider._process_property_change, slider._process_param_change
    named: int | None = None

    def from_browser(msg: dict) -> dict:
        nonlocal named
        found = read({name: value for name, value in msg.items() if name != "value"})
        if "value" in msg:
            named = int(msg["value"])
            found["value"] = rail.number(named, typed(), slider.value)
        return found

    def to_browser(msg: dict) -> dict:
        found = write(msg)
        if "options" in found:
            found["options"] = [units.count(number) for number in rail.numbers(typed())]
        if "value" in found:
            between = named is not None and typed() not in rail.stops
            stays = between and rail.number(named, typed(), slider.value) == msg["value"]
            found["value"] = named if stays else rail.place(msg["value"])
        return found

    slider._process_property_change, slider._process_param_change = from_browser, to_browser
    with edit_readonly(slider):
        slider.step = STEP


class NumberControl(pn.viewable.Viewer):
    """A slider over round values and a box for any value in range, both bound to one integer parameter.

    A typed value between the round ones is a stop of the slider while it is set, so that the thumb tells the truth, and
    until the thumb that left it rests. A bad entry changes nothing and says why. ``box`` is the width of the box in px.
    """

    def __init__(
        self,
        owner: param.Parameterized,
        name: str,
        symbol: str,
        meaning: str,
        values: list[int] | None = None,
        lang: str = "en",
        box: int = 118,
    ) -> None:
        super().__init__()
        self._words = labels("page", lang, "typing")
        self._owner, self._name = owner, name
        low, high = owner.param[name].bounds
        self._rail = Rail(sorted({low, high, *(v for v in values or ROUND[name] if low <= v <= high)}))
        self._typed = value = getattr(owner, name)
        spoken = self._words["named"].format(symbol=symbol, meaning=meaning)
        self._slider = pmui.DiscreteSlider(
            label=spoken,
            options=self._options(),
            value=value,
            show_value=False,
            sx=_SLIDER,
            size="small",
            margin=0,
            sizing_mode="stretch_width",
        )
        self._box = pmui.TextInput(
            label=self._words["label"].format(spoken=spoken),
            value=units.count(value),
            size="small",
            sx=_BOX,
            width=box,
            margin=0,
            align="center",
        )
        text = pn.pane.HTML(
            f'<span class="symbol">{symbol}</span> <span class="meaning">{meaning}</span>',
            margin=0,
            sizing_mode="stretch_width",
            align="center",
            stylesheets=[
                _LABEL + ":host{color:var(--ink)}.meaning{color:var(--muted)}.symbol{font-weight:600}"
            ],
        )
        self._view = pn.Column(
            pn.Row(text, self._box, sizing_mode="stretch_width", margin=0),
            self._slider,
            sizing_mode="stretch_width",
            margin=0,
            css_classes=[f"control-{name}"],
        )
        _lay(self._slider, self._rail, lambda: self._typed)
        self._agreement = Agreement(
            (self._slider, ("value",)), (self._box, ("value", "value_input")), first=self._forget_typed
        )
        self._slider.param.watch(self._on_slide, "value")
        self._box.param.watch(self._on_type, "value")
        owner.param.watch(self._on_owner, name)

    def __panel__(self) -> pn.Column:
        return self._view

    def _options(self) -> dict[str, int]:
        return {units.count(v): v for v in sorted({*self._rail.stops, self._typed})}

    def _on_slide(self, event: param.parameterized.Event) -> None:
        if event.new is not None and event.new != getattr(self._owner, self._name):
            if event.new != self._typed and self._typed not in self._rail.stops:
                self._agreement.open()
            self._agreement.heard()
            setattr(self._owner, self._name, event.new)

    def _forget_typed(self) -> None:
        """Take a typed number that the thumb has left off the rail. Only while both sides rest: keys count from it.

        What the browser has said and Panel holds back for a moment is not overwritten: then it waits once more.
        """
        if self._slider._events:
            return self._agreement.open()
        if self._typed != self._slider.value:
            self._typed = self._slider.value
            self._slider.options = self._options()
        for model, _ in self._slider._models.values():
            model.data.value = self._rail.place(self._slider.value)

    def _on_type(self, event: param.parameterized.Event) -> None:
        now = getattr(self._owner, self._name)
        if event.new == units.count(now):
            return
        self._agreement.heard()
        spec = self._owner.param[self._name]
        value, fault = whole(spec, event.new.strip())
        low, high = (units.count(bound) for bound in spec.bounds)
        note = fault and self._words[fault].format(low=low, high=high, value=units.count(value or 0))
        if value is not None and value != now:
            setattr(self._owner, self._name, value)
        self._box.param.update(
            value=units.count(getattr(self._owner, self._name)),
            helper_text=note or "",
            error_state=value is None,
        )

    def _on_owner(self, event: param.parameterized.Event) -> None:
        with pn.io.hold():
            if self._slider.value != event.new:
                self._agreement.told()
                self._typed = event.new
                self._slider.param.update(options=self._options(), value=event.new)
            shown = units.count(event.new)
            if self._box.value != shown or self._box.helper_text:
                self._box.param.update(value=shown, helper_text="", error_state=False)


def choice(
    owner: param.Parameterized, name: str, label: str, options: dict[str, str], width: int | None = None
) -> pmui.Select:
    """Return a select for a Selector parameter; ``options`` maps what the reader sees to the value."""
    size = {"width": width} if width else {"sizing_mode": "stretch_width"}
    select = pmui.Select(
        label=label,
        options=options,
        value=getattr(owner, name),
        size="small",
        margin=(6, 0, 8, 0),
        sx=SELECT,
        **size,
    )
    return _bound(select, owner, name)


def switch(owner: param.Parameterized, name: str, label: str) -> pmui.Switch:
    """Return a switch for a Boolean parameter."""
    return _bound(
        pmui.Switch(label=label, value=getattr(owner, name), size="small", margin=(2, 0), sx=_SWITCH),
        owner,
        name,
    )


def button(label: str, **params) -> pmui.Button:
    """Return a button in the page's own ink."""
    return pmui.Button(label=label, variant="outlined", size="small", color="default", sx=_BUTTON, **params)


def toggles(owner: param.Parameterized, name: str, label: str, options: dict[str, str]) -> pn.FlexBox:
    """Return buttons that switch the members of a ListSelector on and off, with their label before them."""
    buttons = pmui.CheckButtonGroup(
        label="", options=options, value=list(getattr(owner, name)), size="small", margin=0, sx=_BUTTONS
    )
    return _labelled(_bound(buttons, owner, name, list), label)


def options(
    owner: param.Parameterized, name: str, label: str, options: dict[str, str], width: int | None = None
) -> pn.viewable.Viewable:
    """Return buttons that pick one value of a Selector, with their label before them.

    ``width`` in px is for a row of several controls; a narrower page narrows them.
    """
    buttons = pmui.RadioButtonGroup(
        label="", options=options, value=getattr(owner, name), size="small", margin=0, sx=_BUTTONS
    )
    row = _labelled(_bound(buttons, owner, name), label)
    if width is None:
        return row
    # of the window, less the page's margins: Panel's own width is a least width too, and in a FlexBox 100 % would
    # be of the box that this width itself makes
    return pn.Column(row, styles={"width": f"min({width}px, 100vw - 32px)"}, margin=0)


_BUTTONS = {
    "& .MuiToggleButton-root, & .MuiButton-root": {
        "whiteSpace": "nowrap",
        "color": "var(--muted)",
        "backgroundColor": "transparent",
        "borderColor": "var(--edge)",
        "padding": "4px 12px",
        "fontSize": "var(--control-size, 13px)",
        "fontWeight": 500,
        "width": "auto",  # a group of one choice would give every button a line of its own
    },
    "& .MuiToggleButton-root.Mui-selected, & .MuiButton-contained": {
        "color": "var(--ink) !important",
        "backgroundColor": "var(--panel) !important",
        "borderColor": "var(--ink)",
        "fontWeight": 650,
    },
    _COARSE: {"& .MuiToggleButton-root, & .MuiButton-root": {"minHeight": "44px"}},
    "&.MuiToggleButtonGroup-root, &.MuiButtonGroup-root": {"flexWrap": "wrap"},
    "& .MuiToggleButtonGroup-root, & .MuiButtonGroup-root": {"flexWrap": "wrap"},
}


def side_by_side(*items: NumberControl) -> pn.Column:
    """Return four controls in a row, in two rows of two, or one below the other, as the page is wide."""
    return pn.Column(*items, sizing_mode="stretch_width", margin=(4, 0, 8, 0), stylesheets=[_SIDE_BY_SIDE])


_SIDE_BY_SIDE = """
:host { display: grid !important; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 0 30px; }
@media (max-width: 1249px) { :host { grid-template-columns: repeat(2, minmax(0, 1fr)); } }
@media (max-width: 640px) { :host { grid-template-columns: minmax(0, 1fr); } }
"""


def _labelled(widget, label: str) -> pn.FlexBox:
    text = pn.pane.HTML(
        label,
        margin=0,
        stylesheets=[_LABEL],
    )
    return pn.FlexBox(text, widget, align_items="center", gap="4px 12px", margin=(2, 0, 6, 0))


def _bound(widget, owner: param.Parameterized, name: str, convert: Callable = lambda value: value):
    agreement = Agreement((widget, ("value",)))

    def to_owner(event) -> None:
        if event.new != getattr(owner, name):
            agreement.heard()
            setattr(owner, name, convert(event.new))

    def to_widget(event) -> None:
        if event.new != widget.value:
            agreement.told()
            widget.value = event.new

    widget.param.watch(to_owner, "value")
    owner.param.watch(to_widget, name)
    return widget
