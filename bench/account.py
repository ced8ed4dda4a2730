"""An account of the parts of a turn: their calls, CPU, and what they ask of the database.

It wraps the methods that are the parts, so nothing in the product knows of it. CPU is that of the calling thread; a
database's is that of the connection's server process, which the kernel tells where it runs on the same machine.
Statements, commits and round trips are counted where they reach the driver, and belong to the innermost part.
"""

from __future__ import annotations

import atexit
import json
import os
import sqlite3
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial, wraps
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import event
from sqlalchemy.engine import Engine

from bench.capacity.measurements import Cost
from turnwise.bus.celery_bus import CeleryBus
from turnwise.bus.in_process import InProcessBus
from turnwise.record.database.connection_pool import ConnectionPool, Lease
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.roles.worker import WorkerRole
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
    statements: int = 0
    commits: int = 0
    round_trips: int = 0


@dataclass
class _Open:
    """A part that is being done: what its inner parts used, and what its connections did for itself."""

    inner_cpu: float = 0.0
    inner_wall: float = 0.0
    database: float = 0.0
    transactions: int = 0
    statements: int = 0
    commits: int = 0
    round_trips: int = 0


class Account:
    """The sums of one process; `close` takes everything off again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sums: defaultdict[str, _Sums] = defaultdict(_Sums)
        self._local = threading.local()
        self._used_before: dict[int, float] = {}  # CPU of the server process, by connection in use
        self._undo = ExitStack()

    def watch(self, owner: type, method: str, name: Name) -> None:
        """Count the calls of a method as the part that `name` says of its arguments."""

        def counted(real: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            with self._part(partial(name, *args, **kwargs)):
                return real(*args, **kwargs)

        self._wrap(owner, method, counted)

    def watch_connections(self) -> None:
        """Count what the database is asked, and what its processes do, for each part; call it before one is opened."""
        event.listen(Engine, "connect", self._opened)
        self._undo.callback(event.remove, Engine, "connect", self._opened)
        self._wrap(ConnectionPool, "take", self._taken)
        self._wrap(ConnectionPool, "give_back", self._given_back)
        self._wrap(psycopg.Cursor, "execute", self._executed)
        self._wrap(psycopg.Cursor, "executemany", self._executed_many)
        self._wrap(psycopg.Connection, "commit", self._committed)
        self._wrap(psycopg.Connection, "wait", self._waited)
        self._wrap(psycopg.Pipeline, "__exit__", self._flushed)

    def write(self, file: Path) -> None:
        """Write the sums as JSON."""
        with self._lock:
            file.write_text(json.dumps({name: vars(sums) for name, sums in self._sums.items()}))

    def costs(self, turns: int) -> dict[str, Cost]:
        """Return the cost of each part, for so many turns."""
        with self._lock:
            return {name: _cost(sums, turns) for name, sums in sorted(self._sums.items())}

    def clear(self) -> None:
        """Forget what was counted so far, such as a warm-up."""
        with self._lock:
            self._sums.clear()

    def close(self) -> None:
        """Stop counting."""
        self._undo.close()

    def _wrap(self, owner: type, method: str, around: Callable[..., Any]) -> None:
        real = getattr(owner, method)

        @wraps(real)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return around(real, *args, **kwargs)

        own = method in vars(owner)
        setattr(owner, method, wrapped)
        if own:
            self._undo.callback(setattr, owner, method, real)
        else:  # it was inherited
            self._undo.callback(delattr, owner, method)

    @contextmanager
    def _part(self, name: Callable[[], str]) -> Iterator[None]:
        stack, opened = self._stack(), _Open()
        stack.append(opened)
        cpu, wall = time.thread_time(), time.perf_counter()
        try:
            yield
        finally:
            cpu, wall = time.thread_time() - cpu, time.perf_counter() - wall
            stack.pop()
            if stack:
                stack[-1].inner_cpu += cpu
                stack[-1].inner_wall += wall
            self._add(name(), opened, cpu, wall)

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
            sums.statements += opened.statements
            sums.commits += opened.commits
            sums.round_trips += opened.round_trips

    def _count(self, *, statements: int = 0, commits: int = 0, round_trips: int = 0) -> None:
        """Add to the innermost part; what no part does, such as a heartbeat, is not counted."""
        if stack := self._stack():
            opened = stack[-1]
            opened.statements += statements
            opened.commits += commits
            opened.round_trips += round_trips

    # Connections of the pool

    def _taken(self, real: Callable[..., Lease], *args: Any, **kwargs: Any) -> Lease:
        lease = real(*args, **kwargs)
        if isinstance(lease.driver, psycopg.Connection) and self._stack():
            self._used_before[id(lease)] = _cpu_of(lease.driver.info.backend_pid)
        return lease

    def _given_back(self, real: Callable[..., None], pool: ConnectionPool, lease: Lease) -> None:
        before = self._used_before.pop(id(lease), None)
        if before is not None and (stack := self._stack()):
            stack[-1].database += _cpu_of(lease.driver.info.backend_pid) - before
            stack[-1].transactions += 1
        real(pool, lease)

    # SQLite

    def _opened(self, connection: Any, _record: Any) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.set_trace_callback(_Traced(self._count))

    # PostgreSQL

    def _executed(self, real: Callable[..., Any], cursor: Any, query: Any, *args: Any, **kwargs: Any) -> Any:
        text = query.decode() if isinstance(query, bytes) else str(query)
        # Outside a transaction, a statement that writes commits by itself.
        self._count(statements=1, commits=cursor.connection.autocommit and not text.lstrip().startswith("SELECT"))
        return real(cursor, query, *args, **kwargs)

    def _executed_many(
        self, real: Callable[..., Any], cursor: Any, query: Any, rows: Iterable[Any], **kwargs: Any
    ) -> Any:
        given = list(rows)
        self._count(statements=len(given))
        return real(cursor, query, given, **kwargs)

    def _committed(self, real: Callable[..., Any], connection: Any) -> Any:
        self._count(commits=connection.info.transaction_status is psycopg.pq.TransactionStatus.INTRANS)
        return real(connection)

    def _waited(self, real: Callable[..., Any], connection: Any, steps: Any, *args: Any, **kwargs: Any) -> Any:
        idle = connection.info.transaction_status is psycopg.pq.TransactionStatus.IDLE
        # The driver waits for its own state in the same way, without a message to the server.
        name = steps.__name__
        silent = name.startswith("_set_") or (idle and name in ("_commit_gen", "_rollback_gen"))
        if connection.pgconn.pipeline_status == psycopg.pq.PipelineStatus.OFF and not silent:
            self._count(round_trips=1)
        return real(connection, steps, *args, **kwargs)

    def _flushed(self, real: Callable[..., Any], *args: Any) -> Any:
        self._count(round_trips=1)
        return real(*args)


class _Traced:
    """Counts what one connection to SQLite executes; a commit counts where it ends a writing transaction."""

    def __init__(self, count: Callable[..., None]) -> None:
        self._count = count
        self._writes = False
        self._last = ""

    def __call__(self, statement: str) -> None:
        # SQLite tells of a trigger, which is part of a statement; with the text of that, values and all, where Python
        # looks it up.
        if statement.startswith("--") or (statement == self._last and statement.startswith(("INSERT", "UPDATE"))):
            return
        self._last = statement
        word = statement.split(None, 1)[0].upper()
        if word == "BEGIN":
            self._writes = "IMMEDIATE" in statement
        elif word == "COMMIT":
            self._count(commits=int(self._writes))
        elif word not in ("ROLLBACK", "PRAGMA", "--"):
            self._count(statements=1)


def watched() -> Account:
    """Return an account of the parts of a turn, and count from now on."""
    account = Account()
    parts: list[tuple[type, str, str | Name]] = [
        (TenantRole, "submit", "submit"),
        (Coordinator, "move", "move"),
        (WorkerRole, "claim", lambda *_, **__: "claim"),
        (WorkerRole, "reply", "reply"),
        (Answering, "answer", lambda _self, claim, *_, **__: f"answer of {claim.ask.responder}"),
        (Responders, "answer", "responder"),
    ]
    for bus in (CeleryBus, InProcessBus):
        parts += [
            (bus, "publish_ask", "publish"),
            (bus, "wake", "wake"),
            (bus, "notify", "notice"),
            (bus, "tell", "notice"),
        ]
    for owner, method, name in parts:
        account.watch(owner, method, name if callable(name) else lambda *_, said=name, **__: said)
    account.watch_connections()
    return account


def install(folder: Path) -> None:
    """Keep account from now on; a file for this process in `folder` at its end."""
    account = watched()
    kind = sys.argv[1]  # the command: coordinator, worker, gateway
    atexit.register(lambda: account.write(folder / f"{kind}-{os.getpid()}.json"))


def gather(folder: Path, turns: int) -> dict[str, Cost]:
    """The accounts of all processes that ended, by process and part, for so many turns."""
    found: defaultdict[str, _Sums] = defaultdict(_Sums)
    for file in folder.glob("*.json"):
        for name, said in json.loads(file.read_text()).items():
            sums = found[f"{file.name.partition('-')[0]}: {name}"]
            for counted, value in said.items():
                setattr(sums, counted, getattr(sums, counted) + value)
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
        statements=round(sums.statements / n, 3),
        commits=round(sums.commits / n, 3),
        round_trips=round(sums.round_trips / n, 3),
    )


def _cpu_of(pid: int) -> float:
    """Seconds on a CPU, to the nanosecond; 0 where the kernel does not tell."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
    except (OSError, IndexError):
        return 0.0
