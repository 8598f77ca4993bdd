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


def _kept(kept: object, lang: str) -> str:
    return _said(lang, "ignored") if kept in (None, "") else _said(lang, "kept", value=kept)


def _choices(values: list[str]) -> str:
    named = [value for value in values if value]
    return ", ".join(named if len(named) <= _NAMED else [*named[:4], "…"])


def _integer(
    name: str, spec: param.Integer, text: str, kept: object, lang: str
) -> tuple[int | None, str | None]:
    low, high = spec.bounds
    given = {"name": name, "text": _shown(text)}
    try:
        number = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        number = math.nan
    if math.isnan(number):
        return None, _said(lang, "no_number", **given, kept=_kept(kept, lang))
    clamped = min(max(number, low), high)
    value = round(clamped)
    used = {"value": f"{value:,}", "low": f"{low:,}", "high": f"{high:,}"}
    if clamped != number:
        return value, _said(lang, "outside", **given, **used)
    if value != number:
        return value, _said(lang, "no_whole", **given, **used)
    return value, None


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


def read(
    query: str, owners: Mapping[str, param.Parameterized], slugs: Iterable[str], lang: str = "en"
) -> tuple[dict, list[str]]:
    """Read ``query`` (with or without ``?``).

    Parameters
    ----------
    owners: which object owns each query key.
    slugs: the plates there are.
    lang: of the notes.

    Returns ``(values, notes)``: values by key, only those that apply; one sentence a bad key.
    """
    values: dict[str, object] = {}
    notes: list[str] = []
    slugs = list(slugs)
    fields = query.lstrip("?").split("&", _MOST_FIELDS)
    if len(fields) > _MOST_FIELDS:
        notes.append(_said(lang, "too_many", most=_MOST_FIELDS))
    for key, texts in parse_qs("&".join(fields[:_MOST_FIELDS]), keep_blank_values=True).items():
        text = texts[-1]
        if len(texts) > 1 and (key == "plate" or key in owners):
            notes.append(_said(lang, "repeated", name=key, times=len(texts)))
        if key == "plate":
            if text in slugs:
                values[key] = text
            else:
                notes.append(_said(lang, "no_plate", text=_shown(text)))
        elif key in owners:
            value, note = convert(owners[key], key, text, lang)
            if value is not None:
                values[key] = value
            if note:
                notes.append(note)
    return values, notes


def _text(value: object) -> str:
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
    pairs += [(name, _text(getattr(settings, name))) for name in SHARED]
    if settings.gpu == "custom":
        pairs += [(name, _text(getattr(settings, name))) for name in CUSTOM_GPU]
    if local is not None:
        for name in local_keys:
            value = getattr(local, name)
            if value != local.param[name].default:
                pairs.append((name, _text(value)))
    if settings.step is not None:
        pairs.append(("step", str(settings.step)))
    if settings.theme != "light":
        pairs.append(("theme", settings.theme))
    lang = lang or settings.lang
    if lang != "en":
        pairs.append(("lang", lang))
    return "?" + urlencode(pairs)
