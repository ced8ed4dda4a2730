"""The ways in which clients reach the server: standard input and output, and HTTP."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable
from types import FrameType

import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.authentication import AuthenticationError
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response

from turnwise.api.access import CallerView
from turnwise.errors import ConfigurationError, EnvironmentFault, PermissionDeniedError, UnauthorizedError
from turnwise.integrations.mcp.transport import WatchedStream
from turnwise.mcp_server.server import TaskServer

# Seconds that calls get to end once the server is told to stop.
_GRACE = 3
PATH = "/mcp"


async def serve_stdio(server: TaskServer) -> None:
    """Serve the client at the other end of standard input and output until it goes away."""

    def gone() -> None:
        server.stopping = True

    # The process reads standard input in a thread that nothing wakes, so a signal ends it at once. What it has begun is
    # in the record, as after a crash.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    protocol = server.protocol
    try:
        async with stdio_server() as (received, sent):
            await protocol.run(WatchedStream(received, gone), sent, protocol.create_initialization_options())
    finally:
        await server.close()


async def serve_http(server: TaskServer, listener: socket.socket, on_ready: Callable[[], None]) -> None:
    """Serve clients over streamable HTTP until SIGINT or SIGTERM; `on_ready` is called once they may come.

    Raises `ConfigurationError` for a gateway that would be open to other machines, `GatewayUnavailableError` for none.
    """
    host = str(listener.getsockname()[0])
    try:
        caller = await _caller(server)
        if caller is not None and host not in ("127.0.0.1", "::1"):
            raise ConfigurationError(
                f"the gateway asks for no key, so whoever reaches {host} could start runs; listen on 127.0.0.1, or set "
                "TURNWISE_AUTH=keys for the gateway"
            )
        on_ready()
        await _HttpServer(_application(server, host, with_keys=caller is None), server).serve([listener])
    finally:
        await server.close()


async def _caller(server: TaskServer) -> CallerView | None:
    """Return whom the gateway takes a caller without a key for; None if it asks for one."""
    try:
        return await server.client(None).caller()
    except UnauthorizedError:
        return None


def _application(server: TaskServer, host: str, *, with_keys: bool) -> Starlette:
    if not with_keys:
        return server.protocol.streamable_http_app(streamable_http_path=PATH, host=host)
    # A proxy in front of it has a name of its own; and whoever has no key gets nowhere by a name that points here.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    # No resource is named: keys are made by an administrator, and no client is sent to an issuer to get one.
    auth = AuthSettings(issuer_url=AnyHttpUrl("http://127.0.0.1"), resource_server_url=None)
    made = server.protocol.streamable_http_app(
        streamable_http_path=PATH, host=host, transport_security=security, auth=auth, token_verifier=_Keys(server)
    )
    for middleware in made.user_middleware:
        made_by: object = middleware.cls
        if made_by is AuthenticationMiddleware:
            middleware.kwargs["on_error"] = _not_let_in
    return made


class _NotLetIn(AuthenticationError):
    """A caller whose key the gateway refuses, or cannot be asked about (503)."""

    def __init__(self, status: int, told: str) -> None:
        super().__init__(told)
        self.status = status


def _not_let_in(connection: HTTPConnection, error: Exception) -> Response:
    """The answer to such a caller, in the form of the errors of OAuth."""
    status = error.status if isinstance(error, _NotLetIn) else 401
    code, header = "invalid_token", {"WWW-Authenticate": 'Bearer error="invalid_token"'}
    if status == 503:
        code, header = "temporarily_unavailable", {"Retry-After": "2"}
    return JSONResponse({"error": code, "error_description": str(error)}, status, header)


class _Keys:
    """Asks the gateway whose a key is, for each request: a key that is revoked is refused at once."""

    def __init__(self, server: TaskServer) -> None:
        self._server = server

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what the key may do; raises `_NotLetIn` for one that the gateway refuses, or does not answer for."""
        try:
            caller = await self._server.client(token).caller()
        except (UnauthorizedError, PermissionDeniedError) as error:
            raise _NotLetIn(401, str(error)) from error
        except EnvironmentFault as error:
            raise _NotLetIn(503, str(error)) from error
        return AccessToken(
            token=token, client_id=caller.name, scopes=[str(scope) for scope in caller.scopes], subject=caller.tenant
        )


class _HttpServer(uvicorn.Server):
    """uvicorn, but it notes first that calls end because it stops, so that their runs continue."""

    def __init__(self, application: Starlette, server: TaskServer) -> None:
        super().__init__(
            uvicorn.Config(
                application,
                log_config=None,
                access_log=False,
                ws="none",
                lifespan="on",
                server_header=False,
                timeout_graceful_shutdown=_GRACE,
            )
        )
        self._tasks = server

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop at a signal."""
        self._tasks.stopping = True
        super().handle_exit(sig, frame)
