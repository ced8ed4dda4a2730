"""Who may ask: anybody on loopback, or whoever knows the token."""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from turnwise_gateway.problem import problem

# Probes and scrapers have no token, and the API's description holds no secret.
_OPEN = ("/metrics", "/docs", "/docs/oauth2-redirect", "/openapi.json")


class BearerAuth:
    """ASGI middleware: 401 for a request without the token, before anything of it is read."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(scope["path"]) or self._is_known(Headers(scope=scope)):
            await self._app(scope, receive, send)
            return
        detail = "send the header `Authorization: Bearer TOKEN` with the server's token (TURNWISE_AUTH_TOKEN)"
        response = problem(401, "unauthorized", detail, headers={"WWW-Authenticate": "Bearer"})
        await response(scope, receive, send)

    def _is_open(self, path: str) -> bool:
        return path in _OPEN or path.startswith("/health/")

    def _is_known(self, headers: Headers) -> bool:
        scheme, _, token = headers.get("authorization", "").partition(" ")
        # Compared in constant time, or the time taken would tell how much of a guess is right.
        return scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), self._token)
