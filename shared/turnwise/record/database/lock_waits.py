"""Waits for locks of PostgreSQL that others hold, by those who look after all tenants and cannot wait for one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import DatabaseUnavailableError
from turnwise.record.database.database import Database
from turnwise.record.database.faults import is_lock_timeout

# Seconds that a sweep waits for a lock; a move may hold one for as long as the rules of an application take.
PATIENCE = 0.2
# Of this transaction alone, and then what an operator has set for the user or the database.
_WAIT_AT_MOST = sa.select(sa.func.set_config("lock_timeout", sa.bindparam("limit", type_=sa.Text), sa.true()))
_WAIT_AS_BEFORE = sa.text("SET LOCAL lock_timeout TO DEFAULT")


def wait_at_most(database: Database, connection: Connection, seconds: float) -> None:
    """Let each further statement of the transaction wait for a lock for at most `seconds` (0: not at all).

    It then raises an error that `is_lock_timeout`. SQLite has one writer at a time anyway.
    """
    if database.is_postgres:  # for which 0 is no limit
        connection.execute(_WAIT_AT_MOST, {"limit": f"{max(seconds * 1_000, 1):.0f}ms"})


def wait_as_before(database: Database, connection: Connection) -> None:
    """Let each further statement wait for a lock as it did before `wait_at_most`."""
    if database.is_postgres:
        connection.execute(_WAIT_AS_BEFORE)


@contextmanager
def impatient(database: Database) -> Iterator[Connection]:
    """A writing transaction that ends, with nothing changed, at a lock that another has for more than `PATIENCE`."""
    try:
        with database.begin() as connection:
            wait_at_most(database, connection, PATIENCE)
            yield connection
    except DatabaseUnavailableError as error:
        if not is_lock_timeout(error.__cause__):
            raise
