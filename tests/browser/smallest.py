"""The smallest Panel page with one slider and one figure: what `bench_latency.py` compares the atlas with."""

import panel as pn
import panel_material_ui as pmui
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure

slider = pmui.IntSlider(label="n", start=0, end=100, value=50)
source = ColumnDataSource({"x": list(range(140)), "y": [50 * i for i in range(140)]})
fig = figure(height=420, sizing_mode="stretch_width")
fig.line("x", "y", source=source)
readout = pn.pane.HTML('<b data-readout="n" data-value="50">50</b>')


def _on_slide(event) -> None:
    with pn.io.hold():
        readout.object = f'<b data-readout="n" data-value="{event.new}">{event.new}</b>'
        source.data = {"x": list(range(140)), "y": [event.new * i for i in range(140)]}


slider.param.watch(_on_slide, "value")
pn.Column(slider, readout, fig, sizing_mode="stretch_width").servable()
