"""The admission of one more run of a tenant."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import QuotaExceededError
from turnwise.record.database.database import Database
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED

# Seconds after which it is worth asking again; no one knows when a run ends.
_RETRY_AFTER = 5
_LOCK = sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(sa.bindparam("tenant"), 7_303_014)))
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


def require_room(connection: Connection, tenant: str, most: int) -> None:
    """Raise `QuotaExceededError` (`too_many_runs`) if the tenant has `most` unfinished runs or more."""
    found = connection.execute(_UNFINISHED, {"tenant": tenant}).scalar_one()
    if found >= most:
        raise QuotaExceededError(
            f"{found} runs of the tenant {tenant!r} have not ended, and it may have {most} at a time; wait for the end "
            "of one, or cancel one",
            code="too_many_runs",
            retry_after=_RETRY_AFTER,
        )
