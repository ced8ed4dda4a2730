"""One check of what stands in a path, before any route or any database sees it."""

from __future__ import annotations

import re

from starlette.types import ASGIApp, Receive, Scope, Send

from turnwise.errors import NotFoundError
from turnwise_gateway.http.problem import refusal
from turnwise_gateway.http.root_path import public

# Longer than any id; one of a parked ask has the run's, a frame, a turn and a candidate.
_LONGEST_SEGMENT = 300
# Control characters (PostgreSQL has no NUL in texts), halves of surrogate pairs, and bytes that were no UTF-8.
_FOREIGN = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")


class PathCheck:
    """ASGI middleware: 404 for a path that can name nothing, whatever route it would lead to."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (fault := _fault_in(scope["path"])) is not None:
            error = NotFoundError(f"nothing has such a name: the path {fault}; see {public('/docs')} for what there is")
            await refusal(error)(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _fault_in(path: str) -> str | None:
    if _FOREIGN.search(path):
        return "holds a control character, or what is no UTF-8"
    if any(len(segment) > _LONGEST_SEGMENT for segment in path.split("/")):
        return f"has a part of more than {_LONGEST_SEGMENT} characters"
    return None
