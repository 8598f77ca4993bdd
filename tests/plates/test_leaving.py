"""A page whose reader has left is let go whole: nothing of it is kept by the server or by another reader's page."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref

import panel as pn
import pytest
from bokeh.application.handlers.document_lifecycle import DocumentLifecycleHandler
from bokeh.server.contexts import ApplicationContext
from panel.io.application import build_single_handler_application
from tornado.ioloop import IOLoop
from tornado.websocket import WebSocketClosedError

from plates.registry import PLATES
from plates.shell import Atlas
from tests.browser.conftest import ROOT


class Request:
    """The first request of a page, as far as an application looks at it."""

    protocol, host, path, uri = "http", "localhost", "/app", "/app"
    cookies: dict = {}  # noqa: RUF012
    headers: dict = {}  # noqa: RUF012

    def __init__(self, query: str) -> None:
        self.arguments = {k: [v.encode()] for k, v in (pair.split("=") for pair in query.split("&"))}


def pages() -> list[Atlas]:
    """Return the pages that are alive."""
    gc.collect()
    # Not isinstance: it asks objects of other libraries for their class, and some of them answer with a warning.
    return [item for item in gc.get_objects() if issubclass(type(item), Atlas)]


async def visit(query: str, others: tuple[str, ...] = ()) -> list[weakref.ref]:
    """Open a page as a server does, use it, leave it; returns what should be gone by then."""
    application = build_single_handler_application(str(ROOT / "app.py"))
    application.add(DocumentLifecycleHandler())  # as a server does
    context = ApplicationContext(application, io_loop=IOLoop.current(), url="/app")
    before = {id(page) for page in pages()}
    session = await context.create_session_if_needed("a-reader", Request(query))
    (atlas,) = (page for page in pages() if id(page) not in before)
    with pn.io.server.set_curdoc(session.document):
        atlas.settings.N = 4096
        atlas.settings.theme = "dark"
        for slug in others:
            atlas.settings.plate = slug
            atlas._swap_now()
    gone = [weakref.ref(item) for item in (atlas, atlas.settings, session.document, *atlas.plates.values())]
    await context._discard_session(session, lambda session: True)
    return gone


@pytest.mark.parametrize("slug", [plate.slug for plate in PLATES])
def test_nothing_of_a_page_is_left_when_its_session_ends(slug):
    gone = asyncio.run(visit(f"plate={slug}"))
    gc.collect()
    left = [type(item()).__name__ for item in gone if item() is not None]
    assert not left


def test_nothing_is_left_of_a_reader_who_has_seen_every_plate():
    gone = asyncio.run(visit("plate=wall", tuple(plate.slug for plate in PLATES)))
    gc.collect()
    assert not [type(item()).__name__ for item in gone if item() is not None]


@pytest.mark.parametrize(("error", "told"), [(WebSocketClosedError(), False), (ValueError("bad"), True)])
def test_a_message_to_a_reader_who_has_left_is_no_error_of_the_server(caplog, error, told):
    async def fail() -> None:
        raise error

    async def forget() -> None:
        task = asyncio.create_task(fail())
        await asyncio.sleep(0)
        del task
        gc.collect()

    with caplog.at_level(logging.ERROR, logger="asyncio"):
        asyncio.run(forget())
    assert ("never retrieved" in caplog.text) == told
