"""The door: who asks is known before anything else of a request is read, or it is sent away."""

from __future__ import annotations

import logging

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from turnwise.errors import PermissionDeniedError, TurnwiseError, UnauthorizedError
from turnwise.record.roles.authentication import AuthenticationRole
from turnwise.record.tenants.caller import Caller
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise_gateway.access.identity import Identity, limits_of
from turnwise_gateway.access.local_only import check_local
from turnwise_gateway.http.problem import refusal
from turnwise_gateway.http.root_path import inner_path

logger = logging.getLogger(__name__)

# Where the caller stands in a request's scope.
CALLER = "turnwise.caller"
# And the token that it was known by, where there is one.
TOKEN = "turnwise.token"
# Probes and scrapers have no token, and the API's description holds no secret.
_OPEN = ("/metrics", "/docs", "/docs/oauth2-redirect", "/openapi.json")
# Characters of a path in a log line.
_LONGEST = 200


class Door:
    """ASGI middleware: puts the `Caller` into the request's scope, or answers 401 or 403.

    Without an `identity` everybody on this machine is the default tenant and may do everything.
    """

    def __init__(self, app: ASGIApp, record: AuthenticationRole, identity: Identity | None) -> None:
        self._app = app
        self._record = record
        self._identity = identity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            scope[CALLER] = await self._caller(scope)
        except TurnwiseError as error:
            answer = refusal(error)
            if isinstance(error, UnauthorizedError | PermissionDeniedError):
                _tell(scope, error, answer.status_code)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller | None:
        headers = Headers(scope=scope)
        if self._identity is None:
            check_local(scope["method"], headers)
        if is_open(inner_path(scope)):
            return None
        if self._identity is None:
            return Caller(name="anybody", limits=await limits_of(self._record, DEFAULT_TENANT))
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise UnauthorizedError("send the header `Authorization: Bearer` with the server's token or an API key")
        scope[TOKEN] = token.strip()
        return await self._identity.caller(token.strip())


def _tell(scope: Scope, error: TurnwiseError, status: int) -> None:
    client = scope.get("client")
    extra = {
        "action": "sign_in_refused",
        "why": error.code,
        "status": status,
        "method": scope["method"],
        "path": scope["path"][:_LONGEST],
        "client": client[0] if client else None,
    }
    logger.warning("A request is turned away: %s", error, extra=extra)


def is_open(path: str) -> bool:
    """Return whether everybody may ask for it."""
    return path in _OPEN or path.startswith("/health/")
