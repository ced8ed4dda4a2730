"""Schedules, their ticks, and the versions of an application that declare schedules.

Runs before the deploy. It only adds tables; programs of 0002 and later go on working, and look after no schedule.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from turnwise.record.database.columns import Document

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"


def upgrade() -> None:
    op.create_table(
        "schedules",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("task", sa.Text(), nullable=False),
        sa.Column("run", Document, nullable=False),
        sa.Column("cron", sa.Text()),
        sa.Column("every", sa.Double()),
        sa.Column("at", sa.Double()),
        sa.Column("timezone", sa.Text(), nullable=False),
        sa.Column("start_at", sa.Double()),
        sa.Column("end_at", sa.Double()),
        sa.Column("jitter", sa.Double(), nullable=False),
        sa.Column("catch_up", sa.Text(), nullable=False),
        sa.Column("catch_up_limit", sa.Integer(), nullable=False),
        sa.Column("overlap", sa.Text(), nullable=False),
        sa.Column("version", sa.Text()),
        sa.Column("due_at", sa.Double()),
        sa.Column("look_at", sa.Double()),
        sa.Column("paused_at", sa.Double()),
        sa.Column("paused_by", sa.Text()),
        sa.Column("pause_note", sa.Text()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("updated_at", sa.Double(), nullable=False),
    )
    op.create_index("uq_schedules_name", "schedules", ["tenant", "name"], unique=True)
    looked = sa.text("look_at IS NOT NULL")
    op.create_index("ix_schedules_look", "schedules", ["look_at"], sqlite_where=looked, postgresql_where=looked)
    op.create_table(
        "schedule_ticks",
        sa.Column("schedule_id", sa.Text(), primary_key=True),
        sa.Column("due_at", sa.Double(), primary_key=True),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text()),
        sa.Column("ticks", sa.Integer(), nullable=False),
        sa.Column("triggered_by", sa.Text()),
        sa.Column("code", sa.Text()),
        sa.Column("reason", sa.Text()),
    )
    op.create_index("ix_schedule_ticks_run", "schedule_ticks", ["run_id"])
    queued = sa.text("outcome = 'queued'")
    columns = ["schedule_id", "due_at"]
    op.create_index("ix_schedule_ticks_queued", "schedule_ticks", columns, sqlite_where=queued, postgresql_where=queued)
    op.create_table(
        "schedule_versions",
        sa.Column("version", sa.Text(), primary_key=True),
        sa.Column("first_seen_at", sa.Double(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("in_force", sa.Boolean(), nullable=False),
    )
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    op.drop_table("schedule_versions")
    op.drop_table("schedule_ticks")
    op.drop_table("schedules")
