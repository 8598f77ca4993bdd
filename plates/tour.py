"""The guided tours: which plates they visit, how long each stop takes, and the strip that says what to do there.

A tour is the minutes of the plates: a plate that has none on it is no stop. What a presenter says and does at a stop
is a section of ``prose/tour.md``, named after the tour and the plate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from urllib.parse import urlencode

from plates import links, text
from plates.plate import Plate
from plates.settings import SHARED, Settings

TOURS = ("10", "45")  # minutes, which is also their name in the address
_INDEX = {"45": 0, "10": 1}  # of Plate.minutes
_SECTION = {"45": "lesson", "10": "short"}  # how the sections of its stops begin


@dataclass(frozen=True)
class Tour:
    """One tour through ``plates``. ``name`` is the key in the address; ``called`` says a plate's name."""

    name: str
    plates: Sequence[type[Plate]]
    lang: str
    called: Callable[[type[Plate]], str]

    def minutes(self, plate: type[Plate]) -> int:
        """How long the tour stays on a plate; 0 where it does not stop."""
        return plate.minutes[_INDEX[self.name]]

    @property
    def stops(self) -> list[type[Plate]]:
        """The plates that the tour visits, in reading order."""
        return [plate for plate in self.plates if self.minutes(plate)]

    def around(self, slug: str) -> tuple[type[Plate] | None, type[Plate] | None]:
        """The stops before and after a plate, which need not be a stop itself."""
        at = [plate.slug for plate in self.plates].index(slug)
        before = [plate for plate in self.plates[:at] if self.minutes(plate)]
        after = [plate for plate in self.plates[at + 1 :] if self.minutes(plate)]
        return before[-1] if before else None, after[0] if after else None

    def strip(self, slug: str) -> str:
        """The strip at a plate, as HTML."""
        words = text.labels("tour", self.lang)
        stops = self.stops
        title = escape(words[f"tour_{self.name}"])
        slugs = [plate.slug for plate in stops]
        if slug in slugs:
            at = slugs.index(slug)
            spent = sum(self.minutes(plate) for plate in stops[: at + 1])
            where = words["where"].format(
                at=at + 1, of=len(stops), minutes=self.minutes(stops[at]), spent=spent, whole=self.name
            )
            what = text.section("tour", f"{_SECTION[self.name]}_{slug}", {}, self.lang)
        else:
            where, what = words["off"], ""
        before, after = self.around(slug)
        steps = self._step(before, words["previous"], "previous") + self._step(after, words["next"], "next")
        leave = f'<a href="?tour=" class="leave">{words["leave" if after else "end"]}</a>'
        return (
            f'<nav class="tour" aria-label="{title}"><div class="where"><b>{title}</b> <span>{where}</span></div>'
            f'<div class="what">{what}</div><div class="steps">{steps}{leave}</div></nav>'
        )

    def _step(self, plate: type[Plate] | None, word: str, way: str) -> str:
        if plate is None:
            return ""
        name = escape(self.called(plate))
        return f'<a href="{escape(start(self.name, plate))}" data-tour="{way}">{word.format(plate=name)}</a>'


def start(name: str, plate: type[Plate]) -> str:
    """The link to a stop: the plate as it opens, so that what the strip says is what the figures show."""
    settings = Settings(plate=plate.slug)
    own = plate(settings)
    values = {key: links.text_of(getattr(settings, key)) for key in SHARED}
    values |= {key: links.text_of(own.local.param[key].default) for key in own.local_keys}
    return "?" + urlencode({"tour": name, "plate": plate.slug, **values})


def entries(plates: Sequence[type[Plate]], lang: str) -> list[dict[str, str]]:
    """The tours as links: their names, and the addresses of their first stops."""
    words = text.labels("tour", lang)
    tours = [Tour(name, plates, lang, lambda plate: plate.name) for name in TOURS]
    return [{"name": words[f"tour_{tour.name}"], "href": start(tour.name, tour.stops[0])} for tour in tours]
