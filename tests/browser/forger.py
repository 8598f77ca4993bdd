"""A client that speaks the server's protocol and sends what no browser would."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

_TOKEN = re.compile(r'"token":\s*"([^"]+)"')


class Forger:
    """One session of the server at ``address``, over its websocket, without a browser.

    Open it with ``await Forger.open(address, query)``.
    """

    def __init__(self, socket) -> None:
        self._socket = socket
        self._count = 0
        self.heard: list[dict] = []  # what the server sent unasked

    @classmethod
    async def open(cls, address: str, query: str = "") -> Forger:
        """Fetch the page as a browser does, and connect to its session."""
        answer = await AsyncHTTPClient().fetch(address + query, request_timeout=60)
        token = _TOKEN.search(answer.body.decode())[1]
        url = address.replace("http", "ws", 1) + "/ws"
        origin = {"Origin": address.rsplit("/", 1)[0]}
        socket = await websocket_connect(HTTPRequest(url, headers=origin), subprotocols=["bokeh", token])
        socket.protocol.stream.set_nodelay(True)  # three small writes a message
        found = cls(socket)
        await found._receive()  # ACK
        return found

    async def _receive(self) -> tuple[dict, dict]:
        parts = [await asyncio.wait_for(self._socket.read_message(), 60) for _ in range(3)]
        if None in parts:
            raise ConnectionError("the server closed the connection")
        header, _, content = (json.loads(part) for part in parts)
        for _ in range(header.get("num_buffers", 0)):
            await self._socket.read_message()
            await self._socket.read_message()
        return header, content

    async def _send(self, kind: str, content: object) -> str:
        self._count += 1
        number = str(self._count)
        for part in ({"msgid": number, "msgtype": kind}, {}, content):
            await self._socket.write_message(json.dumps(part))
        return number

    async def ask(self, kind: str, content: object) -> tuple[str, dict]:
        """Send a message and wait for its answer; returns the answer's type and content."""
        number = await self._send(kind, content)
        while True:
            header, found = await self._receive()
            if header.get("reqid") == number:
                return header["msgtype"], found
            self.heard.append(found)

    async def write(self, *changes: tuple[str, str, object]) -> list[str]:
        """Set properties of models, each given as (model, property, value); returns the types of the answers."""
        waiting = set()
        for model, name, value in changes:
            event = {"kind": "ModelChanged", "model": {"id": model}, "attr": name, "new": value}
            waiting.add(await self._send("PATCH-DOC", {"events": [event]}))
        said = []
        while waiting:
            header, found = await self._receive()
            if header.get("reqid") in waiting:
                waiting.remove(header["reqid"])
                said.append(header["msgtype"])
            else:
                self.heard.append(found)
        return said

    async def tell(self, event: str, **values: object) -> str:
        """Send an event of a page or, with ``model={"id": ...}``, of a model; returns the type of the answer."""
        fields = {"type": "map", "entries": [[name, value] for name, value in values.items()]}
        sent = {"type": "event", "name": event, "values": fields}
        message = {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": sent}
        return (await self.ask("PATCH-DOC", {"events": [message]}))[0]

    async def models(self) -> list[dict]:
        """Return the models of the page: dicts with name, id and attributes. Whole the first time only."""
        _, content = await self.ask("PULL-DOC-REQ", {})
        return list(_objects(content["doc"]["roots"]))

    async def draw(self, models: list[dict]) -> None:
        """Say of those parts of a plate that are among ``models`` what a browser says when it has drawn them."""
        for mark, _ in of_kind(models, "Arrived"):
            await self.tell("data_event", model={"id": mark}, data="drawn")

    def close(self) -> None:
        """Leave."""
        self._socket.close()


def of_kind(models: list[dict], kind: str) -> list[tuple[str, str]]:
    """Return the components of class ``kind``: the id of each, which messages name, and that of its properties."""
    held = ((model["id"], model.get("attributes", {}).get("data")) for model in models)
    return [
        (identity, data["id"])
        for identity, data in held
        if isinstance(data, dict) and data.get("name", "").startswith(kind)
    ]


def _objects(part: object) -> Iterator[dict]:
    if isinstance(part, dict):
        if part.get("type") == "object" and "id" in part:
            yield part
        for value in part.values():
            yield from _objects(value)
    elif isinstance(part, list):
        for value in part:
            yield from _objects(value)
