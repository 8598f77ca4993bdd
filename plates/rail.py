"""The places on the rail of a slider. A place means the same number whatever is typed meanwhile.

The browser names a stop by its place. If a typed number pushed the stops above it along, a place on its way while the
number came or went would be off by one, and so would the thumb. So there is a place between any two stops from the
start, for the number that may be typed between them; the stops are the even places and the slider steps by two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

STEP = 2


class Rail:
    """The places of round ``stops``, rising, and of at most one typed number between two of them."""

    def __init__(self, stops: Sequence[int]) -> None:
        self.stops = list(stops)
        self.places = STEP * len(self.stops) - 1

    def place(self, value: int) -> int:
        """Return the place of a stop, or of the number between its two neighbours."""
        at = bisect_left(self.stops, value)
        if at < len(self.stops) and self.stops[at] == value:
            return STEP * at
        return min(max(STEP * at - 1, 0), self.places - 1)

    def number(self, place: int, typed: int, now: int) -> int:
        """Return what a reader means by ``place`` while ``typed`` is on the rail and ``now`` is set.

        Keys step by two from a typed number too, and so come to rest between stops: the stop next to it on the side of
        the typed number is meant, or, where that has just gone, on the side of the one now set.
        """
        place = min(max(place, 0), self.places - 1)
        start = self.place(typed)
        if place % STEP and place == start:
            return typed
        if start % STEP == 0:
            start = self.place(now)
        return self.stops[place // STEP + (1 if place % STEP and place < start else 0)]

    def numbers(self, typed: int) -> list[int]:
        """Return what each place shows; between stops, what keys coming from ``typed`` mean."""
        return [self.number(place, typed, typed) for place in range(self.places)]
