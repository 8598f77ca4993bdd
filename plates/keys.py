"""The keys of the page as a whole: scrolling before anything is clicked, and the remote of a presenter."""

from __future__ import annotations

from panel.custom import JSComponent

from plates.text import STATIC


class Keys(JSComponent):
    """Draws nothing: hears keys that no control has taken."""

    _esm = STATIC / "keys.js"
