"""The tables of schedules: what is to run when, the ticks there were, and whose code declares schedules."""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import Document, Seconds, metadata

schedules = sa.Table(
    "schedules",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("task", sa.Text, nullable=False),
    sa.Column("run", Document, nullable=False),  # what its runs are submitted with, beside the task
    sa.Column("cron", sa.Text),
    sa.Column("every", Seconds),
    sa.Column("at", Seconds),
    sa.Column("timezone", sa.Text, nullable=False),
    sa.Column("start_at", Seconds),
    sa.Column("end_at", Seconds),
    sa.Column("jitter", Seconds, nullable=False),
    sa.Column("catch_up", sa.Text, nullable=False),
    sa.Column("catch_up_limit", sa.Integer, nullable=False),
    sa.Column("overlap", sa.Text, nullable=False),
    sa.Column("version", sa.Text),  # of the application that declares it; NULL: made by a request
    # The oldest tick that is not on record; NULL: none is to come.
    sa.Column("due_at", Seconds),
    # When coordinators have to look at it; NULL: never, because it is paused or has ended.
    sa.Column("look_at", Seconds),
    sa.Column("paused_at", Seconds),
    sa.Column("paused_by", sa.Text),
    sa.Column("pause_note", sa.Text),
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("updated_at", Seconds, nullable=False),
)
sa.Index("uq_schedules_name", schedules.c.tenant, schedules.c.name, unique=True)
_looked_at = sa.text("look_at IS NOT NULL")
sa.Index("ix_schedules_look", schedules.c.look_at, sqlite_where=_looked_at, postgresql_where=_looked_at)

# One row for each tick that came, so no tick comes twice; of ticks that were missed together, the last one has a row.
# A run that is deleted takes its tick with it.
schedule_ticks = sa.Table(
    "schedule_ticks",
    metadata,
    sa.Column("schedule_id", sa.Text, primary_key=True),
    sa.Column("due_at", Seconds, primary_key=True),
    sa.Column("at", Seconds, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),
    sa.Column("ticks", sa.Integer, nullable=False),  # how many the row stands for
    sa.Column("triggered_by", sa.Text),  # NULL: the time
    sa.Column("code", sa.Text),
    sa.Column("reason", sa.Text),
)
sa.Index("ix_schedule_ticks_run", schedule_ticks.c.run_id)
sa.Index(
    "ix_schedule_ticks_queued",
    schedule_ticks.c.schedule_id,
    schedule_ticks.c.due_at,
    sqlite_where=sa.text("outcome = 'queued'"),
    postgresql_where=sa.text("outcome = 'queued'"),
)

# The versions of the application that have declared schedules; those of one are in force.
schedule_versions = sa.Table(
    "schedule_versions",
    metadata,
    sa.Column("version", sa.Text, primary_key=True),
    sa.Column("first_seen_at", Seconds, nullable=False),
    sa.Column("digest", sa.Text, nullable=False),  # of what it declares
    sa.Column("in_force", sa.Boolean, nullable=False),
)
