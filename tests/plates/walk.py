"""Walks every plate through both ends of every control, in pairs, and looks at all that it shows."""

from __future__ import annotations

import math
import re
from urllib.parse import parse_qsl, urlencode

import numpy as np
import panel as pn
import param
from allpairspy import AllPairs
from bokeh.document import Document
from bokeh.models import ColumnDataSource

from plates.links import text_of
from plates.registry import PLATES
from plates.settings import CUSTOM_GPU, SHARED, Settings
from plates.shell import Atlas


def ends(owner: param.Parameterized, name: str) -> list:
    """Return the values at both ends of a control."""
    spec = owner.param[name]
    if isinstance(spec, param.Boolean):
        return [False, True]
    if isinstance(spec, param.ListSelector):
        return [[], list(spec.objects)]
    if isinstance(spec, param.Selector):
        return [spec.objects[0], spec.objects[-1]]
    if isinstance(spec, param.Integer | param.Number):
        return list(spec.bounds)
    return [getattr(owner, name)]


def open_plate(slug: str, query: str = "") -> Atlas:
    """Return a page that shows the plate ``slug``."""
    return Atlas(PLATES, f"?plate={slug}{query}")


def pass_time(doc: Document) -> None:
    """Let the time pass until everything that waits in a served page is due."""
    for waiting in list(doc.session_callbacks):
        doc.remove_timeout_callback(waiting)
        waiting.callback()


def rest(doc: Document) -> None:
    """Let the reader of a served page rest until nothing waits."""
    while doc.session_callbacks:
        pass_time(doc)


def turn(atlas: Atlas, query: str = "") -> Atlas:
    """Turn a page to what a fresh one of its plate shows at ``query``; returns the page.

    It goes there as Back does, which resets what a link leaves out, but for the shared settings: those are all named.
    """
    defaults = {name: text_of(Settings.param[name].default) for name in (*SHARED, *CUSTOM_GPU)}
    asked = dict(parse_qsl(query, keep_blank_values=True))
    atlas._on_search("back", "?" + urlencode({"plate": atlas.settings.plate} | defaults | asked))
    return atlas


def complaints(atlas: Atlas) -> list[str]:
    """Return what is wrong with the numbers now on show: NaN, inf, None, or a negative readout."""
    plate = atlas.plates[atlas.settings.plate]
    found = []
    for pane in plate.view().select(pn.pane.HTML):
        for name, raw, shown in re.findall(
            r'data-readout="([^"]+)" data-value="([^"]*)"[^>]*>([^<]*)<', pane.object
        ):
            try:
                number = float(raw)
            except ValueError:
                number = 0.0
                if raw in ("", "None"):
                    found.append(f"{name}: value {raw!r}")
            if not math.isfinite(number) or number < 0 or not shown.strip():
                found.append(f"{name}: {raw!r} shown as {shown!r}")
    for pane in plate.view().select(pn.pane.Bokeh):
        for source in pane.object.select({"type": ColumnDataSource}):
            for column, values in source.data.items():
                array = np.asarray(values)
                if array.dtype.kind == "f" and not np.isfinite(array).all():
                    found.append(f"{pane.object.name or 'figure'}: {column} holds NaN or inf")
        for axis in (pane.object.x_range, pane.object.y_range):
            start, end = getattr(axis, "start", 0), getattr(axis, "end", 1)
            if not (np.isfinite(start) and np.isfinite(end) and start != end):
                found.append(f"an axis runs from {start} to {end}")
    return found


def pairs(atlas: Atlas):
    """Yield settings of all controls of a plate. In all of them together, each end and the default of a control meets
    each end and the default of every other (pairwise testing)."""
    plate = atlas.plates[atlas.settings.plate]
    controls = [(atlas.settings, n) for n in (*SHARED, *CUSTOM_GPU) if n in plate.uses or n in CUSTOM_GPU]
    if plate.local is not None:
        controls += [(plate.local, n) for n in plate.local_keys]
    levels = [[*ends(owner, name), owner.param[name].default] for owner, name in controls]
    for row in AllPairs([range(len(values)) for values in levels]):
        yield {control: values[k] for control, values, k in zip(controls, levels, row, strict=True)}


def put(change: dict) -> None:
    """Make the settings of ``change``, of each owner in one step."""
    for owner in {owner for owner, _ in change}:
        owner.param.update({name: value for (of, name), value in change.items() if of is owner})
