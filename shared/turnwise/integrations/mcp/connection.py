"""A connection to a server that opens when it is needed, and again when the server went away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pydantic import ValidationError

from turnwise.errors import ConfigurationError, ToolOutcomeUnknownError, ToolServerUnavailableError
from turnwise.integrations.mcp.transport import Address, opened, statuses_noted

# A server that lists its tools on more pages than this never comes to an end.
_MAX_PAGES = 100


# Codes of JSON-RPC with which servers refuse a session: of an invalid request, and that of the TypeScript library.
_NO_SESSION = (-32600, -32001)
# HTTP statuses of a proxy that does not reach the server, or has no answer from it.
_OF_A_PROXY = (502, 503, 504)
# How often an idle session in use looks whether it still is.
_MIN_WAIT = 1.0


class ToolRefusedError(Exception):
    """The server did not carry a call out, or not in time, or its answer cannot be read; the text is for the model."""


class _NotArrivedError(Exception):
    """The call certainly did not reach the server."""


class Connection:
    """Used on the background loop only, where the session with the server lives. Times in seconds."""

    def __init__(self, address: Address, *, connect_timeout: float, idle: float) -> None:
        self._address = address
        self._connect_timeout = connect_timeout
        self._idle = idle
        self._session: _Session | None = None
        self._opening = asyncio.Lock()

    async def tools(self) -> list[Any]:
        """The definitions of all the server's tools; raises `ToolServerUnavailableError`."""
        from mcp import MCPError

        found: list[Any] = []
        cursor: str | None = None
        async with self._session_in_use() as session:
            for _ in range(_MAX_PAGES):
                try:
                    page = await session.client.list_tools(cursor=cursor, cache_mode="refresh")
                except MCPError as error:
                    raise ToolServerUnavailableError(
                        f"the MCP server {self._address} does not list its tools: {error}"
                    ) from error
                except ValidationError as error:
                    raise ToolServerUnavailableError(
                        f"the MCP server {self._address} lists what is no tool of the protocol: {_first_fault(error)}; "
                        "correct the server"
                    ) from error
                found += page.tools
                cursor = page.next_cursor
                if cursor is None:
                    return found
        raise ToolServerUnavailableError(
            f"the MCP server {self._address} lists tools without end ({len(found)} so far)"
        )

    async def call(self, tool: str, arguments: dict[str, Any], timeout: float) -> Any:
        """The result of a tool.

        A session that is known to be over is replaced first. A call that certainly did not reach the server is made
        once more; any other is never repeated. Raises `ToolRefusedError`, `ToolServerUnavailableError`, and
        `ToolOutcomeUnknownError` if the server went away, or is out of reach of its proxy, and may have carried it out.
        """
        try:
            return await self._called(tool, arguments, timeout)
        except _NotArrivedError:
            pass
        try:
            return await self._called(tool, arguments, timeout)
        except _NotArrivedError as error:
            raise ToolServerUnavailableError(f"the MCP server {self._address} went away: {error}") from error

    async def _called(self, tool: str, arguments: dict[str, Any], timeout: float) -> Any:
        from mcp import MCPError

        async with self._session_in_use() as session:
            try:
                with statuses_noted() as statuses:
                    return await session.client.call_tool(tool, arguments, read_timeout_seconds=timeout)
            except MCPError as error:
                failure = error
            except (RuntimeError, ValidationError) as error:
                if isinstance(error, RuntimeError) and tool not in str(error):  # not of the tool's output schema
                    raise
                raise ToolRefusedError(
                    f"the server has answered, but not as the protocol or the tool's output schema says: "
                    f"{_first_fault(error)}"
                ) from error
        forgotten = self._address.url is not None and _session_forgotten(failure)
        if (status := _status_of_a_proxy(failure, statuses)) is not None:
            raise ToolOutcomeUnknownError(
                f"a call of {tool!r} of the MCP server {self._address} was answered by a proxy, with HTTP status "
                f"{status}; whether it was carried out is not known"
            ) from failure
        if not session.ended and not forgotten and not _says_over(failure):
            raise ToolRefusedError(_refusal(failure, timeout)) from failure
        await self._forget(session)
        if forgotten or _never_arrived(session.cause):
            raise _NotArrivedError(str(failure)) from failure
        raise ToolOutcomeUnknownError(
            f"the MCP server {self._address} went away during a call of {tool!r}; "
            "whether it was carried out is not known"
        ) from failure

    async def close(self) -> None:
        """End the session, if there is one; the next call opens another."""
        if self._session is not None:
            await self._forget(self._session)

    async def _forget(self, session: _Session) -> None:
        if self._session is session:
            self._session = None
        await session.close()

    @asynccontextmanager
    async def _session_in_use(self) -> AsyncIterator[_Session]:
        """An open session, which is not closed as idle meanwhile."""
        async with self._opening:
            if self._session is not None and self._session.ended:
                await self._forget(self._session)
            session = self._session or _Session(self._address, idle=self._idle, timeout=self._connect_timeout)
            session.in_use += 1
            try:
                if self._session is None:
                    await self._opened(session)
                    self._session = session
            except BaseException:
                session.in_use -= 1
                raise
        try:
            yield session
        finally:
            session.released()

    async def _opened(self, session: _Session) -> None:
        try:
            await asyncio.wait_for(asyncio.shield(session.ready), self._connect_timeout)
        except TimeoutError as error:
            await session.close(at_once=True)
            raise ToolServerUnavailableError(
                f"the MCP server {self._address} did not answer within {self._connect_timeout:g} s; "
                "is it an MCP server? A slow one needs a longer connect_timeout"
            ) from error
        except ImportError as error:
            raise ConfigurationError("tools of MCP servers need an extra: pip install 'turnwise[mcp]'") from error
        except Exception as error:
            cause = "; ".join(str(part) or type(part).__name__ for part in _leaves(error))
            raise ToolServerUnavailableError(
                f"the MCP server {self._address} cannot be reached: {cause}; start it, or correct its address"
            ) from error


class _Session:
    """A client and the task that keeps it open, because it must be closed by the task that opened it."""

    def __init__(self, address: Address, *, idle: float, timeout: float) -> None:
        self.client: Any = None
        self.cause: BaseException | None = None
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.in_use = 0
        self._address = address
        self._idle = idle
        self._timeout = timeout
        self._last_use = time.monotonic()
        self._over = False
        self._closing = asyncio.Event()
        self._keeper = asyncio.create_task(self._keep())

    @property
    def ended(self) -> bool:
        """Return whether the connection can no longer serve a call."""
        return self._over or self._closing.is_set() or self._keeper.done()

    def released(self) -> None:
        """Count one user less."""
        self.in_use -= 1
        self._last_use = time.monotonic()

    async def close(self, *, at_once: bool = False) -> None:
        """Let the keeper close it, and wait for that; `at_once` also while it is still being opened."""
        self._closing.set()
        if at_once:
            self._keeper.cancel()
        await asyncio.wait([self._keeper])

    async def _keep(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                self.client = await opened(self._address, stack, self._timeout, self._end)
                self.ready.set_result(None)
                await self._until_idle()
                self._closing.set()
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - kept, and raised by whoever uses it
            # Of a transport that broke: whoever waits for the session, or calls it next, is told.
            self.cause = error
            if not self.ready.done():
                self.ready.set_exception(error if isinstance(error, Exception) else ConnectionError("interrupted"))
                self.ready.exception()

    def _end(self) -> None:
        self._over = True

    async def _until_idle(self) -> None:
        while not self._closing.is_set():
            left = self._idle - (time.monotonic() - self._last_use)
            if left <= 0 and not self.in_use:
                return
            try:
                await asyncio.wait_for(self._closing.wait(), max(left, _MIN_WAIT))
            except TimeoutError:
                continue


def _refusal(error: Any, timeout: float) -> str:
    from mcp_types.jsonrpc import REQUEST_TIMEOUT

    if error.code == REQUEST_TIMEOUT:
        return f"no answer within {timeout:g} s; whether it was carried out is not known"
    return str(error)


def _first_fault(error: RuntimeError | ValidationError) -> str:
    """Return what is wrong with a server's answer, in a line."""
    if not isinstance(error, ValidationError):
        return str(error).partition("\n")[0]
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"


def _says_over(error: Any) -> bool:
    from mcp_types.jsonrpc import CONNECTION_CLOSED

    return bool(error.code == CONNECTION_CLOSED)


def _session_forgotten(error: Any) -> bool:
    """Return whether a server over HTTP has forgotten the session, as one that was restarted.

    A tool may use these words as well, but not with a code of the protocol itself.
    """
    return error.code in _NO_SESSION and str(error) in ("Session terminated", "Session not found")


def _status_of_a_proxy(error: Any, statuses: list[int]) -> int | None:
    """Return the status that a proxy has given in place of the server's answer; None if the answer is the server's."""
    # The library's words for an answer that is no message of the protocol, which a server may send with these statuses.
    if str(error) != "Server returned an error response":
        return None
    return next((status for status in statuses if status in _OF_A_PROXY), None)


def _never_arrived(cause: BaseException | None) -> bool:
    from httpx2 import ConnectError, ConnectTimeout

    return any(isinstance(part, ConnectError | ConnectTimeout) for part in _leaves(cause))


def _leaves(error: BaseException | None) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part)
    elif error is not None:
        yield error
