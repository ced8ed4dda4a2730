"""The queries of batches: they read without locks."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.batches.batch_progress import progress_of
from turnwise.record.batches.batch_record import BatchItem, BatchProgress, BatchRecord
from turnwise.record.batches.batch_statements import BATCHES, batch_of, read_batch
from turnwise.record.database.batch_tables import batch_items, batches
from turnwise.record.database.rows import RUN, run_of
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED
from turnwise.record.transaction.part import RecordPart

# With the batch's id on both sides, so that the runs are found by it and not one by one.
_with_runs = batch_items.outerjoin(
    runs, sa.and_(runs.c.id == batch_items.c.run, runs.c.batch_id == sa.bindparam("of_batch"))
)
_PAGE = (
    sa.select(batch_items.c.no, batch_items.c.key, batch_items.c.run, *RUN)
    .select_from(_with_runs)
    .where(batch_items.c.batch_id == sa.bindparam("of_batch"), batch_items.c.no > sa.bindparam("after"))
    .order_by(batch_items.c.no)
    .limit(sa.bindparam("most", type_=sa.Integer))
)
_UNFINISHED = (
    sa.select(runs.c.id)
    .where(runs.c.batch_id == sa.bindparam("of_batch"), status_in(runs.c.status, UNFINISHED))
    .order_by(runs.c.id)
)


class BatchLists(RecordPart):
    """Reads batches and their items."""

    def batch(self, batch_id: str) -> BatchRecord:
        """A batch; raises `NotFoundError`."""
        with self._database.read() as connection:
            return read_batch(connection, self._reach, batch_id)

    def batches(self, before: str | None = None, limit: int = 50) -> list[BatchRecord]:
        """Batches, the newest first; those older than the batch `before`."""
        statement = BATCHES.where(*self._reach.where(batches.c.tenant)).order_by(batches.c.id.desc()).limit(limit)
        if before is not None:
            statement = statement.where(batches.c.id < before)
        with self._database.read() as connection:
            return [batch_of(row) for row in connection.execute(statement)]

    def batch_progress(self, batch_id: str) -> BatchProgress:
        """A batch, its items counted by status, and what its runs have used; raises `NotFoundError`."""
        with self._database.read() as connection:
            return progress_of(connection, [read_batch(connection, self._reach, batch_id)])[0]

    def batches_progress(self, before: str | None = None, limit: int = 50) -> list[BatchProgress]:
        """Batches as `batches` gives them, each with its items counted and what its runs have used."""
        found = self.batches(before, limit)
        with self._database.read() as connection:
            return progress_of(connection, found)

    def batch_items(self, batch_id: str, after: int = 0, limit: int = 200) -> list[BatchItem]:
        """The items behind number `after` with their runs, in the order of the input; raises `NotFoundError`."""
        given = {"of_batch": batch_id, "after": after, "most": limit}
        with self._database.read() as connection:
            read_batch(connection, self._reach, batch_id)
            rows = connection.execute(_PAGE, given).all()
        return [
            BatchItem(no=row[0], key=row[1], begun=row[2], run=None if row[3] is None else run_of(row[3:]))
            for row in rows
        ]

    def unfinished_of_batch(self, batch_id: str) -> list[str]:
        """The ids of its runs that have not ended; raises `NotFoundError`."""
        with self._database.read() as connection:
            read_batch(connection, self._reach, batch_id)
            return list(connection.execute(_UNFINISHED, {"of_batch": batch_id}).scalars())
