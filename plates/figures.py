"""Figures in the atlas's look: built once, round ticks in words, colours by role, recoloured with the theme."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
from bokeh.models import CustomJS, CustomJSTickFormatter, FixedTicker, HoverTool, Label, Model, Range1d, Title
from bokeh.plotting import figure
from bokeh.themes import Theme

from plates.theme import PALETTES, SANS

_STATIC = Path(__file__).parent.parent / "static"
_LABELS_JS = (_STATIC / "labels.js").read_text(encoding="utf-8")
_TICKS_JS = (_STATIC / "ticks.js").read_text(encoding="utf-8")
# The page's own theme restyles every figure that arrives in the browser, except the kinds of models that the
# document's theme names: what figures look like is said here.
THEME = Theme(
    json={"attrs": {"Axis": {"axis_label_standoff": 12}, "Grid": {}, "Title": {}, "Plot": {}, "Figure": {}}}
)
FONT = SANS.replace('"', "'")
BIG, SMALL = 15, 13  # px: direct labels, axes
_MOVES = (
    "x",
    "y",
    "text",
    "visible",
    "text_align",
    "text_baseline",
    "text_font_size",
    "x_offset",
    "y_offset",
)
PROJECTOR = 1.4  # how much larger texts in figures are while presenting


class Themed:
    """Remembers which colour property of which model plays which role, and sets them all for a theme."""

    def __init__(self, theme: str) -> None:
        self.theme = theme
        self._roles: list[tuple[Model, str, str]] = []
        self._sizes: list[tuple[Model, str, float]] = []
        self._heights: list[tuple[Model, int]] = []
        self._factor = 1.0

    @property
    def palette(self) -> dict[str, str]:
        """Role -> colour of the current theme."""
        return PALETTES[self.theme]

    def colour(self, model: Model, **roles: str) -> Model:
        """Give properties of ``model`` the colour of a role, e.g. ``line_color="standard"``; returns the model."""
        for name, role in roles.items():
            self._roles.append((model, name, role))
            setattr(model, name, self.palette[role])
        return model

    def size(self, model: Model, **sizes: float) -> Model:
        """Give text sizes of ``model`` in px, e.g. ``text_font_size=15``, which grow while presenting; returns it."""
        for name, px in sizes.items():
            self._sizes.append((model, name, px))
            setattr(model, name, f"{px * self._factor:g}px")
        return model

    def height(self, fig: Model, px: int) -> None:
        """Give ``fig`` a height in px that grows with its texts while presenting."""
        self._heights.append((fig, px))
        fig.height = round(px * self._factor)

    def present(self, on: bool) -> None:
        """Enlarge all texts for a projector, or set them back."""
        self._factor = PROJECTOR if on else 1.0
        for fig, px in self._heights:
            fig.height = round(px * self._factor)
        for model, name, px in self._sizes:
            setattr(model, name, f"{px * self._factor:g}px")

    def apply(self, theme: str) -> None:
        """Recolour everything for ``theme``."""
        self.theme = theme
        for model, name, role in self._roles:
            setattr(model, name, self.palette[role])


def round_text(formatter: Callable[[float], str]) -> Callable[[float], str]:
    """Return ``formatter`` without idle zeros: a tick says "10 MB", not "10.0 MB"."""
    return lambda value: re.sub(r"(\.\d*?)0+(?=\D|$)", lambda m: m[1].rstrip("."), formatter(value))


def log_ticks(low: float, high: float, base: int = 10, most: int = 8) -> list[float]:
    """Return round powers of ``base`` within [low, high], thinned to at most ``most``."""
    if not (0 < low < high):
        raise ValueError(f"log_ticks: expected 0 < low < high, got {low} and {high}")
    first = int(np.ceil(np.log(low) / np.log(base) - 1e-9))
    last = int(np.floor(np.log(high) / np.log(base) + 1e-9))
    every = max(1, int(np.ceil((last - first + 1) / most)))
    return [float(base) ** k for k in range(first, last + 1) if (k - first) % every == 0]


#: Round times beyond the decades of a second, in the units that `units.seconds` writes them in: 20 min, 4 h, 2 d.
_LONG = (1200.0, 14400.0, *(172800.0 * 10**k for k in range(12)))


def time_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Return times in s within [low, high], about a decade apart and round as they are read, at most ``most``."""
    if not (0 < low < high):
        raise ValueError(f"time_ticks: expected 0 < low < high, got {low} and {high}")
    found = [v for v in log_ticks(low, high, most=100) if v <= 100] if low <= 100 else []
    found += [v for v in _LONG if low <= v <= high]
    return found[:: max(1, -(-len(found) // most))]


def first_shown(first: float, N: float) -> float:
    """Return where an axis of N begins: at ``first``, or before it where the dot of the reader's N would be cut."""
    return first / 1.25 if first * 1.25 > N else first


def chart(
    themed: Themed,
    *,
    x: tuple[float, float],
    y: tuple[float, float],
    x_label: str,
    y_label: str = "",
    x_log: bool = False,
    y_log: bool = False,
    height: int = 420,
    **options,
):
    """Return an empty figure with fixed ranges, a quiet grid and no toolbar.

    Parameters
    ----------
    x, y: ranges (low, high); positive on a log axis.
    x_label, y_label: what the axis measures, with its unit.
    """
    for name, (low, high), log in (("x", x, x_log), ("y", y, y_log)):
        if not low < high or (log and low <= 0):
            raise ValueError(
                f"chart: expected a rising {'positive ' if log else ''}range for {name}, got {(low, high)}"
            )
    fig = figure(
        x_range=Range1d(*x),
        y_range=Range1d(*y),
        x_axis_type="log" if x_log else "linear",
        y_axis_type="log" if y_log else "linear",
        sizing_mode="stretch_width",
        toolbar_location=None,
        tools="",
        lod_threshold=None,
        **{"min_border_right": 16, "min_border_left": 58, **options},
    )
    themed.height(fig, height)
    colour = themed.colour
    colour(fig, background_fill_color="paper", border_fill_color="paper")
    fig.outline_line_color = None
    for axis, label in ((fig.xaxis[0], x_label), (fig.yaxis[0], y_label)):
        axis.axis_label = label
        axis.axis_label_text_font = axis.major_label_text_font = FONT
        axis.axis_label_text_font_style = "normal"
        themed.size(axis, axis_label_text_font_size=SMALL, major_label_text_font_size=SMALL)
        axis.minor_tick_line_color = axis.major_tick_line_color = None
        axis.axis_line_color = None
        colour(axis, axis_label_text_color="muted", major_label_text_color="muted")
    fig.xaxis[0]._plot = fig  # texts of an x axis thin out where it is narrow
    for grid in fig.grid:
        grid.level = "underlay"
        grid.minor_grid_line_color = None
        colour(grid, grid_line_color="grid")
    fig._fit = CustomJS(args={"fig": fig, "x_log": x_log, "y_log": y_log, "last": 0}, code=_LABELS_JS)
    for name in ("inner_width", "inner_height"):
        fig.js_on_change(name, fig._fit)
    for span in (fig.x_range, fig.y_range):
        span.js_on_change("start", fig._fit)
        span.js_on_change("end", fig._fit)
    return fig


def ticks(axis, values: Iterable[float], texts: Callable[[float], str] | Iterable[str]) -> None:
    """Put ``texts`` at ``values`` on ``axis``; ``texts`` may be a function of the value. May be called again."""
    values = [float(v) for v in values]
    shown = [texts(v) for v in values] if callable(texts) else list(texts)
    if len(shown) != len(values):
        raise ValueError(f"ticks: expected {len(values)} texts, got {len(shown)}")
    # not in the arguments of the formatter: they name models, and Bokeh would collect all of the page anew at a change
    axis.tags = shown
    if isinstance(axis.formatter, CustomJSTickFormatter):
        axis.ticker.ticks = values
        return
    fig = getattr(axis, "_plot", None)
    args = {"fig": fig, "axis": axis, "log": False, "room": 0}
    if fig is not None:
        args |= {"log": fig._fit.args["x_log"], "room": fig.min_border_right}
    axis.ticker = FixedTicker(ticks=values, minor_ticks=[])
    axis.formatter = CustomJSTickFormatter(args=args, code=_TICKS_JS)


def label(
    themed: Themed, fig, text: str, role: str, *, x: float = 0, y: float = 0, bold: bool = False, **options
) -> Label:
    """Add a direct label at data position (x, y) in the colour of ``role``; returns it to be moved and reworded.

    It stands on a patch of paper, so that no line crosses it, and the browser keeps it inside the frame.
    """
    px = float(str(options.pop("text_font_size", BIG)).removesuffix("px"))
    options = {"background_fill_alpha": 0.85, "padding": 1, **options}
    item = Label(x=x, y=y, text=text, text_font=FONT, text_font_style="bold" if bold else "normal", **options)
    themed.size(item, text_font_size=px)
    themed.colour(item, text_color=role, background_fill_color="paper")
    fig.add_layout(item)
    for name in _MOVES:
        item.js_on_change(name, fig._fit)
    return item


def heading(themed: Themed, fig, text: str) -> None:
    """Put a title over the frame."""
    fig.title = Title(text=text, text_font=FONT, align="left")
    themed.size(fig.title, text_font_size=BIG)
    themed.colour(fig.title, text_color="ink")


def legend(themed: Themed, fig, entries: Iterable[tuple[str, str]]) -> list[Title]:
    """Put one line for each (text, role) above the frame, where no point can lie; returns them to be reworded."""
    made = []
    for text, role in reversed(list(entries)):
        item = Title(text=text, text_font=FONT, text_font_style="bold", align="left", standoff=2)
        themed.size(item, text_font_size=SMALL + 1)
        themed.colour(item, text_color=role)
        fig.add_layout(item, "above")
        made.append(item)
    return made[::-1]


def hover(fig, renderers, tooltips, **options) -> HoverTool:
    """Add a hover tool that tells ``tooltips`` (HTML or pairs) on ``renderers``."""
    tool = HoverTool(renderers=list(renderers), tooltips=tooltips, **options)
    fig.add_tools(tool)
    return tool


def label_zone(fig, last: float, labels: Iterable[Label]) -> None:
    """Keep the frame right of ``last`` free for ``labels``, the names at the ends of the curves (log axis).

    As wide as the longest of them at any width and text size; the browser also keeps them apart.
    """
    fig.x_range.end = last * (last / fig.x_range.start) ** 0.15
    for grid in fig.ygrid:
        grid.cross_bounds = (1, last)
    for item in labels:
        item.tags = ["end"]
    fig._fit.args = {**fig._fit.args, "last": float(last)}


def spread(values: Iterable[float], gap: float) -> list[float]:
    """Return ``values`` moved apart to at least ``gap``, in place order kept, with the least shift from above.

    For direct labels at line ends: the values are positions (decades on a log axis), the gap a label's height.
    """
    values = list(values)
    order = sorted(range(len(values)), key=values.__getitem__)
    groups: list[list[int]] = []
    centres: list[float] = []
    for i in order:
        groups.append([i])
        centres.append(values[i])
        while len(groups) > 1:
            above, below = groups[-1], groups[-2]
            if centres[-1] - centres[-2] >= gap * (len(above) + len(below)) / 2:
                break
            merged = below + above
            groups[-2:] = [merged]
            centres[-2:] = [sum(values[k] for k in merged) / len(merged)]
    placed = [0.0] * len(values)
    for group, centre in zip(groups, centres, strict=True):
        for k, i in enumerate(group):
            placed[i] = centre + gap * (k - (len(group) - 1) / 2)
    return placed
