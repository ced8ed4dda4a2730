"""The runs that are made of a batch's items: as many at a time as the batch and its tenant allow."""

from __future__ import annotations

import logging
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.ids import new_id
from turnwise.record.batches.batch_record import BatchRecord, run_of_body
from turnwise.record.batches.batch_statements import ACTIVE_RUNS, NOT_BEGUN, lock_batch
from turnwise.record.budgets.batch_stop import stop_batch
from turnwise.record.budgets.budgets import BATCH
from turnwise.record.database import driver
from turnwise.record.database.batch_tables import batch_items, batches
from turnwise.record.database.budget_tables import budgets
from turnwise.record.database.columns import now
from turnwise.record.database.lock_waits import PATIENCE
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED
from turnwise.record.tenants.admission import room_for_runs, try_lock_admission
from turnwise.record.transaction.journal import accepted
from turnwise.record.transaction.new_runs import write_accepted, write_runs
from turnwise.record.transaction.part import RecordPart
from turnwise.record.values.records import RunRecord

logger = logging.getLogger(__name__)

# Runs that are made in one transaction, for which other submissions of a tenant with a limit of runs wait.
_AT_ONCE = 100
_BATCH = 50

_BEGIN = (
    sa.update(batch_items)
    .where(batch_items.c.batch_id == sa.bindparam("of_batch"), batch_items.c.no == sa.bindparam("of_no"))
    .values(run=sa.bindparam("new_run"))
)
_BUDGET = sa.select(budgets.c.limit_cost, budgets.c.limit_tokens, budgets.c.spent_cost, budgets.c.spent_tokens).where(
    budgets.c.scope == BATCH, budgets.c.scope_id == sa.bindparam("of_batch")
)
_of_it = runs.c.batch_id == batches.c.id
_active = sa.select(sa.func.count()).select_from(runs).where(_of_it, status_in(runs.c.status, UNFINISHED))
_waits = sa.exists().where(batch_items.c.batch_id == batches.c.id, batch_items.c.run.is_(None))
_begins = sa.and_(batches.c.cancelled_at.is_(None), batches.c.stopped_at.is_(None))
_closed = sa.or_(batches.c.sealed_at.is_not(None), batches.c.cancelled_at.is_not(None))
# Batches that have room for further runs, and those that are over and do not say so yet.
_DUE = (
    sa.select(batches.c.id, batches.c.tenant)
    .where(
        batches.c.finished_at.is_(None),
        sa.or_(
            sa.and_(_begins, _waits, _active.scalar_subquery() < batches.c.concurrency),
            sa.and_(_closed, _active.scalar_subquery() == 0, sa.or_(sa.not_(_begins), sa.not_(_waits))),
        ),
    )
    .order_by(batches.c.id)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_DUE_BEHIND = _DUE.where(batches.c.id > sa.bindparam("after"))
_DUE_BEFORE = _DUE.where(batches.c.id <= sa.bindparam("after"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Fed:
    """The runs that were made of a batch's next items; `more`: there may be room for further ones.

    `postponed`: they are left to a later sweep, because a submission of the tenant takes long.
    """

    runs: list[RunRecord]
    more: bool = False
    postponed: bool = False


class BatchFeeding(RecordPart):
    """Makes runs of the items of batches within reach, and ends batches that are done."""

    def feed_batch(
        self, batch_id: str, *, max_unfinished_runs: int | None = None, wait: bool = True, patience: float = PATIENCE
    ) -> Fed:
        """Make runs of the items that come next, as far as the batch's concurrency and its tenant's limit allow.

        Without anything left to do, the batch is finished. Harmless where there is nothing to do, or no such batch.
        `wait` for another that feeds it, or leave it to that one. While a submission of the tenant takes longer than
        `patience` seconds, the items are left to a later sweep.
        """
        with self._database.begin() as connection:
            batch = lock_batch(connection, self._reach, batch_id, skip_locked=not wait)
            if batch is None or batch.finished_at is not None:
                return Fed(runs=[])
            active = connection.execute(ACTIVE_RUNS, {"of_batch": batch_id}).scalar_one()
            fed = Fed(runs=[])
            if batch.begins_runs and not self._stopped(connection, batch):
                fed = self._begin(connection, batch, batch.concurrency - active, max_unfinished_runs, patience)
            if not active and not fed.runs and not fed.more:
                self._finish(connection, batch)
        for run in fed.runs:
            self._core.after_commit(run, [accepted()])
        return fed

    def _stopped(self, connection: Connection, batch: BatchRecord) -> bool:
        """Return whether nothing is left of the budget; the batch is stopped then."""
        if not batch.budgeted:
            return False
        cost, tokens, spent_cost, spent_tokens = driver.fetch(connection, _BUDGET, {"of_batch": batch.id})[0]
        by = "cost" if cost and spent_cost >= cost else "tokens" if tokens and spent_tokens >= tokens else None
        if by is not None:
            stop_batch(connection, batch.id, by)
        return by is not None

    def _begin(self, connection: Connection, batch: BatchRecord, room: int, most: int | None, patience: float) -> Fed:
        """Make runs of the next items; `more` also where items wait and there is no room."""
        room = min(room, _AT_ONCE)
        if room > 0 and most:
            if not try_lock_admission(self._database, connection, batch.tenant, patience):
                return Fed(runs=[], more=True, postponed=True)
            room = min(room, room_for_runs(connection, batch.tenant, most))
        found = NOT_BEGUN.order_by(batch_items.c.no).limit(max(room, 1))
        rows = connection.execute(found, {"of_batch": batch.id}).all()
        if room <= 0 or not rows:
            return Fed(runs=[], more=bool(rows))
        new = [run_of_body(row[1], new_id("run"), batch.id, budgeted=batch.budgeted) for row in rows]
        made = write_runs(self._database, connection, batch.tenant, new, [{}] * len(new))
        write_accepted(connection, made)
        begun = [
            {"of_batch": batch.id, "of_no": row[0], "new_run": run.id} for row, run in zip(rows, made, strict=True)
        ]
        driver.run(connection, _BEGIN, begun)
        return Fed(runs=made, more=len(made) == _AT_ONCE)

    def _finish(self, connection: Connection, batch: BatchRecord) -> None:
        """End a batch of which nothing runs and nothing is to begin, once it is closed to further items."""
        if batch.sealed_at is not None or batch.cancelled_at is not None:
            connection.execute(sa.update(batches).where(batches.c.id == batch.id).values(finished_at=now()))


_forsaken = sa.select(batches.c.id).where(
    batches.c.finished_at.is_(None),
    batches.c.sealed_at.is_(None),
    batches.c.cancelled_at.is_(None),
    sa.func.coalesce(batches.c.filled_at, batches.c.created_at) <= now() - sa.bindparam("older_than", type_=sa.Double),
)


class DueBatches(BatchFeeding):
    """Finds batches that are to be fed, and feeds them; closes those that their clients have left open."""

    def _expired(self, older_than: float) -> list[str]:
        """Close the batches that got no items for `older_than` seconds and were not sealed; returns their ids.

        The items that they have are worked through.
        """
        with self._database.read() as connection:
            if connection.execute(_forsaken.limit(1), {"older_than": older_than}).first() is None:
                return []
        # A part that is added meanwhile has the row's lock, and the row is looked at again after it.
        closing = sa.update(batches).where(batches.c.id.in_(_forsaken.limit(_BATCH).with_for_update(skip_locked=True)))
        with self._database.begin() as connection:
            closed = closing.values(sealed_at=now(), expired_at=now()).returning(batches.c.id)
            return list(connection.execute(closed, {"older_than": older_than}).scalars())

    def due_batches(self, expiry: float | None = None, after: str = "") -> list[tuple[str, str]]:
        """The next batches that no one feeds although there is room, or that are over: their ids and tenants.

        They are those behind the batch `after`, and the first ones follow the last. So batches that stay due, because
        their tenant is at its limit of runs, do not keep their place before all others, if each look begins where the
        one before has ended.

        With `expiry`, those that got no items for so many seconds and were not sealed are closed first.
        """
        for batch_id in () if expiry is None else self._expired(expiry):
            extra = {"action": "batch_expired", "batch": batch_id}
            logger.warning(
                "The batch %s was not sealed for %.0f s and takes no further items", batch_id, expiry, extra=extra
            )
        found: list[tuple[str, str]] = []
        with self._database.read() as connection:
            for statement in (_DUE_BEHIND, _DUE_BEFORE) if after else (_DUE_BEHIND,):
                given = {"after": after, "most": _BATCH - len(found)}
                rows = connection.execute(statement.where(*self._reach.where(batches.c.tenant)), given)
                found += [(row[0], row[1]) for row in rows]
                if len(found) == _BATCH:
                    break
        return found
