"""The use of deleted runs: added to as they are deleted, and read in one statement with the sums of runs."""

from __future__ import annotations

from decimal import Decimal
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Connection

from turnwise.record.budgets.budgets import SESSION, TENANT_DAY, TENANT_MONTH, Key, period_end, scope_ids
from turnwise.record.database import driver
from turnwise.record.database.budget_tables import budgets, purged_usage
from turnwise.record.database.database import Database
from turnwise.record.values.records import RunRecord

# Days after the end of a day or month for which its budget is kept: calls of then may still be settled.
KEPT_DAYS = 7
# Columns that are added up: of deleted runs here, and of the others where sessions are read.
COUNTED = ("prompt_tokens", "cached_tokens", "completion_tokens", "calls", "unpriced_calls", "cost")
_SUMS = tuple(purged_usage.c[name] for name in ("runs", *COUNTED))
_PLACE = tuple(purged_usage.c[name] == sa.bindparam(f"of_{name}") for name in ("scope", "scope_id", "task"))
_LOCK = sa.select(*_SUMS).where(*_PLACE).with_for_update()
_SAVE = (
    sa.update(purged_usage)
    .where(*_PLACE)
    .values({column.name: sa.bindparam(f"new_{column.name}", type_=column.type) for column in _SUMS})
)
# The sums of a session's deleted runs, by task.
OF_SESSION = sa.select(purged_usage.c.task, *_SUMS).where(
    purged_usage.c.scope == SESSION, purged_usage.c.scope_id == sa.bindparam("session_key")
)


def count_purged(database: Database, connection: Connection, run: RunRecord, now: float, in_session: bool) -> None:
    """Add what a run that is being deleted has used to the sums that it still belongs to; locks these, in order."""
    ids = scope_ids(run, run.created_at)
    keys: list[tuple[Key, str]] = [((SESSION, run.session_key), run.task)] if in_session and run.session_key else []
    for scope in (TENANT_DAY, TENANT_MONTH):
        key = (scope, ids[scope] or "")
        if (period_end(key) or 0.0) > now:
            keys.append((key, ""))
    for key, task in keys:
        _add(database, connection, key, task, run)


def forget_session(connection: Connection, session_key: str) -> None:
    """Delete the sums of a session that ends, and its budget."""
    for table in (purged_usage, budgets):
        connection.execute(sa.delete(table).where(table.c.scope == SESSION, table.c.scope_id == session_key))


def _add(database: Database, connection: Connection, key: Key, task: str, run: RunRecord) -> None:
    place = {"scope": key[0], "scope_id": key[1], "task": task}
    given = {f"of_{name}": value for name, value in place.items()}
    found = driver.fetch(connection, _LOCK, given)
    if not found:
        nothing = {column.name: Decimal(0) if column.name == "cost" else 0 for column in _SUMS}
        driver.run(connection, _begin(database.is_postgres), [place | nothing])
        found = driver.fetch(connection, _LOCK, given)
    # Added up here, because SQLite keeps money as text.
    counted, *sums = found[0]
    new = {f"new_{name}": old + getattr(run, name) for name, old in zip(COUNTED, sums, strict=True)}
    driver.run(connection, _SAVE, [given | new | {"new_runs": counted + 1}])


@cache
def _begin(is_postgres: bool) -> sa.Insert:
    made: Any = (postgresql.insert if is_postgres else sqlite.insert)(purged_usage)
    begin: sa.Insert = made.on_conflict_do_nothing()
    return begin
