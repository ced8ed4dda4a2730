"""Coordinator and workers as processes of their own, on PostgreSQL and a broker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench import served
from bench.result import Result
from bench.run_ends import ends_on_postgres
from bench.threads import POOL_THREADS, THREADS
from turnwise.app import App
from turnwise.bus.base import Bus
from turnwise.processes.bootstrap import open_parts
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database
from turnwise.record.store import Store

WARM_UP = 10

_ROOT = Path(__file__).parent.parent
_COORDINATOR = ("coordinator", "--concurrency", "4")
# One worker for models and another for tools: each turn goes from the one to the other.
POOLS = (
    _COORDINATOR,
    ("worker", "-Q", "llm", "--concurrency", str(POOL_THREADS)),
    ("worker", "-Q", "agent", "--concurrency", str(POOL_THREADS)),
)
# One worker that serves both queues, and two of them: a process runs Python code on one core at a time.
_WORKER = ("worker", "-Q", "llm,agent", "--concurrency", str(THREADS))
TOGETHER = (_COORDINATOR, _WORKER)
WORKERS = (*TOGETHER, _WORKER)


@dataclass(frozen=True, kw_only=True)
class Running:
    """Services that run, and what this process needs to give them work and to look at it."""

    store: Store
    bus: Bus
    app: App
    # Of the services, and of this process, which accepts the runs.
    pids: list[int]


def measure(
    way: str,
    database_url: str,
    broker_url: str,
    loops: list[tuple[int, int]],
    *,
    moves: str = "worker",
    app: str = "bench.tool_loop:app",
    variables: Mapping[str, str] | None = None,
    services: Sequence[Sequence[str]] = POOLS,
) -> list[Result]:
    """One set of processes, and in it each of `loops`: (turns, conversations at once).

    `app` is the application that the processes load; `variables` are added to their environment. Before the loops they
    answer `WARM_UP` turns.
    """
    with (
        running(database_url, broker_url, services=services, moves=moves, app=app, variables=variables) as parts,
        ends_on_postgres(database_url) as ends,
    ):
        first = served.first_moves(parts.app) if moves == "worker" else None

        def measured(turns: int, conversations: int) -> Result:
            return served.measure(
                way, parts.store, parts.bus, turns, conversations, lambda: parts.pids, ends=ends, moves=first
            )

        measured(WARM_UP, 1)  # until everybody has connected
        return [measured(turns, n) for turns, n in loops]


@contextmanager
def running(
    database_url: str,
    broker_url: str,
    *,
    services: Sequence[Sequence[str]] = POOLS,
    moves: str = "worker",
    app: str = "bench.tool_loop:app",
    variables: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """Start these services on an empty database and broker; `variables` are added to their environment."""
    environment = {
        **os.environ,
        **(variables or {}),
        "TURNWISE_APP": app,
        "TURNWISE_DATABASE_URL": database_url,
        "TURNWISE_BROKER_URL": broker_url,
        "TURNWISE_MOVES": moves,
        "TURNWISE_LOG_LEVEL": "WARNING",
    }
    database = Database(database_url)
    database.migrate()
    database.close()
    settings = load_settings(app=app, database_url=database_url, broker_url=broker_url)
    parts = open_parts(settings)
    try:
        with _services(environment, services) as processes:
            pids = [os.getpid(), *(process.pid for process in processes)]
            yield Running(store=parts.store, bus=parts.bus, app=parts.app, pids=pids)
    finally:
        parts.close()


@contextmanager
def _services(
    environment: Mapping[str, str], services: Sequence[Sequence[str]] = POOLS
) -> Iterator[list[subprocess.Popen[bytes]]]:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "turnwise.cli.main", *command], env=environment, cwd=_ROOT, stdout=subprocess.DEVNULL
        )
        for command in services
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)
