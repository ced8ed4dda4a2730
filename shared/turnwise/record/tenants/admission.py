"""The admission of one more run of a tenant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import DatabaseUnavailableError, QuotaExceededError
from turnwise.record.database.database import Database
from turnwise.record.database.faults import DATABASE_ERRORS, is_lock_timeout
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED

# Seconds after which it is worth asking again; no one knows when a run ends.
_RETRY_AFTER = 5
# Seconds that those who look after all tenants wait for the submissions of one.
PATIENCE = 0.2
_key = sa.func.hashtextextended(sa.bindparam("tenant"), 7_303_014)
_LOCK = sa.select(sa.func.pg_advisory_xact_lock(_key))
_TRY_LOCK = sa.select(sa.func.pg_try_advisory_xact_lock(_key))
# Of this transaction alone, and then what an operator has set for the user or the database.
_WAIT_AT_MOST = sa.select(sa.func.set_config("lock_timeout", sa.bindparam("limit", type_=sa.Text), sa.true()))
_WAIT_AS_BEFORE = sa.text("SET LOCAL lock_timeout TO DEFAULT")
_UNFINISHED = (
    sa.select(sa.func.count())
    .select_from(runs)
    .where(runs.c.tenant == sa.bindparam("tenant"), status_in(runs.c.status, UNFINISHED))
)


def lock_admission(database: Database, connection: Connection, tenant: str) -> None:
    """Wait until no other transaction is about to give the tenant a run; SQLite has one writer at a time anyway.

    The lock comes after that of a run's row and before that of a session's.
    """
    if database.is_postgres:
        connection.execute(_LOCK, {"tenant": tenant})


def try_lock_admission(database: Database, connection: Connection, tenant: str, patience: float = PATIENCE) -> bool:
    """Do the same, but wait for at most `patience` seconds, and return whether it is locked.

    A submission has the lock for as long as its first move takes, and the rules of an application may take long.
    """
    given = {"tenant": tenant}
    if not database.is_postgres or connection.execute(_TRY_LOCK, given).scalar_one():
        return True
    if patience <= 0:
        return False
    # In the line of those who wait: of many short submissions in a row, each would have it before whoever only tries.
    try:
        with connection.begin_nested():
            wait_at_most(database, connection, patience)
            connection.execute(_LOCK, given)
            connection.execute(_WAIT_AS_BEFORE)
    except DATABASE_ERRORS as error:
        if not is_lock_timeout(error):
            raise
        return False
    return True


def wait_at_most(database: Database, connection: Connection, seconds: float) -> None:
    """Let each further statement of the transaction wait for a lock for at most `seconds` (0: not at all).

    It then raises an error that `is_lock_timeout`. SQLite has one writer at a time anyway.
    """
    if database.is_postgres:  # for which 0 is no limit
        connection.execute(_WAIT_AT_MOST, {"limit": f"{max(seconds * 1_000, 1):.0f}ms"})


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


def require_room(connection: Connection, tenant: str, most: int, more: int = 1) -> None:
    """Raise `QuotaExceededError` (`too_many_runs`) if the tenant would have over `most` unfinished runs with `more`."""
    found = most - room_for_runs(connection, tenant, most)
    if found + more > most:
        asked = "" if more == 1 else f", and {more} more are asked for"
        raise QuotaExceededError(
            f"{found} runs of the tenant {tenant!r} have not ended, and it may have {most} at a time{asked}; wait for "
            "the end of one, or cancel one",
            code="too_many_runs",
            retry_after=_RETRY_AFTER,
        )


def room_for_runs(connection: Connection, tenant: str, most: int) -> int:
    """Return how many runs the tenant may begin now with `most` unfinished ones at a time; below 0 if it has more."""
    return most - int(connection.execute(_UNFINISHED, {"tenant": tenant}).scalar_one())
