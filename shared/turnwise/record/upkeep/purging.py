"""Deleting runs that ended long ago, with everything that hangs on them, and what periods that are over have left.

A run is deleted in a transaction of its own, so whoever is stopped in between has deleted some runs and none in part.
Never deleted is a run that has not ended, one whose calls are not all settled, and a later run of a session than one
that failed and may be retried: what came after it tells that the session has continued. A completed run of a session
is deleted after the earlier ones of its conversation, so that what it made of a document stays the last version.

A session continues without its old runs: the histories are its own, the documents of a deleted run become its own, and
what the run has used is kept as a sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.budgets.budgets import TENANT_DAY, TENANT_MONTH
from turnwise.record.budgets.usage_tally import add_usage, usage_rows
from turnwise.record.database import driver, schema
from turnwise.record.database.budget_tables import budgets, purged_usage, reservations
from turnwise.record.database.columns import now, word
from turnwise.record.database.lock_waits import impatient
from turnwise.record.database.provider_batch_tables import collected_asks
from turnwise.record.database.rows import RUN, run_of
from turnwise.record.database.schema import agent_states, documents, events, histories, runs, sessions
from turnwise.record.database.webhook_tables import webhooks
from turnwise.record.states import FINISHED, RunStatus
from turnwise.record.transaction.part import RecordPart
from turnwise.record.transaction.writes import aside
from turnwise.record.upkeep.purged_usage import KEPT_DAYS, count_purged
from turnwise.record.values.records import RunRecord

_TOGETHER = 500  # names in one statement
# Every table with rows of runs, also one that there is not yet; those of agents may be a session's (`owner`).
# Receivers come ahead of their deliveries, as all that change a receiver lock them.
_OF_RUNS = (webhooks, *(each for each in schema.metadata.sorted_tables if "run_id" in each.c and each is not webhooks))
_OF_OWNERS = (histories, agent_states)

_before = runs.alias("before")


def _after(earlier: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """A run of a session in which such an earlier run is left."""
    found = sa.exists().where(
        _before.c.session_id == runs.c.session_id,
        _before.c.session_key == runs.c.session_key,
        _before.c.session_no < runs.c.session_no,
        earlier,
    )
    return sa.and_(runs.c.session_key.is_not(None), found)


_RETRYABLE = _before.c.status == word(RunStatus.FAILED)
# One that leaves documents to the same conversation. It has ended earlier, so it is old enough as well.
_LEAVES_EARLIER = sa.and_(
    runs.c.status == word(RunStatus.COMPLETED),
    _before.c.status == word(RunStatus.COMPLETED),
    _before.c.conversation_id == runs.c.conversation_id,
)
# A call without a reservation may be at a provider, in a batch, or answered and not counted.
_UNSETTLED = sa.or_(
    sa.exists().where(reservations.c.run_id == runs.c.id, reservations.c.settled_at.is_(None)),
    sa.exists().where(
        collected_asks.c.run_id == runs.c.id,
        sa.or_(collected_asks.c.batch_id.is_not(None), collected_asks.c.usage.is_not(None)),
    ),
)
_KEPT = sa.or_(_after(_RETRYABLE), _UNSETTLED)
_NOT_NOW = sa.or_(_after(sa.or_(_RETRYABLE, _LEAVES_EARLIER)), _UNSETTLED)
_SESSION = (
    sa.select(sessions.c.key)
    .where(sessions.c.tenant == sa.bindparam("of_tenant"), sessions.c.id == sa.bindparam("of_session"))
    .with_for_update()
)
_LEAVE = (
    sa.update(documents)
    .where(documents.c.run_id == sa.bindparam("of_run"))
    .values(run_id=sa.bindparam("of_conversation"))
)
_LEFT_BEFORE = sa.delete(documents).where(
    documents.c.run_id == sa.bindparam("of_conversation"),
    documents.c.id.in_(sa.select(documents.c.id).where(documents.c.run_id == sa.bindparam("of_run"))),
)
# Marks that tell of a new epoch of some history; the text may say so for another reason, too.
_EPOCHS = sa.select(events.c.changes).where(
    events.c.run_id == sa.bindparam("of_run"), sa.cast(events.c.changes, sa.Text).like('%"epoch":%')
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Retention:
    """Runs that are deleted: those with one of these final statuses, `older_than` seconds after their end."""

    older_than: float
    statuses: tuple[str, ...] = FINISHED

    @property
    def conditions(self) -> tuple[sa.ColumnElement[bool], ...]:
        """Return what their rows fulfil."""
        old = runs.c.finished_at <= now() - sa.literal(self.older_than, sa.Double)
        return (runs.c.finished_at.is_not(None), old, runs.c.status.in_([word(status) for status in self.statuses]))


@dataclass(frozen=True, kw_only=True, slots=True)
class OldRun:
    """A run that is old enough, and its place in the order of ends."""

    id: str
    status: str
    finished_at: float


class OldRuns(RecordPart):
    """Finds the runs that are kept no longer; reads without locks."""

    def old_runs(self, retention: Retention, limit: int, after: OldRun | None = None) -> list[OldRun]:
        """The first runs that are old enough, the oldest end first; of those behind `after`, if it is given.

        Delete them in that order: an earlier run of a session may have to go before a later one can.
        """
        columns = (runs.c.id, runs.c.status, runs.c.finished_at)
        statement = sa.select(*columns).where(*retention.conditions)
        if after is not None:
            place = sa.tuple_(sa.literal(after.finished_at, sa.Double), sa.literal(after.id))
            statement = statement.where(sa.tuple_(runs.c.finished_at, runs.c.id) > place)
        with self._database.read() as connection:
            rows = connection.execute(statement.order_by(runs.c.finished_at, runs.c.id).limit(limit)).all()
        return [OldRun(id=row[0], status=row[1], finished_at=row[2]) for row in rows]

    def count_old_runs(self, retention: Retention) -> tuple[dict[str, int], int]:
        """Return how many runs would be deleted, by status, and how many are old enough, but have to be kept."""
        counted = sa.select(runs.c.status, sa.func.count()).where(*retention.conditions).group_by(runs.c.status)
        # A failed run that is old itself goes first, and keeps none.
        kept = _UNSETTLED if RunStatus.FAILED in retention.statuses else _KEPT
        with self._database.read() as connection:
            free = {row[0]: row[1] for row in connection.execute(counted.where(~kept))}
            return free, sum(row[1] for row in connection.execute(counted.where(kept)))


class Purges(OldRuns):
    """Deletes what is kept no longer; skips what another transaction holds."""

    def purge_run(self, run_id: str, retention: Retention) -> bool:
        """Delete a run and everything that hangs on it; False if it may not be, is gone, or someone works on it.

        False, too, if someone has its session, or whatever else it needs, for longer than a sweep may wait.
        """
        purged = False
        with impatient(self._database) as connection:
            rows = driver.fetch(connection, _lock(retention), {"of_run": run_id})
            if rows:
                self._purge(connection, run_of(rows[0]), float(rows[0][-1]))
                purged = True
        return purged

    def forget_old_budgets(self) -> int:
        """Delete the budgets of days and months that ended a week ago, and their sums. Return the number of rows."""
        forgotten = 0
        with self._database.begin() as connection:
            past = datetime.fromtimestamp(self._database.now(connection), UTC) - timedelta(days=KEPT_DAYS)
            ends = {TENANT_DAY: f"{past:%Y-%m-%d}", TENANT_MONTH: f"{past:%Y-%m}"}
            for table in (budgets, purged_usage):
                for scope, present in ends.items():
                    period = sa.func.substr(table.c.scope_id, sa.func.length(table.c.scope_id) - len(present) + 1)
                    statement = sa.delete(table).where(table.c.scope == scope, period < present)
                    forgotten += connection.execute(statement).rowcount
        return forgotten

    def _purge(self, connection: Connection, run: RunRecord, at: float) -> None:
        """Delete a run whose row is locked, and keep what is left of it."""
        in_session = _in_session(connection, run)
        count_purged(self._database, connection, run, at, in_session)
        # None, unless a program of before 0012 ended the run.
        driver.run(connection, add_usage(self._database.insert), usage_rows(run))
        left = in_session and run.conversation_id is not None and run.status == RunStatus.COMPLETED
        if left:
            given = {"of_run": run.id, "of_conversation": run.conversation_id}
            for statement in (_LEFT_BEFORE, _LEAVE):
                driver.run(connection, statement, [given])
        _delete(connection, run.id, list(_asides(connection, run.id)))


def _in_session(connection: Connection, run: RunRecord) -> bool:
    """Return whether the run's session is still there; if so, its row stays locked."""
    if run.session_key is None:
        return False
    given = {"of_tenant": run.tenant, "of_session": run.session_id}
    return [row[0] for row in driver.fetch(connection, _SESSION, given)] == [run.session_key]


def _asides(connection: Connection, run_id: str) -> Iterator[str]:
    """Under what the rows are kept that were cut off the run's own histories."""
    begun: dict[str, int] = {}
    newest: dict[str, int] = {}
    for (changes,) in driver.fetch(connection, _EPOCHS, {"of_run": run_id}):
        for key, told in (changes.get("begun") or {}).items():
            begun[key] = min(told["epoch"], begun.get(key, told["epoch"]))
        for key, told in (changes.get("agents") or {}).items():
            newest[key] = max(told.get("epoch", 0), newest.get(key, 0))
    epochs = {epoch for key, last in newest.items() for epoch in range(begun.get(key, 0) + 1, last + 1)}
    return (aside(run_id, epoch) for epoch in sorted(epochs))


def _delete(connection: Connection, run_id: str, owners: Iterable[str]) -> None:
    for table in _OF_RUNS:
        driver.run(connection, _delete_of_run(table), [{"of_run": run_id}])
    for table in _OF_OWNERS:
        driver.run(connection, _delete_of_owner(table), [{"of_owner": run_id}])
    left = iter(owners)
    while part := list(islice(left, _TOGETHER)):
        driver.run(connection, _delete_of_owner(histories), [{"of_owner": owner} for owner in part])
    driver.run(connection, _DELETE_RUN, [{"of_run": run_id}])


@cache
def _lock(retention: Retention) -> sa.Select[Any]:
    """A run's row and the time, if the run may be deleted and no other transaction holds it."""
    found = sa.select(*RUN, now()).where(runs.c.id == sa.bindparam("of_run"), *retention.conditions, ~_NOT_NOW)
    return found.with_for_update(skip_locked=True, of=runs)


_DELETE_RUN = sa.delete(runs).where(runs.c.id == sa.bindparam("of_run"))


@cache
def _delete_of_run(table: sa.Table) -> sa.Delete:
    return sa.delete(table).where(table.c.run_id == sa.bindparam("of_run"))


@cache
def _delete_of_owner(table: sa.Table) -> sa.Delete:
    return sa.delete(table).where(table.c.owner == sa.bindparam("of_owner"))
