"""FlashAttention atlas: ``panel serve app.py``. Composes the plates into one page."""

from urllib.parse import urlencode

import panel as pn

from plates import figures, text
from plates.registry import PLATES
from plates.shell import Atlas
from plates.turns import take_turns

pn.extension(notifications=True)


def query() -> str:
    """Return the query of the page's request."""
    pairs = [
        (key, value.decode("utf-8", "replace"))
        for key, values in pn.state.session_args.items()
        for value in values
    ]
    return urlencode(pairs)


take_turns(pn.state.curdoc)
atlas = Atlas(PLATES, query())
pn.config.disconnect_notification = text.sections("page", atlas.settings.lang)["lost"]
pn.state.curdoc.theme = figures.THEME
# The page has its own owner of the address. Panel's would parse the query too, and fails on "?N=²" or "?a=b?c".
atlas.page.servable(location=False)
