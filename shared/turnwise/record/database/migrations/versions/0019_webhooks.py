"""Webhooks: receivers, and what is sent to them.

Runs before the deploy. It only adds; programs of 0002 and later go on working, and the events that they write are sent
as well: a trigger writes what is to be sent with the event, in the transaction of the run. It costs a run whose events
no one gets no statement, and only for these types of events a look into a small table.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

# Programs of this schema and later work on the one that this migration leaves.
oldest_program = "0002"

_TYPES = (
    "run.accepted",
    "run.forked",
    "run.retried",
    "run.completed",
    "run.failed",
    "run.cancelled",
    "human.asked",
    "human.answered",
    "ask.parked",
    "ask.resolved",
    "limit.reached",
    "task.finished",
)
# Not IN: for each event, SQLite would make a table of the types.
_WANTED = " OR ".join(f"NEW.type = '{name}'" for name in _TYPES)
# A fork has the events of another run as well, which were sent there: they are older than the fork.
_NOTE = """
    INSERT INTO webhook_deliveries (id, tenant, webhook_id, run_id, seq, type, created_at, state, due_at, since)
    SELECT 'msg_' || NEW.run_id || '_' || NEW.seq || '_' || w.webhook_id,
        r.tenant, w.webhook_id, NEW.run_id, NEW.seq, NEW.type, NEW.at, 'pending', NEW.at, NEW.at
    FROM runs r JOIN webhook_events w ON w.run_id IN ('', r.id) AND w.tenant = r.tenant AND w.type = NEW.type
    WHERE r.id = NEW.run_id AND NEW.at >= r.created_at;
"""


def upgrade() -> None:
    _receivers()
    _deliveries()
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE FUNCTION turnwise_note_event() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {_NOTE} RETURN NULL; END $$"
        )
        op.execute(
            "CREATE TRIGGER events_to_webhooks AFTER INSERT ON events "
            f"FOR EACH ROW WHEN ({_WANTED}) EXECUTE FUNCTION turnwise_note_event()"
        )
    else:
        op.execute(f"CREATE TRIGGER events_to_webhooks AFTER INSERT ON events WHEN {_WANTED} BEGIN {_NOTE} END")
    op.execute(f"UPDATE schema_support SET oldest_program = '{oldest_program}'")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER events_to_webhooks ON events")
        op.execute("DROP FUNCTION turnwise_note_event()")
    else:
        op.execute("DROP TRIGGER events_to_webhooks")
    for table in ("webhook_deliveries", "webhook_events", "webhooks"):
        op.drop_table(table)


def _receivers() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text()),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("events", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("previous_secret", sa.Text()),
        sa.Column("previous_until", sa.Double()),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("disabled_at", sa.Double()),
        sa.Column("disabled_reason", sa.Text()),
    )
    op.create_index("ix_webhooks_tenant", "webhooks", ["tenant", "id"])
    of_run = sa.text("run_id IS NOT NULL")
    op.create_index("ix_webhooks_run", "webhooks", ["run_id"], postgresql_where=of_run, sqlite_where=of_run)
    op.create_table(
        "webhook_events",
        sa.Column("run_id", sa.Text(), primary_key=True),
        sa.Column("tenant", sa.Text(), primary_key=True),
        sa.Column("type", sa.Text(), primary_key=True),
        sa.Column("webhook_id", sa.Text(), primary_key=True),
    )
    op.create_index("ix_webhook_events_webhook", "webhook_events", ["webhook_id"])


def _deliveries() -> None:
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("webhook_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text()),
        sa.Column("seq", sa.Integer()),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("due_at", sa.Double()),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("attempted_at", sa.Double()),
        sa.Column("ended_at", sa.Double()),
        sa.Column("body", sa.Text()),
        sa.Column("status_code", sa.Integer()),
        sa.Column("response", sa.Text()),
        sa.Column("error", sa.Text()),
        sa.CheckConstraint("state IN ('pending', 'delivered', 'parked')", name="ck_webhook_deliveries_state"),
    )
    for name, column, condition in (
        ("due", "due_at", "state = 'pending'"),
        ("parked", "ended_at", "state = 'parked'"),
        ("ended", "ended_at", "ended_at IS NOT NULL"),
    ):
        where = sa.text(condition)
        op.create_index(
            f"ix_webhook_deliveries_{name}", "webhook_deliveries", [column], postgresql_where=where, sqlite_where=where
        )
    op.create_index("ix_webhook_deliveries_webhook", "webhook_deliveries", ["webhook_id", "created_at", "id"])
    op.create_index("ix_webhook_deliveries_run", "webhook_deliveries", ["run_id"])
