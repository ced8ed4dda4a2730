"""Each request has an id, the client's own or a new one, which answers, logs and the audit log name."""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.contextvars import bind_contextvars

from turnwise.base.ids import new_id

# Where it stands in a request's scope.
REQUEST_ID = "turnwise.request_id"
_FORM = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")


class RequestId:
    """ASGI middleware: takes `X-Request-Id`, if it is a short plain text, and sends it back."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get("x-request-id", "")
        id = scope[REQUEST_ID] = given if _FORM.fullmatch(given) else new_id("req")
        # For every line that is written on the way. It stays bound, because the server logs an error of ours after this
        # call; each request is a task of its own, with a context of its own.
        bind_contextvars(request=id)

        async def tell(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["X-Request-Id"] = id
            await send(message)

        await self._app(scope, receive, tell)
