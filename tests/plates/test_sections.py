"""Every section of a plate's prose is on its page, and no two texts of a plate share a name."""

from __future__ import annotations

import pytest

from plates import language, text
from plates.plate import Plate
from plates.registry import PLATES
from plates.settings import LANGUAGES, Settings
from tests.plates.walk import ends, open_plate

# what a translation may give beside the sections that the plate asks for
OFFERED = {"", "name", "scope", "sentences"}


class Read(dict):
    """Sections that remember which of them were taken."""

    def __init__(self, found: dict, taken: set[str]) -> None:
        super().__init__(found)
        self._taken = taken

    def __getitem__(self, name: str) -> str:
        self._taken.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: str | None = None) -> str | None:
        self._taken.add(name)
        return super().get(name, default)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("plate", PLATES, ids=lambda plate: plate.slug)
def test_every_section_is_on_the_page(plate, lang, monkeypatch):
    taken: set[str] = set()
    sections = language.sections

    def read(slug: str, lang: str = "en") -> dict:
        found = sections(slug, lang)
        return Read(found, taken) if slug == plate.slug else found

    language.labels.cache_clear()
    monkeypatch.setattr(language, "sections", read)
    monkeypatch.setattr(text, "sections", read)
    try:
        made = open_plate(plate.slug, f"&lang={lang}").plates[plate.slug]  # with the controls beside it
        for name in plate.local_keys:  # some stand in one view only
            before = getattr(made.local, name)
            for value in ends(made.local, name):
                setattr(made.local, name, value)
                made.update()
            setattr(made.local, name, before)
    finally:
        language.labels.cache_clear()
    missing = set(sections(plate.slug, lang)) - taken - OFFERED
    assert not missing, f"plates/prose/{plate.slug}.md: nothing shows ## {', ## '.join(sorted(missing))}"


def test_a_name_used_twice_is_refused():
    class Twice(Plate):
        slug = "wall"

        def body(self):
            yield self.prose("why")
            yield self.block("why")

    with pytest.raises(ValueError, match="two texts are named 'why'"):
        Twice(Settings()).view()
