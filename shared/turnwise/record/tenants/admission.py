"""The admission of one more run of a tenant."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import QuotaExceededError
from turnwise.record.database.database import Database
from turnwise.record.database.faults import DATABASE_ERRORS, is_lock_timeout
from turnwise.record.database.lock_waits import PATIENCE, wait_as_before, wait_at_most
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED

# Seconds after which it is worth asking again; no one knows when a run ends.
_RETRY_AFTER = 5
_key = sa.func.hashtextextended(sa.bindparam("tenant"), 7_303_014)
_LOCK = sa.select(sa.func.pg_advisory_xact_lock(_key))
_TRY_LOCK = sa.select(sa.func.pg_try_advisory_xact_lock(_key))
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
            wait_as_before(database, connection)
    except DATABASE_ERRORS as error:
        if not is_lock_timeout(error):
            raise
        return False
    return True


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
