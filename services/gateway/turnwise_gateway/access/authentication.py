"""The door: who asks is known before anything else of a request is read, or it is sent away."""

from __future__ import annotations

import logging

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.errors import PermissionDeniedError, TurnwiseError, UnauthorizedError
from turnwise.record.roles.authentication import AuthenticationRole
from turnwise.record.tenants.caller import Caller
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise_gateway.access.identity import Identity, limits_of
from turnwise_gateway.access.local_only import check_local
from turnwise_gateway.access.sign_in_cookie import check_page, clear_cookies, token_in_cookie
from turnwise_gateway.http.problem import refusal
from turnwise_gateway.http.root_path import inner_path

logger = logging.getLogger(__name__)

# Where the caller stands in a request's scope.
CALLER = "turnwise.caller"
# And the token that it was known by, where there is one.
TOKEN = "turnwise.token"
# And the flag that a browser's cookie had it.
BY_COOKIE = "turnwise.by_cookie"
# Probes and scrapers have no token; the API's description and the console's files hold no secret.
_OPEN = ("/", "/metrics", "/docs", "/openapi.json")
_OPEN_BELOW = ("/health/", "/console/")
_PRIVATE = {
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
# Of the route by which the console asks who is signed in.
_SIGN_IN = "/v1/sign-in"
# Characters of a path in a log line.
_LONGEST = 200


class Authentication:
    """ASGI middleware: puts the `Caller` into the request's scope, or answers 401 or 403.

    A header `Authorization` decides alone, right or wrong; only without one the sign-in cookie counts. Without an
    `identity` everybody on this machine is the default tenant and may do everything.
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
            if isinstance(error, UnauthorizedError | PermissionDeniedError) and not _asks_who(scope):
                _tell(scope, error, answer.status_code)
            if isinstance(error, UnauthorizedError) and scope.get(BY_COOKIE):
                clear_cookies(answer, scope)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, _for_the_console(send) if scope.get(BY_COOKIE) else send)

    async def _caller(self, scope: Scope) -> Caller | None:
        headers = Headers(scope=scope)
        if self._identity is None:
            check_local(scope["method"], headers)
        if is_open(inner_path(scope)):
            return None
        if self._identity is None:
            return Caller(name="anybody", limits=await limits_of(self._record, DEFAULT_TENANT))
        scope[TOKEN] = _token(scope, headers)
        return await self._identity.caller(scope[TOKEN])


def _token(scope: Scope, headers: Headers) -> str:
    """The key or token that the request was sent with; raises `UnauthorizedError` and `PermissionDeniedError`."""
    if "authorization" not in headers:
        scope[BY_COOKIE] = True
        kept = token_in_cookie(scope)
        if kept is not None:
            check_page(scope["method"], headers)
            return kept
        scope[BY_COOKIE] = False
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise UnauthorizedError("send the header `Authorization: Bearer` with the server's token or an API key")
    return token.strip()


def _for_the_console(send: Send) -> Send:
    """Have no cache keep the answer, and no other page embed it.

    Shared caches keep no answer to `Authorization`, but know nothing of our cookie. On plain http browsers do not say
    which page an image or a script is for, so the answer says that it is for none of another origin.
    """

    async def tell(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_PRIVATE)
        await send(message)

    return tell


def _asks_who(scope: Scope) -> bool:
    """Return whether a page asks who is signed in, and sends nothing to be known by: that refuses no one anything."""
    sent = scope.get(BY_COOKIE) or "authorization" in Headers(scope=scope)
    return scope["method"] == "GET" and inner_path(scope) == _SIGN_IN and not sent


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
    return path in _OPEN or path.startswith(_OPEN_BELOW)
