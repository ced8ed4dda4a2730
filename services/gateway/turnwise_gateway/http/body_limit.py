"""No request body above a size is kept in memory."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise_gateway.http.problem import problem

# Seconds for which the next piece of a refused body is waited for, and for which its pieces are read and dropped.
_LINGER, _LONGEST = 5.0, 30.0


class BodyLimit:
    """ASGI middleware: 413 for a body of more than `max_bytes`, announced or not.

    The body is read here, up to the limit, so that what is too large never reaches a parser.
    """

    def __init__(self, app: ASGIApp, max_bytes: int) -> None:
        self._app = app
        self._max = max_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        announced = Headers(scope=scope).get("content-length", "0")
        messages, whole = None, False
        if not announced.isdigit() or int(announced) <= self._max:
            messages, whole = await self._read(receive)
        if messages is None:
            detail = f"the body has more than {self._max} bytes; send less, or raise TURNWISE_MAX_BODY_BYTES"
            response = problem(413, "too_large", detail, headers={"Connection": "close"})
            await response(scope, receive, send if whole else _lingering(receive, send))
            return

        async def replay() -> Message:
            return messages.pop(0) if messages else await receive()

        await self._app(scope, replay, send)

    async def _read(self, receive: Receive) -> tuple[list[Message] | None, bool]:
        """The messages of the body, None as soon as it is too large; and whether its end was read."""
        messages, size, whole = list[Message](), 0, False
        while not whole:
            message = await receive()
            messages.append(message)
            size += len(message.get("body", b""))
            whole = not message.get("more_body", False)
            if size > self._max:
                return None, whole
        return messages, True


def _lingering(receive: Receive, send: Send) -> Send:
    """Send an answer, and end it once the client has sent its body or left (RFC 9112, section 9.6).

    A connection that closes on unread bytes is reset, and the client loses the answer that it has not read yet.
    """

    async def send_and_wait(message: Message) -> None:
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if not last:
            await send(message)
            return
        await send({**message, "more_body": True})
        with suppress(TimeoutError):
            async with asyncio.timeout(_LONGEST):
                while (await asyncio.wait_for(receive(), _LINGER)).get("more_body", False):
                    pass
        await send({"type": "http.response.body"})

    return send_and_wait
