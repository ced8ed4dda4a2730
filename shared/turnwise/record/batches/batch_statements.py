"""The statements that several parts of batches use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import NotFoundError
from turnwise.record.batches.batch_record import BatchRecord
from turnwise.record.budgets.budgets import BATCH
from turnwise.record.database.batch_tables import batch_items, batches
from turnwise.record.database.budget_tables import budgets
from turnwise.record.database.rows import names
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED
from turnwise.record.tenants.reach import Reach

_COLUMNS = tuple(batches.c)
_NAMES = (*names(_COLUMNS), "max_cost", "max_tokens")
BATCHES = sa.select(*_COLUMNS, budgets.c.limit_cost, budgets.c.limit_tokens).select_from(
    batches.outerjoin(budgets, sa.and_(budgets.c.scope == BATCH, budgets.c.scope_id == batches.c.id))
)
_BY_ID = BATCHES.where(batches.c.id == sa.bindparam("of_batch"))
_LOCK = sa.select(batches.c.id).where(batches.c.id == sa.bindparam("of_batch"))
# One that was cancelled has ended for good.
_REOPEN = sa.update(batches).where(batches.c.id == sa.bindparam("of_batch"), batches.c.cancelled_at.is_(None))
# The same in any order of work: a batch's runs that have not ended.
ACTIVE_RUNS = (
    sa.select(sa.func.count())
    .select_from(runs)
    .where(runs.c.batch_id == sa.bindparam("of_batch"), status_in(runs.c.status, UNFINISHED))
)
NOT_BEGUN = sa.select(batch_items.c.no, batch_items.c.body).where(
    batch_items.c.batch_id == sa.bindparam("of_batch"), batch_items.c.run.is_(None)
)


def batch_of(row: Sequence[Any]) -> BatchRecord:
    """A batch from the values of `BATCHES`."""
    return BatchRecord(**dict(zip(_NAMES, row, strict=True)))


def lock_batch(connection: Connection, reach: Reach, batch_id: str, *, skip_locked: bool = False) -> BatchRecord | None:
    """Lock a batch's row, and return the batch; None if another holds it (`skip_locked`), or there is none in reach."""
    lock = _LOCK.where(*reach.where(batches.c.tenant)).with_for_update(skip_locked=skip_locked)
    if connection.execute(lock, {"of_batch": batch_id}).first() is None:
        return None
    row = connection.execute(_BY_ID, {"of_batch": batch_id}).first()
    return None if row is None else batch_of(row)


def read_batch(connection: Connection, reach: Reach, batch_id: str) -> BatchRecord:
    """Return a batch; raises `NotFoundError`."""
    row = connection.execute(_BY_ID.where(*reach.where(batches.c.tenant)), {"of_batch": batch_id}).first()
    if row is None:
        raise unknown_batch(batch_id)
    return batch_of(row)


def reopen_batch(connection: Connection, batch_id: str, **values: None) -> None:
    """Let a batch that is over run again until its runs have ended; `values` are what else is reset.

    Its row is locked after that of a run and its tenant's admission. Who has it waits for an admission for a short
    while only, so that this is no deadlock.
    """
    connection.execute(_REOPEN.values(finished_at=None, **values), {"of_batch": batch_id})


def unknown_batch(batch_id: str) -> NotFoundError:
    """The error that says which batch there is not."""
    return NotFoundError(f"there is no batch {batch_id!r}; list the batches to see which exist")
