"""Forged messages over the websocket and endless addresses: each is answered, the session and the server live on."""

from __future__ import annotations

import asyncio
import html
import itertools
import json
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import closing

import pytest
from param import descendents

from plates.drawn import Drawn
from plates.registry import PLATES
from tests.browser.conftest import PATIENCE
from tests.browser.forger import Forger, of_kind
from tests.browser.test_page import bytes_of
from tests.served import ROOT, free_port, serve

LONG = "x" * 100_000
NAN = {"type": "number", "value": "nan"}
FORGED = (
    *(None, True, -1, 0, 7, 10**12, -(10**30), 1e308, 0.5, NAN, {"type": "number", "value": "+inf"}),
    *("", LONG, "<img src=x onerror=alert(1)>", "８", "{0}", "nan"),
    *(
        [],
        [0] * 100_000,
        [[[[]]]],
        {"type": "map", "entries": []},
        {"type": "map", "entries": [[LONG, LONG]]},
    ),
    {"type": "object", "name": "no such model", "id": "p0"},
    {"id": "p999999"},
    {
        "type": "ndarray",
        "array": {"type": "bytes", "data": "AAAA"},
        "dtype": "float64",
        "shape": [-4],
        "order": "little",
    },
)
# What a browser writes; the rest of a model's properties is forged with a part of the values only.
WRITTEN = ("value", "value_input", "value_throttled", "step", "code", "theme", "presenting", "clicks", "term")
# The pictures of each plate that has some; where bar, history and every kind of widget are forged as well.
PICTURES = {
    "wall": {"Trips"},
    "softmax": {"Stepper"},
    "memory": {"Loop"},
    "sparsity": {"MaskView"},
    "serving": {"SplitView"},
    "review": {"Quiz", "Predict", "ScheduleView", "Glossary"},
}
ALL_KINDS = "softmax"
MESSAGES = (
    {"kind": "follow", "search": "?plate=tiles&N=" + "9" * 3000, "pops": -(10**30)},
    {"kind": "back", "search": LONG, "pops": 10**30},
    {"kind": "ready", "search": None},
    {"kind": ["follow"], "search": {"plate": 1}, "pops": "many"},
    {},
    LONG,
    None,
    [1, 2],
)


@pytest.fixture(scope="module")
def own_server(tmp_path_factory):
    """The address of a server whose log these tests may fill."""
    port = free_port()
    process = serve(ROOT / "app.py", port, tmp_path_factory.mktemp("forged") / "log.txt")
    yield f"http://localhost:{port}/app"
    assert process.poll() is None, "the server died"
    process.terminate()
    process.wait(20)


def parts(models: list[dict]) -> dict[str, tuple[str, list[str]]]:
    """Return one part of each kind that a browser writes to, by kind: its id, and its properties, set or not."""
    found = {}
    for model in models:
        data = model.get("attributes", {}).get("data")
        if isinstance(data, dict) and "attributes" in data:
            names = sorted({*data["attributes"], *WRITTEN})
            found.setdefault(data["name"].rstrip("0123456789"), (data["id"], names))
    return found


async def answers(address: str) -> None:
    """Open a page of another reader, move its slider, and see the number that belongs to it."""
    with closing(await Forger.open(address, "?plate=traffic&N=4096")) as other:
        models = await other.models()
        box = next(
            m["attributes"]["data"]["id"]
            for m in models
            if str(m.get("attributes", {}).get("data", {}).get("attributes", {}).get("label", "")).startswith(
                "N, tokens:"
            )
        )
        assert await other.write((box, "value", "512")) == ["OK"]
        expected = str(bytes_of("standard", N=512))
        end = time.monotonic() + PATIENCE
        while True:
            await other.ask("SERVER-INFO-REQ", {})  # what was sent meanwhile comes first
            sent = html.unescape(json.dumps(other.heard)).replace("\\", "")
            if f'data-readout="traffic-standard" data-value="{expected}"' in sent:
                break
            assert time.monotonic() < end, f"no readout of {expected} after {PATIENCE:.0f} s"
            await asyncio.sleep(0.1)


async def all_parts(reader: Forger, slug: str) -> dict[str, tuple[str, list[str]]]:
    """Return the parts of a plate once those far down are there too; of the widgets, which stand on all, on one."""
    await reader.tell("document_ready")
    end = time.monotonic() + PATIENCE
    found = {}
    while not PICTURES[slug] <= set(found):
        assert time.monotonic() < end, f"expected {PICTURES[slug]}, got {set(found)}"
        await asyncio.sleep(0.1)
        models = await reader.models()
        found |= parts(models)
        await reader.draw(models)
    if slug != ALL_KINDS:
        return {kind: found[kind] for kind in PICTURES[slug]}
    assert {"Bar", "History", "Keys", "DiscreteSlider", "Switch"} <= set(found), set(found)
    return found


async def forge(address: str, slug: str) -> Counter:
    """Write what no browser would to a plate; returns how often the server said what."""
    said = Counter()
    with closing(await Forger.open(address, f"?plate={slug}")) as reader:
        for identity, names in (await all_parts(reader, slug)).values():
            for at, name in enumerate(names):
                values = FORGED if name in WRITTEN else FORGED[at % 5 :: 5]
                said.update(await reader.write(*((identity, name, value) for value in values)))
        # the forger's own page may be past repair; the server is asked for it and answers
        assert (await reader.ask("PULL-DOC-REQ", {}))[0] in ("PULL-DOC-REPLY", "ERROR")
    return said


def test_all_pictures_are_forged_somewhere():
    assert set(PICTURES) <= {plate.slug for plate in PLATES}
    ours = [
        part for part in descendents(Drawn) if part is not Drawn and part.__module__.startswith("plates.")
    ]
    assert {part.__name__ for part in ours} == set().union(*PICTURES.values())


@pytest.mark.parametrize("slug", PICTURES)
def test_every_forged_value_is_answered_and_others_are_served(own_server, slug):
    async def go() -> Counter:
        said = await forge(own_server, slug)
        await answers(own_server)
        return said

    said = asyncio.run(go())
    assert set(said) == {"OK", "ERROR"}, said
    assert said["ERROR"] > 10, said  # wrong types are refused, not taken


def test_forged_messages_of_the_address_are_answered(own_server):
    async def go() -> None:
        with closing(await Forger.open(own_server, "?plate=traffic")) as reader:
            ((history, _),) = of_kind(await reader.models(), "History")
            for message in MESSAGES:
                kind = await reader.tell("data_event", model={"id": history}, data=message)
                assert kind in ("OK", "ERROR")
        await answers(own_server)

    asyncio.run(go())


@pytest.mark.parametrize("key", ["paint", "models", "N", "plate", "theme", "nobody"])
@pytest.mark.parametrize("size", [2_000, 30_000, 100_000])
def test_an_endless_address_is_answered(own_server, key, size):
    try:
        with urllib.request.urlopen(f"{own_server}?plate=sparsity&{key}={'A' * size}", timeout=60) as answer:
            assert answer.status == 200
            assert len(answer.read()) < 5_000_000
    except urllib.error.HTTPError as error:
        assert error.code in (400, 414, 431) and size > 60_000
    except (ConnectionError, urllib.error.URLError):
        assert size > 60_000  # refused before it was read
    if size == 100_000:
        asyncio.run(answers(own_server))


@pytest.mark.parametrize("slug", ["sparsity", "softmax", "machine"])
def test_another_reader_is_answered_while_one_never_stops(own_server, slug):
    async def go() -> None:
        with closing(await Forger.open(own_server, f"?plate={slug}")) as busy:
            ((_, switch),) = of_kind(await busy.models(), "Switch")

            async def flood() -> None:
                for turn in itertools.count():
                    await busy.write((switch, "value", turn % 2 == 0))

            flooding = asyncio.create_task(flood())
            await asyncio.sleep(1)
            for _ in range(3):
                await answers(own_server)
            assert not flooding.done(), flooding.exception()
            flooding.cancel()

    asyncio.run(go())
