"""The loop of Turnwise as a contender: `python -m bench.peers.turnwise_loop WAY [DATABASE_URL BROKER_URL]`."""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import sqlalchemy

from bench import distributed, embedded, served
from bench.counting import first_message, turns_of
from bench.peers import protocol
from bench.run_ends import Ends, EndsInProcess, ends_on_postgres
from bench.threads import THREADS
from bench.tool_loop import app, loop
from turnwise.bus.base import Bus
from turnwise.record.store import Store

# A long loop of many conversations takes minutes.
_PATIENCE = 1_200.0
# The worker that answered carries the run on.
_MOVES = "worker"
_SERVICES = {"distributed": distributed.TOGETHER, "workers": distributed.WORKERS, "pools": distributed.POOLS}
WAYS = ("sync", "async", "embedded-normal", "embedded-full", *_SERVICES)

Play = Callable[[int, int], Mapping[str, Any]]


def main() -> None:
    """Play what is ordered."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("urls", nargs="*", help="of the database and the broker")
    given = parser.parse_args()
    with _ready(given.way, given.urls) as ready:
        protocol.answer(
            ready.play, settings=ready.settings, packages=["turnwise"], pids=ready.pids, stored=ready.stored
        )


class _Ready(NamedTuple):
    play: Play
    settings: dict[str, str]
    pids: Sequence[int] = ()
    stored: Callable[[], float | None] = lambda: None


@contextmanager
def _ready(way: str, urls: list[str]) -> Iterator[_Ready]:
    if way in ("sync", "async"):
        yield _Ready(_play_sync if way == "sync" else _play_async, {"record": "none"})
    elif way in _SERVICES:
        database, broker = urls
        with (
            distributed.running(database, broker, services=_SERVICES[way], moves=_MOVES) as services,
            ends_on_postgres(database) as ends,
        ):
            settings = {"moves": _MOVES, **_asked(services.store, ["synchronous_commit"])}
            served_loop = _ServedLoop(services.store, services.bus, ends)
            yield _Ready(served_loop.play, settings, services.pids, served_loop.stored)
    else:
        synchronous: Literal["NORMAL", "FULL"] = "FULL" if way == "embedded-full" else "NORMAL"
        in_process = EndsInProcess()
        with embedded.server(synchronous=synchronous, moves=_MOVES, ends=in_process) as (store, bus):
            settings = {"moves": _MOVES, **_asked(store, ["journal_mode", "synchronous"])}
            served_loop = _ServedLoop(store, bus, in_process)
            yield _Ready(served_loop.play, settings, (), served_loop.stored)


def _play_sync(turns: int, conversations: int) -> dict[str, float]:
    tasks = [loop() for _ in range(conversations)]
    begun = time.perf_counter()
    if conversations == 1:
        tasks[0].run(first_message(turns))
    else:
        with ThreadPoolExecutor(THREADS) as threads:
            list(threads.map(lambda task: task.run(first_message(turns)), tasks))
    return {"seconds": time.perf_counter() - begun}


def _play_async(turns: int, conversations: int) -> dict[str, float]:
    return {"seconds": asyncio.run(_play_together(turns, conversations))}


async def _play_together(turns: int, conversations: int) -> float:
    tasks = [loop() for _ in range(conversations)]
    begun = time.perf_counter()
    await asyncio.gather(*(task.run_async(first_message(turns)) for task in tasks))
    return time.perf_counter() - begun


class _ServedLoop:
    """Plays on a record, and looks at what the last play left there."""

    def __init__(self, store: Store, bus: Bus, ends: Ends) -> None:
        self._store, self._bus, self._ends = store, bus, ends
        self._moves = served.first_moves(app)
        self._run, self._turns = "", 0

    def play(self, turns: int, conversations: int) -> dict[str, float]:
        runs, seconds = served.play(
            self._store, self._bus, turns, conversations, _PATIENCE, ends=self._ends, moves=self._moves
        )
        self._run, self._turns = runs[0], turns_of(turns)
        return {"seconds": seconds}

    def stored(self) -> float:
        return self._store.inspector.bytes_stored(self._run) / self._turns


def _asked(store: Store, names: list[str]) -> dict[str, str]:
    """These settings of the database, as a connection of the record finds them."""
    command = "SHOW" if store.database.is_postgres else "PRAGMA"
    with store.database.read() as connection:
        return {name: str(connection.execute(sqlalchemy.text(f"{command} {name}")).scalar_one()) for name in names}


if __name__ == "__main__":
    os.environ.setdefault("TURNWISE_LOG_LEVEL", "WARNING")
    main()
