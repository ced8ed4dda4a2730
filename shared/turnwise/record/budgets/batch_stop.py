"""The end of a batch's budget: a note in the batch's row, which is locked after the budgets of a call."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.database import driver
from turnwise.record.database.batch_tables import batches
from turnwise.record.database.columns import now

_STOP = (
    sa.update(batches)
    .where(batches.c.id == sa.bindparam("of_batch"), batches.c.stopped_at.is_(None))
    .values(stopped_at=now(), stopped_by=sa.bindparam("by"))
)


def stop_batch(connection: Connection, batch_id: str, limit: str) -> None:
    """Note that no further item of a batch begins, because of its limit of `cost` or `tokens`."""
    driver.run(connection, _STOP, [{"of_batch": batch_id, "by": limit}])
