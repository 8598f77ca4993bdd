"""A phone or an old laptop: the browser draws more slowly than the server sends, and all must arrive."""

from __future__ import annotations

_SLOWER = 4  # times as slow as this machine


def test_every_part_of_a_plate_arrives(watched):
    """The server used to send part after part while the browser was at the first: it never showed the others."""
    page = watched.open()
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": _SLOWER})
    watched.follow("?plate=softmax")
    assert page.locator(".plate-softmax section.prose-sources").count() == 1, "the last part"
