"""The rows of accepted runs: their own, and those of their first events."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.engine import Connection

from turnwise.record.database import driver
from turnwise.record.database.burst import insert_all
from turnwise.record.database.columns import Seconds, now
from turnwise.record.database.database import Database
from turnwise.record.database.rows import RUN, as_row
from turnwise.record.database.schema import events, runs
from turnwise.record.events.event import event_row
from turnwise.record.events.run_events import RunAccepted
from turnwise.record.states import RunStatus, passed
from turnwise.record.values.records import Json, NewRun, RunRecord

_MONEY = Decimal(0)
# A run of which nothing is known yet, with the defaults of the database.
_BLANK: Json = {column.name: None for column in RUN} | {
    column.name: _MONEY if column.type.python_type is Decimal else 0
    for column in RUN
    if column.server_default is not None
}
# The columns that are given for a new run. The database sets the times and has defaults for the others.
_GIVEN = (
    "id",
    "tenant",
    "task",
    "version",
    "status",
    "priority",
    "tags",
    "metadata",
    "session_id",
    "session_key",
    "session_no",
    "forked_from",
    "model",
    "message",
    "max_cost",
    "max_tokens",
    "turns",
    "max_turns",
    "on_limit",
    "can_wait",
    "last_seq",
    "idempotency_key",
    "body_hash",
    "traceparent",
    "batch_id",
    "batch_budget",
)
_TIMES = (runs.c.created_at, runs.c.move_due_at, runs.c.deadline_at)
_EVENT = sa.insert(events)


def write_run(
    database: Database, connection: Connection, tenant: str, new: NewRun, place: Json | None = None
) -> RunRecord | None:
    """Write the row of a new run; None, and nothing is written, if its idempotency key is known.

    `place` has the columns that say where in its session the run stands.
    """
    row = _row(tenant, new, place or {})
    found = driver.fetch(connection, _one(database.insert), row)
    if not found:
        return None
    names = (column.name for column in _TIMES)
    return _record(new, row | dict(zip(names, found[0], strict=True)))


def write_runs(
    database: Database, connection: Connection, tenant: str, new: Sequence[NewRun], places: Sequence[Json]
) -> list[RunRecord]:
    """Write the rows of many runs, none of which has an idempotency key, as accepted at the same moment."""
    at = database.now(connection)
    rows = [_row(tenant, one, place) for one, place in zip(new, places, strict=True)]
    for row in rows:
        seconds = row["deadline"]
        row |= {"created_at": at, "move_due_at": at, "deadline_at": None if seconds is None else at + seconds}
    insert_all(connection, _MANY, rows)
    return [_record(one, row) for one, row in zip(new, rows, strict=True)]


def write_accepted(connection: Connection, accepted: Sequence[RunRecord]) -> None:
    """Write the first events of runs."""
    insert_all(connection, _EVENT, [accepted_row(run) for run in accepted])


def accepted_row(run: RunRecord) -> Json:
    """The first event of a run as its row."""
    told = RunAccepted(task=run.task, version=run.version)
    return event_row(run.id, 1, told.type, run.created_at, told.as_json())


def _row(tenant: str, new: NewRun, place: Json) -> Json:
    given = {"session_key": None, "session_no": None, **place}
    row = as_row(new, tenant=tenant, status=passed(None, RunStatus.QUEUED), last_seq=1, tags=list(new.tags), **given)
    del row["webhook"]  # a row of its own
    return row


def _record(new: NewRun, row: Json) -> RunRecord:
    del row["deadline"]
    return RunRecord.of(_BLANK | row | {"forked_from": new.forked_from})


@cache
def _one(insert: Any) -> postgresql.Insert:
    times = {"created_at": now(), "move_due_at": now(), "deadline_at": now() + sa.bindparam("deadline", type_=Seconds)}
    made: postgresql.Insert = insert(runs).values(_parameters() | times)
    known = made.on_conflict_do_nothing(
        index_elements=["tenant", "idempotency_key"], index_where=sa.text("idempotency_key IS NOT NULL")
    )
    return known.returning(*_TIMES)  # type: ignore[return-value]


def _parameters() -> Json:
    return {name: sa.bindparam(name, type_=runs.c[name].type) for name in _GIVEN}


_MANY = sa.insert(runs).values(
    _parameters() | {column.name: sa.bindparam(column.name, type_=Seconds) for column in _TIMES}
)
