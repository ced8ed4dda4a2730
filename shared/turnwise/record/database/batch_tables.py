"""The tables of batches: each batch, its items in the order in which they were given, and sums of its ended runs.

A batch's row is locked before its items are added or begun as runs. No transaction that holds it waits for a run.
Triggers of the database keep `batch_sums` and `replaced_batch_runs`; the migration 0020 has them.
"""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import Document, Money, Seconds, metadata

batches = sa.Table(
    "batches",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("task", sa.Text),  # NULL: its runs are of several tasks
    sa.Column("name", sa.Text),
    sa.Column("key", sa.Text),  # the client's: opened again with it, the batch is the same
    sa.Column("concurrency", sa.Integer, nullable=False),  # how many of its runs may be unfinished at a time
    sa.Column("total", sa.Integer, nullable=False, server_default="0"),
    sa.Column("budgeted", sa.Boolean, nullable=False, server_default=sa.false()),  # it has a row in `budgets`
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("sealed_at", Seconds),  # no item is added after that
    sa.Column("cancelled_at", Seconds),
    # No further item begins, because of the batch's limit of `cost` or `tokens`.
    sa.Column("stopped_at", Seconds),
    sa.Column("stopped_by", sa.Text),
    sa.Column("finished_at", Seconds),
    sa.Column("filled_at", Seconds),  # when the last items were added
    sa.Column("expired_at", Seconds),  # it was not sealed by its client, and is closed by the time
)
_has_key = sa.text("key IS NOT NULL")
sa.Index(
    "uq_batches_key", batches.c.tenant, batches.c.key, unique=True, postgresql_where=_has_key, sqlite_where=_has_key
)
sa.Index("ix_batches_tenant", batches.c.tenant, batches.c.id)
_unfinished = sa.text("finished_at IS NULL")
sa.Index("ix_batches_unfinished", batches.c.id, postgresql_where=_unfinished, sqlite_where=_unfinished)
_finished = sa.text("finished_at IS NOT NULL")
sa.Index("ix_batches_finished", batches.c.finished_at, postgresql_where=_finished, sqlite_where=_finished)

batch_items = sa.Table(
    "batch_items",
    metadata,
    sa.Column("batch_id", sa.Text, primary_key=True),
    sa.Column("no", sa.Integer, primary_key=True, autoincrement=False),  # from 1, in the order of the input
    sa.Column("key", sa.Text),  # the client's own id
    sa.Column("body", Document),  # the run to be made; NULL where the run was made with the batch
    # The run that was made of it last, not named `run_id`: the item stays when its run is deleted. NULL: not begun.
    sa.Column("run", sa.Text),
)
sa.Index(
    "uq_batch_items_key",
    batch_items.c.batch_id,
    batch_items.c.key,
    unique=True,
    postgresql_where=_has_key,
    sqlite_where=_has_key,
)
_not_begun = sa.text("run IS NULL")
sa.Index(
    "ix_batch_items_not_begun",
    batch_items.c.batch_id,
    batch_items.c.no,
    postgresql_where=_not_begun,
    sqlite_where=_not_begun,
)

# The runs of a batch that have ended, by the status of their items, also those of items that were begun anew and those
# that are deleted. A status has several rows (`slot`), or each end of a run would wait for the one before.
batch_sums = sa.Table(
    "batch_sums",
    metadata,
    sa.Column("batch_id", sa.Text, primary_key=True),
    sa.Column("status", sa.Text, primary_key=True),
    sa.Column("slot", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("runs", sa.BigInteger, nullable=False),
    sa.Column("calls", sa.BigInteger, nullable=False),
    sa.Column("unpriced_calls", sa.BigInteger, nullable=False),
    sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
    sa.Column("cached_tokens", sa.BigInteger, nullable=False),
    sa.Column("completion_tokens", sa.BigInteger, nullable=False),
    sa.Column("cost", Money, nullable=False),
)
# Runs of items that were begun anew: no item has them now.
replaced_batch_runs = sa.Table(
    "replaced_batch_runs",
    metadata,
    sa.Column("batch_id", sa.Text, primary_key=True),
    sa.Column("run", sa.Text, primary_key=True),
)
