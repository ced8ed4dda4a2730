"""Coordinator and workers as processes of their own, on PostgreSQL and a broker."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench import served
from bench.result import Result
from turnwise.processes.bootstrap import open_parts
from turnwise.processes.settings import load_settings
from turnwise.record.database.database import Database

WARM_UP = 10

_ROOT = Path(__file__).parent.parent
_SERVICES = (
    ["coordinator", "--concurrency", "4"],
    ["worker", "-Q", "llm", "--concurrency", "8"],
    ["worker", "-Q", "agent", "--concurrency", "8"],
)


def measure(
    way: str,
    database_url: str,
    broker_url: str,
    loops: list[tuple[int, int]],
    *,
    move_with_reply: bool,
    app: str = "bench.tool_loop:app",
    variables: Mapping[str, str] | None = None,
) -> list[Result]:
    """One set of processes, and in it each of `loops`: (turns, conversations at once).

    `app` is the application that the processes load; `variables` are added to their environment. Before the loops they
    answer `WARM_UP` turns.
    """
    environment = {
        **os.environ,
        **(variables or {}),
        "TURNWISE_APP": app,
        "TURNWISE_DATABASE_URL": database_url,
        "TURNWISE_BROKER_URL": broker_url,
        "TURNWISE_MOVE_WITH_REPLY": str(move_with_reply).lower(),
        "TURNWISE_LOG_LEVEL": "WARNING",
    }
    database = Database(database_url)
    database.migrate()
    database.close()
    settings = load_settings(app="bench.tool_loop:app", database_url=database_url, broker_url=broker_url)
    parts = open_parts(settings)
    with _services(environment) as processes:

        def pids() -> list[int]:
            return [process.pid for process in processes]

        try:
            served.measure(way, parts.store, parts.bus, WARM_UP, 1, pids)  # until everybody has connected
            return [served.measure(way, parts.store, parts.bus, turns, n, pids) for turns, n in loops]
        finally:
            parts.close()


@contextmanager
def _services(environment: dict[str, str]) -> Iterator[list[subprocess.Popen[bytes]]]:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "turnwise.cli.main", *command], env=environment, cwd=_ROOT, stdout=subprocess.DEVNULL
        )
        for command in _SERVICES
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)
