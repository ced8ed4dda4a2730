"""`python -m bench.console_viewers`: the CPU that a gateway spends on people who look at the console.

A run carries on, its model writing piece by piece. Some browsers follow its events with their text, others have the
list of runs open. All ask for what they show, and for the number in the inbox, as often as the console does. Each
combination is measured for some seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.e2e.processes import Process, free_port
from tests.e2e.waiting import until
from tests.support.brokers import BrokerMissing
from tests.support.databases import NoPostgresError

from bench.installation import Installation, installation
from bench.processes import cpu_seconds

# Seconds between two requests of a console that shows the list of runs, and of any console for the inbox's number.
_LIST_EVERY = 3.0
_COUNT_EVERY = 6.0
_LIST = "/v1/runs?limit=30"
_COUNT = "/v1/inbox/count"
_RUNS = 100
_READ = 65_536


@dataclass(kw_only=True)
class Received:
    """The answers, events and pieces that viewers received."""

    events: int = 0
    pieces: int = 0
    answers: int = 0
    bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Load:
    """The cost of so many viewers; `cpu` is the gateway's, in seconds a second."""

    followers: int
    lists: int
    cpu: float
    seconds: float
    received: Received

    def __str__(self) -> str:
        each = self.seconds
        got = self.received
        return (
            f"{self.followers:>9}{self.lists:>7}{self.cpu * 100:>9.1f} %{got.events / each:>11.0f}"
            f"{got.pieces / each:>11.0f}{got.answers / each:>11.1f}{got.bytes / each / 1e6:>9.2f}"
        )


class Viewers:
    """Browsers, as far as the gateway can tell."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.received = Received()

    async def follow(self, run: str, after: int) -> None:
        """Read a run's events behind those that the page has read with the transcript."""
        reader, writer = await self._ask(f"/v1/runs/{run}/events?text=true&after={after}")
        try:
            while data := await reader.read(_READ):
                pieces = data.count(b"event: llm.delta")
                self.received.pieces += pieces
                self.received.events += data.count(b"event: ") - pieces
                self.received.bytes += len(data)
        finally:
            writer.close()

    async def repeat(self, path: str, every: float, share: float) -> None:
        """Ask for something again and again; `share` of the first interval is waited for."""
        await asyncio.sleep(every * share)
        while True:
            reader, writer = await self._ask(path)
            self.received.bytes += len(await reader.read(-1))
            self.received.answers += 1
            writer.close()
            await asyncio.sleep(every)

    async def _ask(self, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=2**20)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        return reader, writer


async def look(port: int, pid: int, run: str, *, after: int, followers: int, lists: int, seconds: float) -> Load:
    """Measure so many viewers for so many seconds."""
    viewers = Viewers(port)
    work: list[Coroutine[Any, Any, None]] = [viewers.follow(run, after) for _ in range(followers)]
    for number in range(lists):
        work.append(viewers.repeat(_LIST, _LIST_EVERY, number / lists))
    for number in range(followers + lists):
        work.append(viewers.repeat(_COUNT, _COUNT_EVERY, number / (followers + lists)))
    tasks = [asyncio.create_task(one) for one in work]
    await asyncio.sleep(_LIST_EVERY)
    viewers.received = Received()
    cpu, begun = cpu_seconds([pid]), time.monotonic()
    await asyncio.sleep(seconds)
    took = time.monotonic() - begun
    load = Load(
        followers=followers,
        lists=lists,
        cpu=(cpu_seconds([pid]) - cpu) / took,
        seconds=took,
        received=viewers.received,
    )
    for task in tasks:
        task.cancel()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks, return_exceptions=True)
    return load


def _gateway(installed: Installation) -> tuple[int, Process]:
    port = free_port()
    gateway = installed.start("gateway", bind=f"127.0.0.1:{port}")
    until(lambda: _answers(port), "the gateway")
    return port, gateway


def _answers(port: int) -> bool:
    async def connect() -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()

    with suppress(OSError):
        asyncio.run(connect())
        return True
    return False


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.console_viewers", description=__doc__)
    parser.add_argument("--followers", type=int, default=200, help="who follow one run")
    parser.add_argument("--lists", type=int, default=50, help="who have the list of runs open")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    given = parser.parse_args()
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    print("followers  lists  CPU of a core   events/s   pieces/s  answers/s     MB/s")
    try:
        with installation() as installed:
            for _ in range(_RUNS):
                installed.submit(0, 0.0)
            installed.start("worker", "--concurrency", "4").wait_ready()
            until(lambda: not installed.parts.store.monitor.active_runs(), "the runs of the list to end", patience=120)
            port, gateway = _gateway(installed)
            run = installed.submit(100_000, 0.5, 0.1)
            for followers, lists in ((0, 0), (0, given.lists), (given.followers, 0), (given.followers, given.lists)):
                after = installed.parts.store.inspector.run(run).last_seq
                load = look(
                    port, gateway.pid, run, after=after, followers=followers, lists=lists, seconds=given.seconds
                )
                print(asyncio.run(load), flush=True)
    except (BrokerMissing, NoPostgresError) as missing:
        sys.exit(f"not measured: {missing}")


if __name__ == "__main__":
    main()
