"""Links that name every shared setting: a page turned to one by Back shows what a fresh page shows."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from plates.links import text_of
from plates.settings import CUSTOM_GPU, SHARED, Settings


def whole(query: str) -> str:
    """Return ``query`` with the default of every shared setting that it leaves out. Back resets all the others."""
    defaults = {name: text_of(Settings.param[name].default) for name in (*SHARED, *CUSTOM_GPU)}
    return "?" + urlencode(defaults | dict(parse_qsl(query.removeprefix("?"), keep_blank_values=True)))
