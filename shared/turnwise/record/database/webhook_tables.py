"""The tables of webhooks: receivers, the types of events that each gets, and what is sent to them.

A trigger of the database writes `webhook_deliveries` with each event that a receiver gets; the migration has it.
"""

from __future__ import annotations

import sqlalchemy as sa

from turnwise.record.database.columns import Document, Seconds, metadata, status_is

webhooks = sa.Table(
    "webhooks",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),  # of a receiver that one run was submitted with; NULL: of all runs of the tenant
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("origin", sa.Text, nullable=False),  # of the URL; few requests go to its host at a time
    sa.Column("events", Document, nullable=False),
    sa.Column("description", sa.Text, nullable=False),
    # Readable, because every signature is made with it.
    sa.Column("secret", sa.Text, nullable=False),
    sa.Column("previous_secret", sa.Text),
    sa.Column("previous_until", Seconds),
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("created_by", sa.Text, nullable=False),
    sa.Column("disabled_at", Seconds),
    sa.Column("disabled_reason", sa.Text),  # request, or gone: the receiver said so
)
sa.Index("ix_webhooks_tenant", webhooks.c.tenant, webhooks.c.id)
_of_run = sa.text("run_id IS NOT NULL")
sa.Index("ix_webhooks_run", webhooks.c.run_id, postgresql_where=_of_run, sqlite_where=_of_run)

# The trigger looks here, so only receivers that are not disabled have rows. `run_id` is empty for those of a tenant.
webhook_events = sa.Table(
    "webhook_events",
    metadata,
    sa.Column("run_id", sa.Text, primary_key=True),
    sa.Column("tenant", sa.Text, primary_key=True),
    sa.Column("type", sa.Text, primary_key=True),
    sa.Column("webhook_id", sa.Text, primary_key=True),
)
sa.Index("ix_webhook_events_webhook", webhook_events.c.webhook_id)

webhook_deliveries = sa.Table(
    "webhook_deliveries",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),  # the header webhook-id, the same in every attempt
    sa.Column("tenant", sa.Text, nullable=False),
    sa.Column("webhook_id", sa.Text, nullable=False),
    sa.Column("run_id", sa.Text),  # NULL: a test
    sa.Column("seq", sa.Integer),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("created_at", Seconds, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    # Of a pending one: when it may be sent. A coordinator that sends it moves it away, so that no other does.
    sa.Column("due_at", Seconds),
    sa.Column("since", Seconds, nullable=False),  # since when it has been tried; anew with a replay
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    sa.Column("attempted_at", Seconds),
    sa.Column("ended_at", Seconds),  # delivered or parked
    sa.Column("body", sa.Text),  # as it was first sent
    sa.Column("status_code", sa.Integer),  # of the last answer
    sa.Column("response", sa.Text),  # its beginning
    sa.Column("error", sa.Text),  # why the last attempt failed
    sa.CheckConstraint(
        status_is("pending", "delivered", "parked").replace("status", "state", 1), name="ck_webhook_deliveries_state"
    ),
)
_pending = sa.text("state = 'pending'")
sa.Index("ix_webhook_deliveries_due", webhook_deliveries.c.due_at, postgresql_where=_pending, sqlite_where=_pending)
_parked = sa.text("state = 'parked'")
sa.Index("ix_webhook_deliveries_parked", webhook_deliveries.c.ended_at, postgresql_where=_parked, sqlite_where=_parked)
_ended = sa.text("ended_at IS NOT NULL")
sa.Index("ix_webhook_deliveries_ended", webhook_deliveries.c.ended_at, postgresql_where=_ended, sqlite_where=_ended)
sa.Index(
    "ix_webhook_deliveries_webhook",
    webhook_deliveries.c.webhook_id,
    webhook_deliveries.c.created_at,
    webhook_deliveries.c.id,
)
sa.Index("ix_webhook_deliveries_run", webhook_deliveries.c.run_id)
