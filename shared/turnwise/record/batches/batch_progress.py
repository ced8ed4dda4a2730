"""The progress of batches, from the sums of runs that have ended and the rows of those that have not.

It reads as many rows as a batch has unfinished runs, at most its concurrency, however many items it has.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.batches.batch_record import AT_LIMIT, BatchProgress, BatchRecord, ItemStatus
from turnwise.record.database.batch_tables import batch_sums, replaced_batch_runs
from turnwise.record.database.columns import money_total, word
from turnwise.record.database.schema import runs
from turnwise.record.database.status_statements import status_in
from turnwise.record.states import UNFINISHED, RunStatus

_USED = ("calls", "unpriced_calls", "prompt_tokens", "cached_tokens", "completion_tokens")


def _of_batches(column: sa.Column[str]) -> sa.ColumnElement[bool]:
    return column.in_(sa.bindparam("of_batches", expanding=True))


def _sums(table: sa.Table) -> list[sa.ColumnElement[Any]]:
    return [*(sa.func.sum(table.c[name]) for name in _USED), money_total(table.c.cost)]


_ended = (
    sa.select(batch_sums.c.batch_id, batch_sums.c.status, sa.func.sum(batch_sums.c.runs), *_sums(batch_sums))
    .where(_of_batches(batch_sums.c.batch_id))
    .group_by(batch_sums.c.batch_id, batch_sums.c.status)
)
_unfinished = (
    sa.select(runs.c.batch_id, runs.c.status, sa.func.count(), *_sums(runs))
    .where(_of_batches(runs.c.batch_id), status_in(runs.c.status, UNFINISHED))
    .group_by(runs.c.batch_id, runs.c.status)
)
_replaced = replaced_batch_runs.outerjoin(runs, runs.c.id == replaced_batch_runs.c.run)
_item_status = sa.case(
    (runs.c.id.is_(None), word(ItemStatus.DELETED)),
    (
        sa.and_(runs.c.status == word(RunStatus.COMPLETED), runs.c.status_code.in_([word(code) for code in AT_LIMIT])),
        word(ItemStatus.LIMITED),
    ),
    else_=runs.c.status,
)
# They are among the runs above, and are no item's. What they have used stays.
_without_item = (
    sa.select(
        replaced_batch_runs.c.batch_id,
        _item_status,
        -sa.func.count(),
        *(sa.literal_column("0") for _ in _USED),
        sa.literal_column("'0'"),
    )
    .select_from(_replaced)
    .where(_of_batches(replaced_batch_runs.c.batch_id))
    .group_by(replaced_batch_runs.c.batch_id, _item_status)
)
# In one statement: a run that ends meanwhile is counted once.
_PROGRESS = sa.union_all(_ended, _unfinished, _without_item)


def progress_of(connection: Connection, found: Sequence[BatchRecord]) -> list[BatchProgress]:
    """Return the batches with their items by status and what all of their runs have used."""
    if not found:
        return []
    runs_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    used_of: defaultdict[str, Counter[str]] = defaultdict(Counter)
    costs: defaultdict[str, Decimal] = defaultdict(Decimal)
    for batch_id, status, count, *used, cost in connection.execute(
        _PROGRESS, {"of_batches": [batch.id for batch in found]}
    ):
        runs_of[batch_id][status] += int(count)
        used_of[batch_id].update({name: int(value or 0) for name, value in zip(_USED, used, strict=True)})
        costs[batch_id] += cost or Decimal(0)
    return [_progress(batch, runs_of[batch.id], used_of[batch.id], costs[batch.id]) for batch in found]


def _progress(batch: BatchRecord, begun: Counter[str], used: Counter[str], cost: Decimal) -> BatchProgress:
    counts = {status: begun[status] for status in ItemStatus}
    # The row of the batch was read first, and more items may have begun since.
    counts[ItemStatus.NOT_STARTED] = max(0, batch.total - sum(counts.values()))
    return BatchProgress(batch=batch, counts=counts, cost=cost, **{name: used[name] for name in _USED})
