"""Keeps account of the parts of a turn inside the real services, and writes it down when a process ends.

It wraps the methods that are the parts, so nothing in the product knows of it. CPU is that of the calling thread; a
database's is that of the connection's server process, which the kernel tells where it runs on the same machine.
"""

from __future__ import annotations

import atexit
import json
import os
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

from sqlalchemy import event
from sqlalchemy.pool import Pool

from bench.capacity.measurements import Cost
from turnwise.bus.celery_bus import CeleryBus
from turnwise.record.store import Store
from turnwise.serving.attempts.answering import Answering
from turnwise_coordinator.coordinator import Coordinator
from turnwise_responders.responders import Responders

Name = Callable[..., str]


@dataclass
class _Sums:
    walls: list[float] = field(default_factory=list)
    cpu: float = 0.0
    database: float = 0.0
    transactions: int = 0


@dataclass
class _Open:
    """A part that is being done: what its inner parts used, and what its connections did for itself."""

    inner_cpu: float = 0.0
    inner_wall: float = 0.0
    database: float = 0.0
    transactions: int = 0


class Account:
    """The sums of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: defaultdict[str, _Sums] = defaultdict(_Sums)
        self._local = threading.local()

    def watch(self, owner: type, method: str, name: Name) -> None:
        """Count the calls of a method as the part that `name` says of its arguments."""
        real = getattr(owner, method)

        @wraps(real)
        def counted(*args: Any, **kwargs: Any) -> Any:
            stack = self._stack()
            opened = _Open()
            stack.append(opened)
            cpu, wall = time.thread_time(), time.perf_counter()
            try:
                return real(*args, **kwargs)
            finally:
                cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
                stack.pop()
                if stack:
                    stack[-1].inner_cpu += cpu
                    stack[-1].inner_wall += wall
                self._add(name(*args, **kwargs), opened, cpu, wall)

        setattr(owner, method, counted)

    def watch_connections(self) -> None:
        """Count what the database's processes do for each part."""
        event.listen(Pool, "checkout", self._taken)
        event.listen(Pool, "checkin", self._given_back)

    def write(self, file: Path) -> None:
        """The sums as JSON."""
        with self._lock:
            file.write_text(json.dumps({name: vars(sums) for name, sums in self._sums.items()}))

    def _stack(self) -> list[_Open]:
        if not hasattr(self._local, "stack"):
            self._local.stack = []
        stack: list[_Open] = self._local.stack
        return stack

    def _add(self, name: str, opened: _Open, cpu: float, wall: float) -> None:
        with self._lock:
            sums = self._sums[name]
            sums.walls.append(wall - opened.inner_wall)
            sums.cpu += cpu - opened.inner_cpu
            sums.database += opened.database
            sums.transactions += opened.transactions

    def _taken(self, connection: Any, record: Any, _proxy: Any) -> None:
        info = getattr(connection, "info", None)
        if info is not None and self._stack():
            record.info["capacity"] = _cpu_of(info.backend_pid)

    def _given_back(self, connection: Any, record: Any) -> None:
        before = record.info.pop("capacity", None)
        if before is not None and connection is not None and (stack := self._stack()):
            stack[-1].database += _cpu_of(connection.info.backend_pid) - before
            stack[-1].transactions += 1


def install(folder: Path) -> None:
    """Keep account from now on; a file for this process in `folder` at its end."""
    account = Account()
    parts: list[tuple[type, str, str | Name]] = [
        (Store, "submit", "submit"),
        (Coordinator, "move", "move"),
        (Store, "claim", lambda *_, **__: "claim"),
        (Store, "reply", "reply"),
        (Answering, "answer", lambda _self, claim, *_: f"answer of {claim.ask.responder}"),
        (Responders, "answer", "responder"),
        (CeleryBus, "publish_ask", "publish"),
        (CeleryBus, "wake", "wake"),
        (CeleryBus, "notify", "notice"),
    ]
    for owner, method, name in parts:
        account.watch(owner, method, name if callable(name) else lambda *_, said=name, **__: said)
    account.watch_connections()
    kind = sys.argv[1]  # the command: coordinator, worker, gateway
    atexit.register(lambda: account.write(folder / f"{kind}-{os.getpid()}.json"))


def gather(folder: Path, turns: int) -> dict[str, Cost]:
    """The accounts of all processes that ended, by process and part, for so many turns."""
    found: defaultdict[str, _Sums] = defaultdict(_Sums)
    for file in folder.glob("*.json"):
        for name, said in json.loads(file.read_text()).items():
            sums = found[f"{file.name.partition('-')[0]}: {name}"]
            sums.walls += said["walls"]
            sums.cpu += said["cpu"]
            sums.database += said["database"]
            sums.transactions += said["transactions"]
    return {name: _cost(sums, turns) for name, sums in sorted(found.items())}


def _cost(sums: _Sums, turns: int) -> Cost:
    n = len(sums.walls)
    return Cost(
        calls=round(n / turns, 3),
        cpu=round(sums.cpu / n * 1000, 3),
        wall=round(statistics.median(sums.walls) * 1000, 3),
        quick=round(sorted(sums.walls)[n // 100] * 1000, 3),
        database=round(sums.database / n * 1000, 3),
        transactions=round(sums.transactions / n, 3),
    )


def _cpu_of(pid: int) -> float:
    """Seconds on a CPU, to the nanosecond; 0 where the kernel does not tell."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError):
        return 0.0
