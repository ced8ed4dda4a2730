"""Refused changes: the audit log has them, too."""

from __future__ import annotations

import logging

from starlette.concurrency import run_in_threadpool
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.errors import DatabaseUnavailableError, UnwritableError
from turnwise.record.roles.authentication import AuthenticationRole
from turnwise.record.tenants.caller import Caller, Deed
from turnwise_gateway.access.authentication import CALLER
from turnwise_gateway.http.request_id import REQUEST_ID
from turnwise_gateway.http.root_path import inner_path

logger = logging.getLogger(__name__)

_READS = ("GET", "HEAD", "OPTIONS")
_LONGEST = 300


class RefusedChanges:
    """ASGI middleware: notes who sent a request that would have changed something, before it is answered with 4xx,
    429 apart.

    Nothing has changed then, so it is a transaction of its own; what is done is noted with the change itself. Whoever
    has the answer finds the row.
    """

    def __init__(self, app: ASGIApp, record: AuthenticationRole) -> None:
        self._app = app
        self._record = record

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = scope.get(CALLER)
        if scope["type"] != "http" or not isinstance(caller, Caller) or scope["method"] in _READS:
            await self._app(scope, receive, send)
            return

        async def note_and_send(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_noted(message["status"]):
                path = inner_path(scope)[:_LONGEST]
                await run_in_threadpool(self._note, deed_in(scope, caller), path, message["status"])
            await send(message)

        await self._app(scope, receive, note_and_send)

    def _note(self, deed: Deed, path: str, status: int) -> None:
        try:
            self._record.note_refused(deed, path, status)
        except (DatabaseUnavailableError, UnwritableError) as error:
            logger.warning("A refusal is not in the audit log: %s", error, extra={"action": "refusal_not_noted"})


def _is_noted(status: int) -> bool:
    # A client that sends too many requests would write a row with each of them.
    return 400 <= status < 500 and status != 429


def deed_in(scope: Scope, caller: Caller) -> Deed:
    """Return the action of the request in this scope, should it succeed."""
    route, client = scope.get("route"), scope.get("client")
    return Deed(
        actor=caller.name,
        tenant=caller.tenant,
        action=getattr(route, "name", scope["method"].lower()),
        address=client[0] if client else None,
        request_id=scope.get(REQUEST_ID),
    )
