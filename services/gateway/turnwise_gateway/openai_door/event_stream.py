"""Server-sent events as OpenAI's clients read them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from typing import Any

from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

DONE = format_sse_event(data_str="[DONE]")
_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}


def event(data: dict[str, Any], kind: str | None = None) -> bytes:
    """An event with JSON."""
    return format_sse_event(data_str=json.dumps(data, separators=(",", ":")), event=kind)


class DoorStream(StreamingResponse):
    """A stream whose source ends with it, also when the client leaves."""

    def __init__(self, events: AsyncGenerator[bytes], headers: dict[str, str]) -> None:
        super().__init__(events, headers=_HEADERS | headers, media_type="text/event-stream")
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._events.aclose()


KEEPALIVE = KEEPALIVE_COMMENT
