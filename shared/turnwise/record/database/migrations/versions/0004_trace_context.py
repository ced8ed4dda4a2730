"""Trace contexts, so that what happens later or elsewhere can be told of together with what it follows.

Runs before the deploy. It only adds columns that may be empty, so programs of 0002 and later continue working.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_COLUMNS = (("runs", "traceparent"), ("runs", "stretch"), ("asks", "traceparent"), ("replies", "traceparent"))


def upgrade() -> None:
    for table, column in _COLUMNS:
        op.add_column(table, sa.Column(column, sa.Text()))
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    for table, column in reversed(_COLUMNS):
        with op.batch_alter_table(table) as batch:
            batch.drop_column(column)
