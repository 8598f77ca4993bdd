"""Links: read a query one key at a time, and write the query that reproduces a view.

A bad value is clamped or ignored alone; every other key still applies, and a note says what was done.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qs, urlencode

import param

from plates.language import labels
from plates.settings import CUSTOM_GPU, SHARED, Settings

_SHOWN = 24  # characters of a bad value that a note repeats
_NAMED = 14  # choices that a note names; of more, the first few
_MOST_FIELDS = 200  # of a query that are read; a view needs fewer than 40


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


# A note is filled once, here: a text that the reader typed never becomes part of a pattern that is filled later.
def _said(lang: str, key: str, **values: object) -> str:
    return labels("page", lang, "links")[key].format(**values)


class Note(str):
    """What was done with a bad value, in a sentence; ``key`` and ``text`` are as the link had them."""

    key: str
    text: str

    def __new__(cls, sentence: str, key: str = "", text: str = "") -> Note:
        note = super().__new__(cls, sentence)
        note.key, note.text = key, text
        return note


def _kept(kept: object, lang: str) -> str:
    if kept is None or kept == "":
        return _said(lang, "ignored")
    return _said(lang, "kept", value=_plain(kept))


def _plain(value: object) -> str:
    """Return a value as the page writes it: numbers with their thousands marked, switches as a link has them."""
    return f"{int(value):,}" if isinstance(value, int) else str(value)


def _choices(values: list[str]) -> str:
    named = [value for value in values if value]
    return ", ".join(named if len(named) <= _NAMED else [*named[:4], "…"])


def whole(spec: param.Integer, text: str) -> tuple[int | None, str | None]:
    """Return the nearest number in range, and the fault that ``text`` has as one: the name of a note."""
    low, high = spec.bounds
    try:
        number = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        number = math.nan
    if math.isnan(number):
        return None, "no_number"
    clamped = min(max(number, low), high)
    value = round(clamped)
    return value, "outside" if clamped != number else "no_whole" if value != number else None


def _integer(
    name: str, spec: param.Integer, text: str, kept: object, lang: str
) -> tuple[int | None, str | None]:
    value, fault = whole(spec, text)
    if fault is None:
        return value, None
    low, high = spec.bounds
    return value, _said(
        lang,
        fault,
        name=name,
        text=_shown(text),
        kept=_kept(kept, lang),
        value=_plain(value),
        low=_plain(low),
        high=_plain(high),
    )


def _boolean(name: str, text: str, kept: object, lang: str) -> tuple[bool | None, str | None]:
    if text.lower() in ("1", "true", "yes", "on"):
        return True, None
    if text.lower() in ("0", "false", "no", "off"):
        return False, None
    return None, _said(lang, "no_switch", name=name, text=_shown(text), kept=_kept(kept, lang))


def convert(owner: param.Parameterized, name: str, text: str, lang: str = "en") -> tuple[object, str | None]:
    """Convert ``text`` for the parameter ``name`` of ``owner``; a note is in ``lang``.

    Returns ``(value, note)``: a value of None means the key is ignored, a note of None that all was well.
    """
    spec, kept = owner.param[name], getattr(owner, name)
    text = text.strip()
    if isinstance(spec, param.Boolean):
        value, note = _boolean(name, text, kept, lang)
    elif isinstance(spec, param.Integer):
        value, note = _integer(name, spec, text, kept, lang)
    elif isinstance(spec, param.ListSelector):
        items = [item for item in text.split(",") if item]
        value = [item for item in spec.objects if item in items]
        unknown = [item for item in items if item not in spec.objects]
        note = _said(lang, "unknown_items", name=name, text=_shown(", ".join(unknown))) if unknown else None
    elif isinstance(spec, param.Selector):
        value = text if text in spec.objects else text.lower()
        note = None
        if value not in spec.objects:
            known = _choices(spec.objects)
            value, note = (
                None,
                _said(lang, "unknown", name=name, text=_shown(text), known=known, kept=_kept(kept, lang)),
            )
    elif isinstance(spec, param.String) and spec.regex and not re.fullmatch(spec.regex, text):
        value, note = None, _said(lang, "unreadable", name=name, text=_shown(text))
    else:
        value, note = (text if len(text) <= 2000 else None), None
        if value is None:
            note = _said(lang, "too_long", name=name, length=f"{len(text):,}")
    return value, note


def fit_step(settings: Settings, last: int | None, notes: list[Note], told: bool) -> list[Note]:
    """Keep ``step`` within 0 to ``last``, the last step of the play on show (None: nothing is played there).

    Returns ``notes`` with what was done, if the step was ``told`` by a link.
    """
    step = settings.step
    if step is None or (last is not None and step <= last):
        return notes
    settings.step = last
    if not told:
        return notes
    given = next((note.text for note in notes if note.key == "step"), str(step))
    about = {"name": "step", "text": _shown(given)}
    if last is None:
        sentence = _said(settings.lang, "no_steps", **about)
    else:
        sentence = _said(settings.lang, "outside", **about, low="0", high=_plain(last), value=_plain(last))
    return [*(note for note in notes if note.key != "step"), Note(sentence, "step", given)]


def read(
    query: str, owners: Mapping[str, param.Parameterized], slugs: Iterable[str], lang: str = "en"
) -> tuple[dict, list[Note]]:
    """Read ``query`` (with or without ``?``).

    Parameters
    ----------
    owners: which object owns each query key.
    slugs: the plates there are.
    lang: of the notes.

    Returns ``(values, notes)``: values by key, only those that apply; one sentence a bad key.
    """
    values: dict[str, object] = {}
    notes: list[Note] = []
    slugs = list(slugs)
    fields = query.lstrip("?").split("&", _MOST_FIELDS)
    if len(fields) > _MOST_FIELDS:
        notes.append(Note(_said(lang, "too_many", most=_MOST_FIELDS)))
    for key, texts in parse_qs("&".join(fields[:_MOST_FIELDS]), keep_blank_values=True).items():
        text = texts[-1]
        if len(texts) > 1 and (key == "plate" or key in owners):
            notes.append(Note(_said(lang, "repeated", name=key, times=len(texts)), key, text))
        if key == "plate":
            slug = text if text in slugs else text.strip().lower()
            if slug in slugs:
                values[key] = slug
            else:
                notes.append(Note(_said(lang, "no_plate", text=_shown(text)), key, text))
        elif key in owners:
            value, note = convert(owners[key], key, text, lang)
            if value is not None:
                values[key] = value
            if note:
                notes.append(Note(note, key, text))
    return values, notes


def text_of(value: object) -> str:
    """Return a value as it stands in a query."""
    if isinstance(value, list):
        return ",".join(value)
    return str(int(value)) if isinstance(value, bool) else str(value)


def write(
    settings: Settings,
    local: param.Parameterized | None = None,
    local_keys: Iterable[str] = (),
    lang: str | None = None,
) -> str:
    """Return the query that reproduces the view: the plate, the shared settings, and the plate's own that differ.

    ``lang`` stands in for the language of the settings.
    """
    pairs = [("plate", settings.plate)]
    pairs += [(name, text_of(getattr(settings, name))) for name in SHARED]
    if settings.gpu == "custom":
        pairs += [(name, text_of(getattr(settings, name))) for name in CUSTOM_GPU]
    if local is not None:
        for name in local_keys:
            value = getattr(local, name)
            if value != local.param[name].default:
                pairs.append((name, text_of(value)))
    if settings.step is not None:
        pairs.append(("step", str(settings.step)))
    if settings.tour:
        pairs.append(("tour", settings.tour))
    if settings.theme != "light":
        pairs.append(("theme", settings.theme))
    lang = lang or settings.lang
    if lang != "en":
        pairs.append(("lang", lang))
    return "?" + urlencode(pairs)
