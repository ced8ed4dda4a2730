"""Requests to an ASGI application of this process: no socket, no server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Message = MutableMapping[str, Any]
Asgi = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass(frozen=True)
class Response:
    """A status, and the JSON that came with it."""

    status: int
    body: Any


def request(api: Asgi, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Response:
    """Send one request, on an event loop of its own."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(_request(api, method, path, body, headers or {}))
    finally:
        loop.close()


async def _request(api: Asgi, method: str, path: str, body: Any, headers: dict[str, str]) -> Response:
    sent = b"" if body is None else json.dumps(body).encode()
    plain, _, query = path.partition("?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": plain,
        "raw_path": plain.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": [
            (b"host", b"localhost"),
            (b"content-type", b"application/json"),
            (b"content-length", str(len(sent)).encode()),
            *((name.lower().encode(), value.encode()) for name, value in headers.items()),
        ],
        "client": ("127.0.0.1", 1),
        "server": ("simulated", 80),
        "state": {},
    }
    answered: list[Message] = []
    asked = False

    async def receive() -> Message:
        nonlocal asked
        if asked:
            return {"type": "http.disconnect"}
        asked = True
        return {"type": "http.request", "body": sent, "more_body": False}

    async def send(message: Message) -> None:
        answered.append(message)

    await api(scope, receive, send)
    status = next(message["status"] for message in answered if message["type"] == "http.response.start")
    text = b"".join(message.get("body", b"") for message in answered if message["type"] == "http.response.body")
    return Response(status, json.loads(text) if text else None)
