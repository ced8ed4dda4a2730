"""Sessions: runs that continue with the conversation of an earlier one.

Runs before the deploy. It only adds: a run's agents and histories are kept under its own id as before, and programs of
0001 continue working until they are replaced. Sessions work once none of those is left: they would begin
a session's next run too early.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_OF_RUNS = ("session_key", "session_no", "conversation_id")
_OF_AGENTS = ("base_len", "base_epoch")


def upgrade() -> None:
    op.create_table(
        "sessions",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("last_no", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("used_at", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "id"),
    )
    # Columns that may be NULL or have a default are added in place, on SQLite too: no row is rewritten.
    op.add_column("runs", sa.Column("session_key", sa.Text(), nullable=True))
    op.add_column("runs", sa.Column("session_no", sa.Integer(), nullable=True))
    op.add_column("runs", sa.Column("conversation_id", sa.Text(), nullable=True))
    for name in _OF_AGENTS:
        op.add_column("agent_states", sa.Column(name, sa.Integer(), nullable=False, server_default="0"))
    in_session = sa.text("session_id IS NOT NULL")
    op.create_index(
        "ix_runs_session", "runs", ["session_id", "id"], postgresql_where=in_session, sqlite_where=in_session
    )
    in_line = sa.text("session_key IS NOT NULL AND status IN ('queued', 'running', 'waiting')")
    op.create_index(
        "ix_runs_session_line", "runs", ["session_key", "session_no"], postgresql_where=in_line, sqlite_where=in_line
    )


def downgrade() -> None:
    op.drop_index("ix_runs_session_line", "runs")
    op.drop_index("ix_runs_session", "runs")
    for table, names in (("runs", _OF_RUNS), ("agent_states", _OF_AGENTS)):
        with op.batch_alter_table(table) as batch:
            for name in names:
                batch.drop_column(name)
    op.drop_table("sessions")
