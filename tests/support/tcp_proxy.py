"""A TCP proxy on loopback that spoils connections: cut, half-open, slow, refused.

It stands between a process and its database or broker, which know nothing of it. Call it from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from typing import Literal, TypeVar
from urllib.parse import urlsplit, urlunsplit

T = TypeVar("T")

# What is made of new connections, and of those that are there: carried, swallowed without a sign, or closed at once.
Mode = Literal["carry", "swallow", "refuse"]

_CHUNK = 65536
_DEFAULT_PORTS = {"postgresql": 5432, "amqp": 5672, "redis": 6379, "http": 80}
# Closing with this sends a reset instead of waiting for what is still to be sent.
_AT_ONCE = struct.pack("ii", 1, 0)


def address_in(url: str) -> tuple[str, int]:
    """Host and port that a URL names; the usual port of its kind where it names none."""
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or _DEFAULT_PORTS[parts.scheme]


class TcpProxy:
    """Listens on `port` (0: any free one) and carries to `target`, (host, port); ends with `close` or `with`."""

    def __init__(self, target: tuple[str, int], port: int = 0) -> None:
        self.target = target
        # How many connections have come so far.
        self.accepted = 0
        self._mode: Mode = "carry"
        self._delay = 0.0
        self._links: set[_Link] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tcp-proxy", daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._accept, "127.0.0.1", port), self._loop
        ).result()
        self.port: int = self._server.sockets[0].getsockname()[1]

    def url(self, direct: str) -> str:
        """The same URL with the proxy's address; the one given has to be the target's."""
        parts = urlsplit(direct)
        if (found := address_in(direct)) != self.target:
            raise ValueError(f"this proxy carries to {self.target}, the URL names {found}")
        who, at, _ = parts.netloc.rpartition("@")
        return urlunsplit(parts._replace(netloc=f"{who}{at}127.0.0.1:{self.port}"))

    def cut(self) -> int:
        """Reset all connections there are, and say how many; new ones are carried as before."""
        return self._call(self._cut)

    def swallow(self) -> None:
        """Half-open: from now on connections live and carry nothing, new ones too; `heal` ends that."""
        self._set("swallow")

    def carry_new(self) -> None:
        """Half-open for good: the connections there are carry nothing any more, new ones are carried."""
        self._call(self._carry_new)

    def refuse(self) -> None:
        """Reset all connections there are, and each new one, until `heal`."""
        self._set("refuse")
        self.cut()

    def delay(self, seconds: float) -> None:
        """Hold back everything that comes for so long, each way; 0 ends that."""
        self._call(lambda: setattr(self, "_delay", seconds))

    def heal(self) -> None:
        """Carry again without delay; a connection that was half-open is reset, as bytes of it are lost."""
        self._call(self._heal)

    def connections(self) -> int:
        """Return the number of connections."""
        return self._call(lambda: len(self._links))

    def close(self) -> None:
        """Reset all connections, and listen no more."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> TcpProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, work: Callable[[], T]) -> T:
        async def on_loop() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(on_loop(), self._loop).result()

    def _set(self, mode: Mode) -> None:
        self._call(lambda: setattr(self, "_mode", mode))

    def _cut(self) -> int:
        for link in self._links:
            link.reset()
        return len(self._links)

    def _carry_new(self) -> None:
        self._mode = "carry"
        for link in self._links:
            link.swallowed = True

    def _heal(self) -> None:
        self._mode, self._delay = "carry", 0.0
        for link in self._links:
            if link.swallowed:
                link.reset()

    async def _close(self) -> None:
        self._server.close()
        self._cut()
        await asyncio.gather(*(link.over.wait() for link in tuple(self._links)))
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        link = _Link(reader, writer)
        self._links.add(link)
        try:
            if self._mode == "refuse":
                link.reset()
            else:
                await link.carry(self)
        finally:
            self._links.discard(link)
            link.over.set()

    async def deliver(self, link: _Link, chunk: bytes, to: asyncio.StreamWriter) -> None:
        """Pass on what came, as the proxy is set now."""
        if self._delay:
            await asyncio.sleep(self._delay)
        if self._mode == "swallow" or link.swallowed:
            link.swallowed = True
            return
        to.write(chunk)
        await to.drain()


class _Link:
    """A connection to the proxy and the one that it made for it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.swallowed = False
        self.over = asyncio.Event()
        self._reader = reader
        self._writers = [writer]
        self._ways: list[asyncio.Task[None]] = []
        self._reset = False

    async def carry(self, proxy: TcpProxy) -> None:
        """Both ways, until one end closes or somebody resets it."""
        try:
            back, there = await asyncio.open_connection(*proxy.target)
        except OSError:  # nobody listens: as if this were the server's own port
            self.reset()
            return
        here = self._writers[0]
        self._writers.append(there)
        if self._reset:
            self.reset()
            return
        ways = ((self._reader, there), (back, here))
        self._ways = [asyncio.create_task(self._one_way(proxy, *way)) for way in ways]
        await asyncio.wait(self._ways, return_when=asyncio.FIRST_COMPLETED)
        for way in self._ways:
            way.cancel()
        await asyncio.wait(self._ways)
        for writer in self._writers:
            writer.close()

    def reset(self) -> None:
        """Close both ends at once, with a reset."""
        self._reset = True
        for writer in self._writers:
            end: socket.socket = writer.get_extra_info("socket")
            with contextlib.suppress(OSError):  # closed already
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
            writer.transport.abort()

    async def _one_way(self, proxy: TcpProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                await proxy.deliver(self, chunk, writer)
