"""Deleting batches that ended long ago: what is left of them once their runs are deleted, too."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.budgets.budgets import BATCH
from turnwise.record.database.batch_tables import batch_items, batch_sums, batches, replaced_batch_runs
from turnwise.record.database.budget_tables import budgets
from turnwise.record.database.columns import now
from turnwise.record.database.schema import runs
from turnwise.record.transaction.part import RecordPart

# Batches in one transaction: each may have many items.
_TOGETHER = 10
_HAS_RUNS = sa.exists().where(runs.c.batch_id == batches.c.id)
_OLD = (
    sa.select(batches.c.id, budgets.c.scope_id)
    .select_from(batches.outerjoin(budgets, sa.and_(budgets.c.scope == BATCH, budgets.c.scope_id == batches.c.id)))
    .where(batches.c.finished_at <= now() - sa.bindparam("older_than", type_=sa.Double), sa.not_(_HAS_RUNS))
    .order_by(batches.c.finished_at)
    .limit(_TOGETHER)
    .with_for_update(skip_locked=True, of=batches)
)
# Budgets are locked ahead of their batches. Whoever holds one may wait for its batch, so here no one waits for it.
_FREE = (
    sa.select(budgets.c.scope_id)
    .where(budgets.c.scope == BATCH, budgets.c.scope_id.in_(sa.bindparam("of_batches", expanding=True)))
    .with_for_update(skip_locked=True)
)


class BatchPurges(RecordPart):
    """Deletes batches that are kept no longer."""

    def purge_batches(self, older_than: float) -> int:
        """Delete some batches that ended `older_than` seconds ago and no longer have runs, and return how many.

        One that is locked, or whose budget is, is left for later.
        """
        with self._database.begin() as connection:
            found = connection.execute(_OLD, {"older_than": older_than}).all()
            free = set(connection.execute(_FREE, {"of_batches": [row[0] for row in found]}).scalars())
            old = [id for id, budget in found if budget is None or budget in free]
            if old:
                connection.execute(sa.delete(budgets).where(budgets.c.scope == BATCH, budgets.c.scope_id.in_(old)))
                for table in (batch_items, batch_sums, replaced_batch_runs):
                    connection.execute(sa.delete(table).where(table.c.batch_id.in_(old)))
                connection.execute(sa.delete(batches).where(batches.c.id.in_(old)))
        return len(old)
