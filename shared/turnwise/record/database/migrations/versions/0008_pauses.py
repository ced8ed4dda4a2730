"""Pauses of a queue, a task or a tenant, and processes that are about to end.

Runs before the deploy. It only adds, so programs of 0002 and later continue working. Those from before this
migration know of no pause, and continue with what is paused until they are replaced.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"


def upgrade() -> None:
    op.create_table(
        "pauses",
        sa.Column("kind", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("paused_by", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text()),
        sa.Column("resumed_at", sa.Double()),
    )
    op.add_column("workers", sa.Column("draining_since", sa.Double()))
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.drop_column("workers", "draining_since")
    op.drop_table("pauses")
