"""Counts of requests, their outcomes, and the time until an answer begins."""

from __future__ import annotations

import time
from collections.abc import Sequence

from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from turnwise.processes.metrics import Metrics
from turnwise_gateway.access.authentication import is_open
from turnwise_gateway.http.root_path import inner_path

# Where a request's arrival stands in its scope, by the monotonic clock.
ARRIVED = "turnwise.arrived"
# Of what a client may write there, these have a label of their own.
_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"})
_CLASSES = ("2xx", "4xx", "5xx")


class Measured:
    """ASGI middleware, around all others: counts by method, route and class of status; probes and scrapes are left out.

    A route is the template of its path, so an id is never a label; what no route matches is `unmatched`. The time ends
    where the answer begins: event streams last as long as their runs.
    """

    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute], metrics: Metrics) -> None:
        self._app = app
        self._routes = routes
        self._requests = metrics.http_requests_total
        self._seconds = metrics.http_request_duration_seconds
        for status in _CLASSES:  # what an objective is measured by is there from the beginning
            self._requests.labels("POST", "/v1/runs", status)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_open(inner_path(scope)):
            await self._app(scope, receive, send)
            return
        arrived = scope[ARRIVED] = time.monotonic()
        begun = False

        async def look(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._count(scope, message["status"], time.monotonic() - arrived)
            await send(message)

        try:
            await self._app(scope, receive, look)
        except Exception:
            if not begun:
                self._count(scope, 500, time.monotonic() - arrived)
            raise

    def _count(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else "other"
        route = self._route(scope)
        self._requests.labels(method, route, f"{status // 100}xx").inc()
        self._seconds.labels(method, route).observe(seconds)

    def _route(self, scope: Scope) -> str:
        found = scope.get("route")
        if found is None:  # refused before it got to one
            matches = ((one.matches(scope)[0], one) for one in self._routes)
            found = next((one for match, one in matches if match is not Match.NONE), None)
        return str(getattr(found, "path", "unmatched"))
