"""The use of models by a run that works, kept in its own row until it comes to rest.

Runs before the deploy. Programs of 0002 and later go on working: they add to `usage_days` themselves and leave the
column as it is. What a newer program has kept there is added by the next one that writes the run. If an older one has
ended it, a sweep does it within seconds, or else the deletion of the run.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"


def upgrade() -> None:
    op.add_column("runs", sa.Column("uncounted", sa.JSON(none_as_null=True)))
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.drop_column("runs", "uncounted")
