"""Writing transactions of SQLite, of which those that come together can be committed together.

SQLite lets one writer in at a time, and with `synchronous=FULL` each commit waits for the disk. So a transaction that
ends while others wait for their turn leaves the commit to them, and waits: the last one commits for all. Each is
undone by itself where it fails, by a savepoint. Whoever has seen what is not committed yet is in the same group, and
does not return before its outcome. A transaction that no one waits behind is an ordinary one, and so is each with
`synchronous=NORMAL`, whose commit costs less than waking those who wait for it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from contextlib import AbstractContextManager

from sqlalchemy.engine import Connection

from turnwise.record.database.connection_pool import ConnectionPool, Lease

# Seconds after which those who wait for a commit look whether there is still someone who will make it.
_PATIENCE = 0.1


class SQLiteWriter:
    """The writing transactions of a process, committed in groups or each by itself; safe to share between threads."""

    def __init__(self, pool: ConnectionPool, *, groups: bool) -> None:
        self._pool = pool
        self._groups = groups
        # Queueing here is fair and much faster than SQLite's own way, which is to ask again after a pause.
        self._lock = threading.Lock()
        # Those who wait for the lock. No other thread comes between in an append or a pop, as it could in a sum.
        self._coming: deque[None] = deque()
        self._open: _Group | None = None  # whose commit was left to the next

    @property
    def waiting(self) -> int:
        """Threads that wait for their turn."""
        return len(self._coming)

    def transaction(self) -> AbstractContextManager[Connection]:
        """A transaction that is committed at the end, and undone by an exception."""
        return _Member(self)

    def enter(self) -> tuple[_Group, bool]:
        """Take the lock, and begin a group or join the one that is open; `leave` ends it."""
        self._coming.append(None)
        try:
            self._lock.acquire()
        finally:
            self._coming.pop()
        try:
            if self._open is None:
                return self._begun(), False
            self._open.lease.driver.execute("SAVEPOINT one_of_many")
            return self._open, True
        except BaseException:
            self._lock.release()  # those who wait in an open group find it free, and commit
            raise

    def _begun(self) -> _Group:
        lease = self._pool.take(reads=False)
        try:
            lease.driver.execute("BEGIN IMMEDIATE")
        except BaseException:
            self._pool.undo(lease)
            raise
        return _Group(lease)

    def leave(self, group: _Group, *, joined: bool, failed: bool) -> None:
        """Release the lock, and return when the group is committed; raises the error of its commit."""
        ticket = None
        try:
            if failed and not joined:  # no one else is in it
                self._pool.undo(group.lease)
                return
            try:
                _end_part(group.lease.driver, joined=joined, failed=failed)
            except sqlite3.Error as error:  # SQLite has undone everything, as it does where the disk is full
                self._end(group, error)
            else:
                if self._coming and self._groups:
                    ticket = group.ticket()
                    self._open = group
                else:
                    self._end(group)
        finally:
            self._lock.release()
        if ticket is not None:
            self._wait(group, ticket)
        if group.error is not None:
            raise type(group.error)(*group.error.args) from group.error

    def _end(self, group: _Group, error: sqlite3.Error | None = None) -> None:
        """Commit a group, or undo it because of `error`, and tell those who wait for it."""
        self._open = None
        driver = group.lease.driver
        group.error = error or sqlite3.OperationalError("the commit was interrupted")
        try:
            if error is None:
                driver.execute("COMMIT")  # `commit()` is silent where the transaction is gone
                group.error = None
        except sqlite3.Error as raised:
            group.error = raised
        except BaseException:  # of a signal, which comes after the commit as well
            if not driver.in_transaction:
                group.error = None
            raise
        finally:
            end = self._pool.give_back if group.error is None else self._pool.undo
            end(group.lease)
            for ticket in group.tickets:
                ticket.release()

    def _wait(self, group: _Group, ticket: threading.Lock) -> None:
        while not ticket.acquire(timeout=_PATIENCE):
            if self._lock.acquire(blocking=False):
                try:
                    if self._open is group:  # those who were to come were interrupted
                        self._end(group)
                    return
                finally:
                    self._lock.release()


class _Member:
    """One transaction. A class, because one is in every turn, and a generator's block costs four times as much."""

    __slots__ = ("_group", "_joined", "_writer")

    def __init__(self, writer: SQLiteWriter) -> None:
        self._writer = writer

    def __enter__(self) -> Connection:
        self._group, self._joined = self._writer.enter()
        return self._group.lease.connection

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._writer.leave(self._group, joined=self._joined, failed=kind is not None)


class _Group:
    """Transactions that have one commit."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.tickets: list[threading.Lock] = []  # of those who wait for the commit
        self.error: sqlite3.Error | None = None

    def ticket(self) -> threading.Lock:
        """Return what one more member has to acquire, which it can after the commit."""
        ticket = threading.Lock()
        ticket.acquire()
        self.tickets.append(ticket)
        return ticket


def _end_part(driver: sqlite3.Connection, *, joined: bool, failed: bool) -> None:
    """End what one member has done, before others do more."""
    if not driver.in_transaction:
        raise sqlite3.OperationalError("SQLite has rolled the transaction back")
    if failed:
        driver.execute("ROLLBACK TO one_of_many")
    if joined:
        driver.execute("RELEASE one_of_many")
