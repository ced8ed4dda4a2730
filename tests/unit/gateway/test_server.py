from __future__ import annotations

import asyncio
import socket

from turnwise.base.listening import listen


def test_an_accepted_connection_sends_small_answers_at_once() -> None:
    """An answer is written in two pieces; without TCP_NODELAY the second waits 40 ms for the first to be confirmed."""

    async def accepted() -> int:
        delays: asyncio.Queue[int] = asyncio.Queue()

        async def look(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            delays.put_nowait(
                writer.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY),
            )
            writer.close()

        listener = listen("127.0.0.1", 0, "TURNWISE_BIND")
        async with await asyncio.start_server(look, sock=listener):
            _, writer = await asyncio.open_connection(*listener.getsockname())
            writer.close()
            return await delays.get()

    assert asyncio.run(accepted()) != 0
