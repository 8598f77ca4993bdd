"""Links: every key alone, whatever is in it; what is written reads back as it was."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import param
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plates import links
from plates.settings import CUSTOM_GPU, LANGUAGES, SHARED, Settings

SLUGS = ("traffic", "tiles")


def read(query: str) -> tuple[dict, list[str]]:
    """Read ``query`` for a fresh page."""
    owners = dict.fromkeys((*SHARED, *CUSTOM_GPU, "step", "theme", "lang"), Settings())
    return links.read(query, owners, SLUGS)


@pytest.mark.parametrize(
    ("query", "values", "said"),
    [
        ("?N=8192", {"N": 8192}, []),
        ("N=8192&d=64", {"N": 8192, "d": 64}, []),
        ("?N=1e12&d=64", {"N": 1_048_576, "d": 64}, ["outside 1 to 1,048,576"]),
        ("?N=-3", {"N": 1}, ["outside"]),
        ("?N=inf", {"N": 1_048_576}, ["outside"]),
        ("?N=nan", {}, ["not a number: kept 8,192"]),
        ("?N=&d=64", {"d": 64}, ["not a number"]),
        ("?N=abc&Br=0&d=64&N=1e12", {"N": 1_048_576, "Br": 1, "d": 64}, ["2 times", "outside", "Br=0"]),
        ("?N=12.4", {"N": 12}, ["whole"]),
        ("?N=8,192", {"N": 8192}, []),
        ("?dtype=BF16", {"dtype": "bf16"}, []),
        ("?dtype=int4", {}, ["unknown"]),
        ("?gpu=H200-SXM", {"gpu": "h200-sxm"}, []),
        ("?causal=1", {"causal": True}, []),
        ("?causal=0", {"causal": False}, []),
        ("?causal=perhaps", {}, ["neither 0 nor 1: kept 0"]),
        ("?plate=TILES", {"plate": "tiles"}, []),
        ("?plate=%20Tiles%20&gpu=%20L4", {"plate": "tiles", "gpu": "l4"}, []),
        ("?plate=tiles&utm_source=mail", {"plate": "tiles"}, []),
        ("?plate=nowhere&d=64", {"d": 64}, ["no plate"]),
        ("?theme=dark&lang=zh", {"theme": "dark", "lang": "zh"}, []),
        ("?gpu=custom&tflops=100&bandwidth=1000", {"gpu": "custom", "tflops": 100, "bandwidth": 1000}, []),
    ],
)
def test_each_key_is_read_alone(query, values, said):
    found, notes = read(query)
    assert found == values
    assert len(notes) == len(said)
    for note, part in zip(notes, said, strict=True):
        assert part in note


KEYS = (*SHARED, *CUSTOM_GPU, "step", "theme", "lang", "plate")
HOSTILE = (
    "{x}",
    "{0}",
    "{kept}",
    "{kept.__class__}",
    "{",
    "}",
    "%s",
    "<img src=x onerror=alert(1)>",
    "\x00",
    "9" * 400,
)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("key", [*SHARED, *CUSTOM_GPU])
def test_every_number_in_a_note_has_its_thousands_marked(key, lang):
    bare = re.compile(r"(?<![\d,-])\d{4,}")
    owners = {key: Settings(N=8192, bandwidth=2000, tflops=5000)}
    for bad in ("x", "-1", "9e9", "1.5"):
        for note in links.read(urlencode({key: bad}), owners, SLUGS, lang)[1]:
            assert not bare.search(note), note
            assert "False" not in note and "True" not in note


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("key", KEYS)
def test_a_bad_value_is_repeated_as_it_was_given(key, text):
    values, notes = read(urlencode({key: text, "d": 64} if key != "d" else {key: text}))
    Settings(**values)
    assert key == "d" or values["d"] == 64
    assert len(notes) == 1
    assert text[:24] in notes[0]


def test_a_query_of_many_fields_is_read_as_far_as_it_is_sane():
    values, notes = read("?d=64&" + "x=1&" * 1000)
    assert values == {"d": 64}
    assert len(notes) == 1 and "200 parts" in notes[0]
    assert read("&" * 5000)[0] == {}
    assert read("?" + "k" * 10_000 + "=1&" + "k" * 10_000 + "=2&N=16") == ({"N": 16}, [])


@given(st.text(alphabet=st.sampled_from("{}%&=;+0a.N"), max_size=300) | st.text(max_size=300))
def test_no_query_whatever_raises_or_lets_a_bad_value_in(query):
    values, notes = read(query)
    Settings(**values)  # param's own bounds refuse what should not be here
    assert all(len(note) < 400 for note in notes)


@given(
    st.fixed_dictionaries(
        {
            name: st.integers(*Settings.param[name].bounds)
            if isinstance(Settings.param[name], param.Integer)
            else st.booleans()
            if isinstance(Settings.param[name], param.Boolean)
            else st.sampled_from(Settings.param[name].objects)
            for name in (*SHARED, *CUSTOM_GPU, "step", "theme", "lang")
        }
    )
)
def test_what_is_written_reads_back(values):
    settings = Settings(plate="tiles", **values)
    found, notes = read(links.write(settings))
    assert not notes
    again = Settings(**found)
    names = [*SHARED, "plate", "step", "theme", "lang", *(CUSTOM_GPU if settings.gpu == "custom" else ())]
    assert {n: getattr(again, n) for n in names} == {n: getattr(settings, n) for n in names}


class Own(param.Parameterized):
    """A plate's own state."""

    models = param.ListSelector(default=[], objects=["a", "b", "c"])
    drawing = param.String("")


def test_a_plates_own_state_travels_in_the_link():
    own = Own(models=["c", "a"], drawing="x")
    query = links.write(Settings(plate="tiles"), own, ("models", "drawing"))
    values, notes = links.read(query, {"models": Own(), "drawing": Own()}, SLUGS)
    assert not notes
    assert set(values.pop("models")) == {"a", "c"}
    assert values == {"plate": "tiles", "drawing": "x"}
    assert "models" not in links.write(Settings(plate="tiles"), Own(), ("models", "drawing"))


def test_unknown_members_of_a_list_are_left_out_alone():
    values, notes = links.read("?models=a,zzz,b", {"models": Own()}, SLUGS)
    assert values == {"models": ["a", "b"]}
    assert "zzz" in notes[0]


def test_an_endless_value_is_refused():
    values, notes = links.read("?drawing=" + "x" * 3000, {"drawing": Own()}, SLUGS)
    assert values == {} and "too long" in notes[0]
