"""A path that proxies put in front of everything, `/turnwise/v1/runs` for `/v1/runs`.

Some proxies take it off before they pass a request on, others leave it. Both are understood: inside, every request's
path has it (as ASGI wants it), and every path that is told to a client has it, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from turnwise.errors import ConfigurationError

_ROOT: ContextVar[str] = ContextVar("turnwise_root_path", default="")


class RootPath:
    """ASGI middleware, the outermost: gives each request's path the root path, unless it has it already."""

    def __init__(self, app: ASGIApp, root: str) -> None:
        self._app = app
        self._root = root

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        _ROOT.set(self._root)
        inner = without_root(scope["path"], self._root)
        # Not in a copy: what is noted in the scope, as the route, is looked for around this, too.
        scope["root_path"], scope["path"] = self._root, self._root + inner
        await self._app(scope, receive, send)


def public(path: str) -> str:
    """The path as clients have to ask for it; within a request."""
    return _ROOT.get() + path


def inner_path(scope: Scope) -> str:
    """A request's path as the routes have it."""
    return without_root(scope["path"], scope.get("root_path", ""))


def without_root(path: str, root: str) -> str:
    """The path without the root path, where it begins with that; `/` for the root path itself."""
    is_below = bool(root) and (path == root or path.startswith(f"{root}/"))
    return path[len(root) :] or "/" if is_below else path


def check_root(routes: Iterable[BaseRoute], root: str) -> None:
    """Raise `ConfigurationError` for a root path that is a path of ours: both would mean the same request."""
    for route in routes:
        if isinstance(route, Route) and without_root(route.path, root) != route.path:
            raise ConfigurationError(
                f"TURNWISE_ROOT_PATH is {root!r}, which the gateway's own path {route.path} begins with; choose another"
            )
