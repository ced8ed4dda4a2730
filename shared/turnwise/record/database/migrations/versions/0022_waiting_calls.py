"""Calls that wait for a provider in their workers, noted in its bucket.

Runs before the deploy. It adds a column that may be NULL; programs of 0002 and later go on working. They do not heed
the notes: until all processes are upgraded, places may go to others that come later.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"


def upgrade() -> None:
    op.add_column("provider_buckets", sa.Column("waiting", sa.JSON(none_as_null=True)))
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.drop_column("provider_buckets", "waiting")
