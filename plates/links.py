"""Links: read a query one key at a time, and write the query that reproduces a view.

A bad value is clamped or ignored alone; every other key still applies, and a note says what was done.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from urllib.parse import parse_qs, urlencode

import param

from plates.settings import CUSTOM_GPU, SHARED, Settings

_SHOWN = 24  # characters of a bad value that a note repeats
_MOST_FIELDS = 200  # of a query that are read; a view needs fewer than 40


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


# Notes are finished here: a text that the reader typed never becomes part of a pattern that is filled later.
def _kept(kept: object) -> str:
    return "ignored" if kept is None else f"kept {kept}"


def _integer(name: str, spec: param.Integer, text: str, kept: object) -> tuple[int | None, str | None]:
    low, high = spec.bounds
    try:
        number = float(text.replace(",", "").replace("_", ""))
    except ValueError:
        number = math.nan
    if math.isnan(number):
        return None, f"{name}={_shown(text)} is not a number: {_kept(kept)}."
    clamped = min(max(number, low), high)
    value = round(clamped)
    if clamped != number:
        return value, f"{name}={_shown(text)} is outside {low:,} to {high:,}: used {value:,}."
    if value != number:
        return value, f"{name}={_shown(text)} is not a whole number: used {value:,}."
    return value, None


def _boolean(name: str, text: str, kept: object) -> tuple[bool | None, str | None]:
    if text.lower() in ("1", "true", "yes", "on"):
        return True, None
    if text.lower() in ("0", "false", "no", "off"):
        return False, None
    return None, f"{name}={_shown(text)} is neither 0 nor 1: {_kept(kept)}."


def convert(owner: param.Parameterized, name: str, text: str) -> tuple[object, str | None]:
    """Convert ``text`` for the parameter ``name`` of ``owner``.

    Returns ``(value, note)``: a value of None means the key is ignored, a note of None that all was well.
    """
    spec, kept = owner.param[name], getattr(owner, name)
    text = text.strip()
    if isinstance(spec, param.Boolean):
        value, note = _boolean(name, text, kept)
    elif isinstance(spec, param.Integer):
        value, note = _integer(name, spec, text, kept)
    elif isinstance(spec, param.ListSelector):
        items = [item for item in text.split(",") if item]
        value = [item for item in spec.objects if item in items]
        unknown = [item for item in items if item not in spec.objects]
        note = f"{name}: {_shown(', '.join(unknown))} is unknown: left out." if unknown else None
    elif isinstance(spec, param.Selector):
        value = text if text in spec.objects else text.lower()
        note = None
        if value not in spec.objects:
            value, note = (
                None,
                f"{name}={_shown(text)} is unknown (one of {', '.join(spec.objects)}): {_kept(kept)}.",
            )
    elif isinstance(spec, param.String) and spec.regex and not re.fullmatch(spec.regex, text):
        value, note = None, f"{name}={_shown(text)} cannot be read: ignored."
    else:
        value, note = (text if len(text) <= 2000 else None), None
        if value is None:
            note = f"{name} is too long ({len(text):,} characters): ignored."
    return value, note


def read(
    query: str, owners: Mapping[str, param.Parameterized], slugs: Iterable[str]
) -> tuple[dict, list[str]]:
    """Read ``query`` (with or without ``?``).

    Parameters
    ----------
    owners: which object owns each query key.
    slugs: the plates there are.

    Returns ``(values, notes)``: values by key, only those that apply; one sentence a bad key.
    """
    values: dict[str, object] = {}
    notes: list[str] = []
    slugs = list(slugs)
    fields = query.lstrip("?").split("&", _MOST_FIELDS)
    if len(fields) > _MOST_FIELDS:
        notes.append(f"The link has more than {_MOST_FIELDS} parts: the rest is ignored.")
    for key, texts in parse_qs("&".join(fields[:_MOST_FIELDS]), keep_blank_values=True).items():
        text = texts[-1]
        if len(texts) > 1 and (key == "plate" or key in owners):
            notes.append(f"{key} is given {len(texts)} times: used the last.")
        if key == "plate":
            if text in slugs:
                values[key] = text
            else:
                notes.append(f"There is no plate “{_shown(text)}”.")
        elif key in owners:
            value, note = convert(owners[key], key, text)
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
