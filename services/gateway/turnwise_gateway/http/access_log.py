"""The access log: a line for each request, once its answer has ended."""

from __future__ import annotations

import logging
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.record.tenants.caller import Caller
from turnwise_gateway.access.authentication import CALLER, is_open
from turnwise_gateway.http.root_path import inner_path

logger = logging.getLogger(__name__)


class AccessLog:
    """ASGI middleware. It tells of the route's template, and of the run alone what identifies it: paths hold no secret,
    but queries and bodies may.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not logger.isEnabledFor(logging.INFO):
            await self._app(scope, receive, send)
            return
        status, begun = 500, time.monotonic()

        async def look(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, look)
        finally:
            _tell(scope, status, time.monotonic() - begun)


def _tell(scope: Scope, status: int, seconds: float) -> None:
    route, caller, client = scope.get("route"), scope.get(CALLER), scope.get("client")
    # Without a route there is only what someone wrote, of any length.
    template = getattr(route, "path_format", None) or "(none)"
    told = {
        "method": scope["method"],
        "route": template,
        "status": status,
        "ms": round(seconds * 1000, 1),
        "client": client[0] if client else None,
    }
    if isinstance(caller, Caller):
        told |= {"tenant": caller.tenant, "caller": caller.name}
    if run := scope.get("path_params", {}).get("run_id"):
        told["run"] = run
    if is_open(inner_path(scope)):
        logger.debug("%s %s %d", scope["method"], template, status, extra={"action": "probe_served", **told})
    else:
        logger.info("%s %s %d", scope["method"], template, status, extra={"action": "request_served", **told})
