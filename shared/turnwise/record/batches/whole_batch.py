"""Batches whose runs were all made when they were submitted."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.database import driver
from turnwise.record.database.batch_tables import batch_items, batches
from turnwise.record.database.burst import insert_all
from turnwise.record.values.records import RunRecord

_BATCH = sa.insert(batches)
_ITEMS = sa.insert(batch_items)


def write_batch(connection: Connection, made: Sequence[RunRecord]) -> None:
    """Write the batch that the runs name, closed to further items, with these runs as its items."""
    first, tasks = made[0], {run.task for run in made}
    batch = {
        "id": first.batch_id,
        "tenant": first.tenant,
        "task": first.task if len(tasks) == 1 else None,
        "concurrency": len(made),
        "total": len(made),
        "created_at": first.created_at,
        "sealed_at": first.created_at,
    }
    driver.run(connection, _BATCH, [batch])
    items = [{"batch_id": first.batch_id, "no": no, "run": run.id} for no, run in enumerate(made, 1)]
    insert_all(connection, _ITEMS, items)
