"""A client follows as many runs as there are, and can still ask for more."""

from __future__ import annotations

import asyncio
import json

from turnwise.client import AsyncClient

# Less than the silence after which a client gives up a stream, which would let the last one in.
SECONDS = 30
# One more than an HTTP client has connections by itself.
RUNS = 101


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer one request: for events with the first one, and no end; any other with a text."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    if "/events" in head.partition("\r\n")[0]:
        first = json.dumps({"seq": 1, "type": "run.accepted", "at": "2026-11-23T00:20:15Z", "run": "run_1"})
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {first}\n\n".encode())
        await writer.drain()
        await reader.read()  # until the client goes away
    else:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nup")
        await writer.drain()
    writer.close()


async def _follow_all() -> str:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    address = "http://{}:{}".format(*server.sockets[0].getsockname()[:2])
    async with server, AsyncClient(address) as client:
        heard = asyncio.Semaphore(0)

        async def follow() -> None:
            async for _ in client.events("run_1"):
                heard.release()

        followers = [asyncio.create_task(follow()) for _ in range(RUNS)]
        for _ in range(RUNS):
            await heard.acquire()
        found = await client.metrics()
        for follower in followers:
            follower.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        return found


def test_a_client_that_follows_many_runs_has_a_connection_left() -> None:
    assert asyncio.run(asyncio.wait_for(_follow_all(), SECONDS)) == "up"
