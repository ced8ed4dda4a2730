"""The ways to reach a server: a command to start, a URL, or a server in this process."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from turnwise.base.json_bounds import as_unicode
from turnwise.errors import ConfigurationError


@dataclass(frozen=True, kw_only=True)
class Address:
    """The address of a server.

    `server` is a URL, a command line, the words of a command, or a server object of the protocol's library. `headers`
    go with every request to a URL; `env` (on top of what is safe to inherit) and `cwd` are the command's.
    """

    server: Any
    headers: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | Path | None = None
    # A URL of the older form of HTTP, server-sent events.
    sse: bool = False

    def __str__(self) -> str:
        """The address for errors and logs. A URL's user and query and a program's arguments may be credentials."""
        if self.url is not None:
            scheme, _, rest = re.split(r"[?#]", self.url, maxsplit=1)[0].partition("://")
            host, slash, path = rest.partition("/")
            return f"{scheme}://{host.rpartition('@')[2]}{slash}{path}"
        if self.command is not None:
            return shlex.quote(self.command[0]) if self.command else "''"
        return f"{type(self.server).__name__} in this process"

    @property
    def url(self) -> str | None:
        """The URL, if it is one."""
        is_url = isinstance(self.server, str) and self.server.startswith(("http://", "https://"))
        return self.server if is_url else None

    @property
    def command(self) -> list[str] | None:
        """The words of the command, if it is one."""
        if isinstance(self.server, str):
            return None if self.url is not None else shlex.split(self.server)
        return [str(word) for word in self.server] if isinstance(self.server, Sequence) else None

    def check(self) -> None:
        """Raise `ConfigurationError` for what cannot be right."""
        if self.command == []:
            raise ConfigurationError("the command of an MCP server is empty; give it as 'program argument ...'")
        if self.headers and self.url is None:
            raise ConfigurationError(f"headers are for the URL of an MCP server, but {self} is none")
        if (self.env or self.cwd) and self.command is None:
            raise ConfigurationError(f"env and cwd are for the command of an MCP server, but {self} is none")


_statuses: ContextVar[list[int] | None] = ContextVar("statuses of a call's answers", default=None)


@contextmanager
def statuses_noted() -> Iterator[list[int]]:
    """Gather the HTTP statuses of the answers to what is sent within; the protocol's library does not tell them."""
    noted: list[int] = []
    token = _statuses.set(noted)
    try:
        yield noted
    finally:
        _statuses.reset(token)


async def _note_status(response: Any) -> None:
    # The library sends each message in the context of whoever gave it to the session.
    noted = _statuses.get()
    if noted is not None:
        noted.append(response.status_code)


async def opened(address: Address, stack: AsyncExitStack, timeout: float, on_end: Callable[[], None]) -> Any:
    """A connected client of the protocol's library, closed with `stack`.

    `timeout` is for each of its requests that brings none of its own. `on_end` tells that a process went away."""
    from mcp import Client, StdioServerParameters
    from mcp.client.streamable_http import streamable_http_client
    from mcp.shared._httpx_utils import create_mcp_http_client

    server = address.server
    if address.sse:
        from mcp.client.sse import sse_client

        server = sse_client(address.url or "", headers=dict(address.headers))
    elif address.url is not None:
        http = await stack.enter_async_context(create_mcp_http_client(headers=dict(address.headers)))
        http.event_hooks = {"response": [_note_status]}
        server = streamable_http_client(address.url, http_client=http)
    elif address.command is not None:
        program, *arguments = address.command
        parameters = StdioServerParameters(
            command=program,
            args=arguments,
            env=dict(address.env) or None,
            cwd=address.cwd,
            # By default the library stops reading at a byte that is not UTF-8, and no call is answered from then on.
            encoding_error_handler="replace",
        )
        server = _process(parameters, on_end)
    return await stack.enter_async_context(Client(server, read_timeout_seconds=timeout))


@asynccontextmanager
async def _process(parameters: Any, on_end: Callable[[], None]) -> AsyncIterator[Any]:
    from mcp import stdio_client

    started: AbstractAsyncContextManager[Any] = stdio_client(parameters, sys.__stderr__ or sys.stderr)
    async with started as (read, write):
        yield WatchedStream(read, on_end), write


class WatchedStream:
    """A stream of a process's messages that tells when the other side has ended it, and mends texts that were cut."""

    def __init__(self, stream: Any, on_end: Callable[[], None]) -> None:
        self._stream = stream
        self._on_end = on_end

    def __aiter__(self) -> WatchedStream:
        return self

    async def __anext__(self) -> Any:
        try:
            return _mended(await self._stream.__anext__())
        except StopAsyncIteration:
            self._on_end()
            raise

    async def receive(self) -> Any:
        return _mended(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> WatchedStream:
        await self._stream.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._stream.__aexit__(*error)


def _mended(item: Any) -> Any:
    """The message in a line with half of a surrogate pair, which is a question mark then; any other item itself.

    Programs whose texts are UTF-16, such as those of Node.js, write one where they have cut a text within an emoji. The
    protocol's library does not read the line, and whoever waits for the answer would wait until the call's time is up.
    """
    if not isinstance(item, ValidationError):
        return item
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter

    fault = item.errors(include_url=False)[0]
    try:
        line = as_unicode(json.dumps(json.loads(fault["input"]), ensure_ascii=False))
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (TypeError, ValueError, RecursionError):  # it is not JSON for another reason, or no message
        return item
