"""Where a recorded figure is from, in words: the machine, versions, day and commit, the method, and what differs."""

from __future__ import annotations

import html
from collections.abc import Mapping
from functools import lru_cache

from plates.language import Labels
from workshop import recordings, units
from workshop.recordings import Recording
from workshop.recordings.evidence import Evidence

NAME = "h200"  # the recording that the pages show


@lru_cache(maxsize=1)
def evidence() -> Evidence | None:
    """The shipped recording with its counters worked out, or None where no recording is shipped."""
    return Evidence(recordings.load(NAME)) if NAME in recordings.available() else None


def line(recording: Recording, metrics: tuple[str, ...], words: Labels) -> str:
    """The provenance under a recorded figure as HTML: a line, and the methods of ``metrics`` folded away.

    ``recording``: only the rows that the figure shows, so that its days and commits are theirs.
    """
    if not recording.rows:
        return f'<p class="from">{words["from_none"]}</p>'
    items = "".join(
        f"<li><b>{metric}</b>: {html.escape(words.said(recording.method(metric)))}</li>"
        for metric in metrics
        if recording.method(metric)
    )
    how = f"<details><summary>{words['from_method']}</summary><ul>{items}</ul></details>" if items else ""
    return (
        f'<div class="from"><p>{words["from"]} {html.escape(words.said(recording.source()))}</p>{how}</div>'
    )


def shown(name: str, value: object, words: Labels) -> str:
    """A column's value as readers see it."""
    if name == "causal":
        return words["mask_on" if value else "mask_off"]
    symbol = {"heads": "H"}.get(name, name)
    return f"{symbol} = {units.count(value) if isinstance(value, int) else value}"


def nearest_note(differences: Mapping[str, tuple], words: Labels) -> str:
    """What a recorded shape has in place of the reader's settings, as a sentence; "" where they are the same.

    ``differences``: {column: (recorded, wanted)}.
    """
    if not differences:
        return words["same_shape"]
    pairs = [
        words["instead"].format(got=shown(name, got, words), asked=shown(name, asked, words))
        for name, (got, asked) in differences.items()
    ]
    return words["other_shape"].format(pairs=words.listed(pairs, "clauses"))
