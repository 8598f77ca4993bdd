"""Run through the served page on a real GPU: what readers get who press it, over the page's own websocket."""

from __future__ import annotations

import asyncio
import html
import json
import re
import time

import pytest

from workshop.kernels.runner import find_gpu

pytest.importorskip("panel", reason="the page's packages are not installed here")

from plates import text
from tests.browser.forger import Forger
from tests.served import ROOT, free_port, serve

pytestmark = pytest.mark.gpu
WORDS = text.labels("machine")
SHAPE = "&N=1000&d=80&H=3&B=2&causal=1"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    port = free_port()
    log = tmp_path_factory.mktemp("page") / "log.txt"
    process = serve(ROOT / "app.py", port, log)
    yield f"http://localhost:{port}/app"
    assert process.poll() is None, log.read_text()
    process.terminate()
    process.wait(20)
    assert "Traceback" not in log.read_text()


class Reader:
    """One reader of the plate: presses its buttons and reads what the server put on the page."""

    def __init__(self, session: Forger) -> None:
        self._session = session

    @classmethod
    async def open(cls, address: str, query: str) -> Reader:
        session = await Forger.open(address, f"?plate=machine{query}")
        # what lies far down the page is made when a browser has drawn the rest
        await session.tell("document_ready")
        return cls(session)

    async def press(self, label: str, seconds: float = 90) -> None:
        """Press a button as soon as it can be pressed."""
        end = time.monotonic() + seconds
        while True:
            for model in await self._session.models():
                data = model.get("attributes", {}).get("data", {})
                shown = data.get("attributes", {}) if isinstance(data, dict) else {}
                if shown.get("label") == label and not shown.get("disabled"):
                    told = await self._session.tell(
                        "dom_event", model={"id": model["id"]}, node="click", data=None
                    )
                    assert told == "OK"
                    return
            assert time.monotonic() < end, f"{label!r} could not be pressed for {seconds} s"
            await asyncio.sleep(0.5)

    async def page(self) -> str:
        """All that is on the page, as one text."""
        return html.unescape(json.dumps(await self._session.models(), ensure_ascii=False)).replace("\\", "")

    async def wait(self, pattern: str, seconds: float = 240) -> str:
        """Wait until ``pattern`` is on the page; returns the page."""
        end = time.monotonic() + seconds
        while not re.search(pattern, page := await self.page()):
            assert time.monotonic() < end, f"{pattern!r} did not come in {seconds} s"
            await asyncio.sleep(0.5)
        return page

    def close(self) -> None:
        self._session.close()


def live(page: str) -> dict[str, float]:
    """The readouts of a run."""
    return {
        name: float(value)
        for name, value in re.findall(r'data-readout="live-([\w-]+)" data-value="([^"]+)"', page)
    }


def test_the_readers_own_problem_is_run_and_labelled_live_with_the_device(address):
    async def go() -> str:
        reader = await Reader.open(address, f"{SHAPE}&Br=32&Bc=64")
        await reader.press(WORDS["run"])
        page = await reader.wait(r'data-readout="live-time-standard"')
        reader.close()
        return page

    page = asyncio.run(go())
    found = live(page)
    assert {"time-teaching", "time-fast", "time-standard", "time-sdpa-flash"} <= found.keys()
    assert all(value > 0 for name, value in found.items() if name.startswith("time-"))
    for kernel in ("teaching", "fast"):
        assert found[f"error-{kernel}"] <= 2 * found["error-standard"]
    shown = page[page.index('<div class="live">') :]
    shown = shown[: shown.index("</div>")]
    assert WORDS["live_gpu"].format(device=find_gpu()) in shown and "kind-live" in shown
    assert "N = 1,000" in shown.replace("\u00a0", " ") and "32×64" in shown
    assert "kind-recorded" not in shown and "kind-model" not in shown


def test_two_readers_share_the_queue_and_a_tile_that_cannot_start_is_a_sentence(address):
    async def go() -> tuple[str, str]:
        first = await Reader.open(address, SHAPE)
        second = await Reader.open(address, "&N=512&d=128&H=1&B=1&Br=64&Bc=256")
        await first.press(WORDS["run"])
        await second.press(WORDS["run"])
        pages = await first.wait("live-time-standard"), await second.wait("live-time-standard")
        first.close()
        second.close()
        return pages

    one, other = asyncio.run(go())
    assert "time-teaching" in live(one)
    assert "time-fast" in live(other) and "time-teaching" not in live(other), (
        "the reader's tile does not start"
    )
    assert "278,528 B" in other.replace("\u00a0", " ") and "it would not launch" not in one


def test_a_run_is_cancelled_by_its_reader(address):
    async def go() -> str:
        reader = await Reader.open(address, "&N=16384&d=128&H=32&B=4")
        await reader.press(WORDS["run"])
        await reader.press(WORDS["cancel"])
        page = await reader.wait("state-cancelled")
        reader.close()
        return page

    assert not live(asyncio.run(go()))
