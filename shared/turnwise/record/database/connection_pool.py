"""The connections to the database that a process has open.

SQLAlchemy's pool makes a `Connection` for each use, tells of it, and resets what comes back: all that costs several
times what a transaction of SQLite does. Here a `Connection` stays as it is for the next use. For SQLAlchemy it is in
one transaction from its first day to its last; the transactions of the database are begun and ended on its driver.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
from sqlalchemy import Engine, exc
from sqlalchemy.engine import Connection

from turnwise.record.database.faults import DATABASE_ERRORS, takes_no_writes

# Told of a wait for a connection: its seconds, and whether it ended with one.
OnWait = Callable[[float, bool], None]


@dataclass(slots=True, eq=False)
class Lease:
    """A connection in use. On PostgreSQL one that `reads` commits each statement by itself."""

    connection: Connection
    driver: Any  # a connection of sqlite3 or psycopg
    reads: bool
    generation: int
    used: float = 0.0  # when it was given back, by the clock of this process


class ConnectionPool:
    """Lends connections of `engine`, the one that was used last first: it knows the plans of its statements.

    Readers and writers get the connections of their kind where there are any. `limit` is the most connections that
    there may be; whoever needs one more waits for `timeout` seconds, first come, first served. `on_wait` may be set;
    only those who find no free connection pay for it.
    """

    def __init__(self, engine: Engine, limit: int, timeout: float = 30.0) -> None:
        self.limit = limit
        self.timeout = timeout
        # A connection that rested longer is tried before use, so that a restarted database costs no one an error.
        self.trusted = 5.0
        self.on_wait: OnWait | None = None
        self._engine = engine
        self._on_use: list[Callable[[int], None]] = []
        self._lock = threading.Lock()
        # A lock for each thread that waits for a connection, released when its turn comes. Without a line, a thread
        # that ends a transaction and begins another would always be quicker than one that has to be woken.
        self._line: deque[threading.Lock] = deque()
        self._idle: dict[bool, list[Lease]] = {True: [], False: []}
        self._in_use = 0
        self._generation = 0

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """A transaction of PostgreSQL, whose driver begins by itself: committed at the end, undone by an exception."""
        lease = self.take(reads=False)
        try:
            yield lease.connection
            lease.driver.commit()
        except BaseException as error:
            if takes_no_writes(error):
                self.drop(lease, error)
            else:
                self.undo(lease)
            raise
        self.give_back(lease)

    def take(self, *, reads: bool) -> Lease:
        """Lend a connection; raises what SQLAlchemy raises where there is none."""
        lease = self._taken(reads)
        try:
            for changed in self._on_use:
                changed(1)
            if lease is not None and not self._works(lease):
                self.close()
                lease = None
            if lease is None:
                return self._opened(reads)
            if lease.reads is not reads:
                _turn(lease, reads)
            return lease
        except BaseException:
            if lease is not None:
                _close(lease)
            self._ended(None)
            raise

    def give_back(self, lease: Lease) -> None:
        """Take back a connection that is in no transaction."""
        lease.used = time.monotonic()
        self._ended(lease)

    def undo(self, lease: Lease) -> None:
        """Roll back the transaction of a connection and take it back; close it if that fails."""
        try:
            lease.driver.rollback()
        except BaseException as error:
            self.drop(lease)
            if not isinstance(error, DATABASE_ERRORS):
                raise
        else:
            end = self.drop if _is_lost(lease) else self.give_back
            end(lease)

    def drop(self, lease: Lease, error: BaseException | None = None) -> None:
        """Take back a connection that is not to be used again, after an `error` if there was one."""
        if _is_lost(lease) or (error is not None and takes_no_writes(error)):  # and so are likely those that rest
            self.close()
        _close(lease)
        self._ended(None)

    def close(self) -> None:
        """Close the connections that rest, and each other when it comes back."""
        with self._lock:
            self._generation += 1
            resting = [*self._idle[True], *self._idle[False]]
            self._idle = {True: [], False: []}
        for lease in resting:
            _close(lease)

    @property
    def in_use(self) -> int:
        """Connections that are at work now."""
        return self._in_use

    def on_use(self, changed: Callable[[int], None]) -> None:
        """Call `changed` with 1 for each connection that begins to be used, and with -1 at its end."""
        self._on_use.append(changed)

    @property
    def waiting(self) -> int:
        """Threads that wait for a connection now."""
        return len(self._line)

    def _taken(self, reads: bool) -> Lease | None:
        """Count one more in use, waiting if need be; return a connection that rested, None if there was none."""
        with self._lock:
            if self._in_use < self.limit and not self._line:
                self._in_use += 1
                return self._resting(reads)
            turn = threading.Lock()
            turn.acquire()
            self._line.append(turn)
        began = time.monotonic()
        try:
            turn.acquire(timeout=self.timeout)
        except BaseException:
            if self._left_line(turn):
                with self._lock:
                    self._hand_on()
            raise
        served = self._left_line(turn)
        if self.on_wait is not None:
            self.on_wait(time.monotonic() - began, served)
        if not served:
            raise exc.TimeoutError(f"all {self.limit} connections of this process were in use for {self.timeout:g} s")
        with self._lock:
            return self._resting(reads)

    def _left_line(self, turn: threading.Lock) -> bool:
        """Return whether the turn came, perhaps at the last moment; else it is given up."""
        with self._lock:
            if turn not in self._line:
                return True
            self._line.remove(turn)
            return False

    def _resting(self, reads: bool) -> Lease | None:
        idle = self._idle[reads] or self._idle[not reads]
        return idle.pop() if idle else None

    def _hand_on(self) -> None:
        """Let the next in line have the place, or count one less in use; under the lock."""
        if self._line:
            self._line.popleft().release()
        else:
            self._in_use -= 1

    def _ended(self, lease: Lease | None) -> None:
        """Hand the place on, and keep its connection unless there is none or it is from before a `close`."""
        with self._lock:
            kept = lease is not None and lease.generation == self._generation
            if lease is not None and kept:
                self._idle[lease.reads].append(lease)
            self._hand_on()
        if lease is not None and not kept:
            _close(lease)
        for changed in self._on_use:
            changed(-1)

    def _works(self, lease: Lease) -> bool:
        if not isinstance(lease.driver, psycopg.Connection) or time.monotonic() - lease.used < self.trusted:
            return True
        try:
            lease.driver.execute("SELECT 1")
            lease.driver.commit()
        except psycopg.Error:
            _close(lease)
            return False
        return True

    def _opened(self, reads: bool) -> Lease:
        generation = self._generation
        connection = self._engine.connect()
        try:
            driver = connection.connection.driver_connection
            lease = Lease(connection, driver, False, generation)
            if reads:
                _turn(lease, reads)
            connection.begin()
            return lease
        except BaseException:
            connection.close()
            raise


def _turn(lease: Lease, reads: bool) -> None:
    """Make a connection that writes one that reads, or the other way round."""
    # A reading transaction would end with a rollback, and that makes psycopg forget all that it has prepared.
    if isinstance(lease.driver, psycopg.Connection):
        lease.driver.autocommit = reads
    lease.reads = reads


def _is_lost(lease: Lease) -> bool:
    return lease.connection.invalidated or (isinstance(lease.driver, psycopg.Connection) and lease.driver.closed)


def _close(lease: Lease) -> None:
    """Close a connection, which may be lost already."""
    with contextlib.suppress(*DATABASE_ERRORS):
        lease.connection.invalidate()  # SQLAlchemy would roll back what it is in, and fail
    with contextlib.suppress(*DATABASE_ERRORS):
        lease.connection.close()
