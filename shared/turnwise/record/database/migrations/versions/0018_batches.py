"""Batches: runs that were submitted together, their order, and a budget for all of them.

Runs before the deploy. It adds tables and columns that may be NULL; programs of 0002 and later go on working. They make
no runs of a batch's items, and do not keep to the budget of one: open the first batch with a budget once all processes
are upgraded.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_UNFINISHED = "status IN ('queued', 'running', 'waiting')"


def upgrade() -> None:
    op.create_table(
        "batches",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("task", sa.Text()),
        sa.Column("name", sa.Text()),
        sa.Column("key", sa.Text()),
        sa.Column("concurrency", sa.Integer(), nullable=False),
        sa.Column("total", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("budgeted", sa.Boolean(), nullable=False, server_default=sa.false()),
        sa.Column("created_at", sa.Double(), nullable=False),
        *(sa.Column(name, sa.Double()) for name in ("sealed_at", "cancelled_at", "stopped_at")),
        sa.Column("stopped_by", sa.Text()),
        sa.Column("finished_at", sa.Double()),
    )
    _index("uq_batches_key", "batches", ["tenant", "key"], "key IS NOT NULL", unique=True)
    op.create_index("ix_batches_tenant", "batches", ["tenant", "id"])
    _index("ix_batches_unfinished", "batches", ["id"], "finished_at IS NULL")
    _index("ix_batches_finished", "batches", ["finished_at"], "finished_at IS NOT NULL")
    op.create_table(
        "batch_items",
        sa.Column("batch_id", sa.Text(), primary_key=True),
        sa.Column("no", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("key", sa.Text()),
        sa.Column("body", sa.JSON(none_as_null=True)),
        sa.Column("run", sa.Text()),
    )
    _index("uq_batch_items_key", "batch_items", ["batch_id", "key"], "key IS NOT NULL", unique=True)
    _index("ix_batch_items_not_begun", "batch_items", ["batch_id", "no"], "run IS NULL")
    op.add_column("runs", sa.Column("batch_id", sa.Text()))
    op.add_column("runs", sa.Column("batch_budget", sa.Boolean()))
    _index("ix_runs_batch", "runs", ["batch_id", "id"], "batch_id IS NOT NULL")
    _index("ix_runs_batch_active", "runs", ["batch_id"], f"batch_id IS NOT NULL AND {_UNFINISHED}")
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.drop_index("ix_runs_batch_active", "runs")
    op.drop_index("ix_runs_batch", "runs")
    op.drop_column("runs", "batch_budget")
    op.drop_column("runs", "batch_id")
    op.drop_table("batch_items")
    op.drop_table("batches")


def _index(name: str, table: str, columns: list[str], condition: str, *, unique: bool = False) -> None:
    where = sa.text(condition)
    op.create_index(name, table, columns, unique=unique, postgresql_where=where, sqlite_where=where)
