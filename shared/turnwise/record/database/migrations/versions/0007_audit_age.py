"""An index by which the rows of the audit log that are kept no longer are found.

Runs before the deploy. It only adds an index, so programs of 0002 and later continue working.
"""

from __future__ import annotations

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"


def upgrade() -> None:
    op.create_index("ix_audit_at", "audit", ["at"])
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.drop_index("ix_audit_at", "audit")
