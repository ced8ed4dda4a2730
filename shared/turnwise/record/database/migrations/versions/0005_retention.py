"""Retention: finding the runs that ended long ago, and keeping the sums of those that were deleted.

Runs before the deploy. It only adds, so programs of 0002 continue working until they are replaced. They do not know the
sums of deleted runs, nor the documents that those leave to their session: purge once none of them is left.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from turnwise.record.database.columns import Money

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_SUMS = ("runs", "prompt_tokens", "cached_tokens", "completion_tokens", "calls", "unpriced_calls")


def upgrade() -> None:
    ended = sa.text("finished_at IS NOT NULL")
    op.create_index("ix_runs_finished", "runs", ["finished_at", "id"], postgresql_where=ended, sqlite_where=ended)
    op.create_table(
        "purged_usage",
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("scope_id", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in _SUMS),
        sa.Column("cost", Money(), nullable=False),
        sa.PrimaryKeyConstraint("scope", "scope_id", "task"),
    )
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.drop_table("purged_usage")
    op.drop_index("ix_runs_finished", "runs")
