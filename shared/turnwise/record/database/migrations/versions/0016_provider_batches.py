"""Model calls that wait for a batch of their provider.

Runs before the deploy. It only adds; programs of 0002 and later go on working, and collect nothing.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from turnwise.record.database.columns import Document

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"


def upgrade() -> None:
    op.add_column("runs", sa.Column("can_wait", sa.Double()))
    op.create_table(
        "collected_asks",
        sa.Column("run_id", sa.Text(), primary_key=True),
        sa.Column("ask_id", sa.Text(), primary_key=True),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("request", Document, nullable=False),
        sa.Column("token", sa.Integer()),
        sa.Column("call_no", sa.Integer()),
        sa.Column("collected_at", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("error", sa.Text()),
        sa.Column("batch_id", sa.Text()),
        sa.Column("response", Document),
        sa.Column("usage", Document),
    )
    op.create_index("ix_collected_asks_batch", "collected_asks", ["batch_id", "provider", "collected_at"])
    op.create_table(
        "provider_batches",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("remote_id", sa.Text()),
        sa.Column("file_id", sa.Text()),
        sa.Column("submitted_at", sa.Double()),
        sa.Column("looks", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("look_at", sa.Double(), nullable=False),
        sa.Column("leased_by", sa.Text()),
        sa.Column("leased_until", sa.Double(), nullable=False, server_default="0"),
    )
    op.create_index("ix_provider_batches_look", "provider_batches", ["look_at"])
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.drop_table("provider_batches")
    op.drop_table("collected_asks")
    with op.batch_alter_table("runs") as table:
        table.drop_column("can_wait")
