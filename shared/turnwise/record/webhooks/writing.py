"""The rows of receivers: their own, and those by which the database's trigger finds them."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.database.columns import now, word
from turnwise.record.database.webhook_tables import webhook_deliveries, webhook_events, webhooks
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.record.webhooks.new_webhook import NewWebhook

_STOP = sa.delete(webhook_events).where(webhook_events.c.webhook_id == sa.bindparam("of_webhook"))
_PARK = (
    sa.update(webhook_deliveries)
    .where(webhook_deliveries.c.webhook_id == sa.bindparam("of_webhook"), webhook_deliveries.c.state == word("pending"))
    .values(state="parked", due_at=None, ended_at=now(), error=sa.bindparam("why"))
)
_DISABLE = (
    sa.update(webhooks)
    .where(webhooks.c.id == sa.bindparam("of_webhook"), webhooks.c.disabled_at.is_(None))
    .values(disabled_at=now(), disabled_reason=sa.bindparam("reason"))
)


def write_webhook(connection: Connection, tenant: str, new: NewWebhook, run_id: str | None = None) -> None:
    """Write a receiver of a tenant's events, or of one run's; those that are written from now on."""
    connection.execute(
        sa.insert(webhooks).values(
            id=new.id,
            tenant=tenant,
            run_id=run_id,
            url=new.url,
            origin=new.origin,
            events=list(new.events),
            description=new.description,
            secret=new.secret,
            created_at=now(),
            created_by=new.created_by,
        )
    )
    listen(connection, new.id, tenant, run_id, new.events)


def write_of_runs(connection: Connection, made: Sequence[RunRecord], new: Sequence[NewRun]) -> None:
    """Write the receivers that runs were submitted with, ahead of the runs' first events."""
    for run, one in zip(made, new, strict=True):
        if one.webhook is not None:
            write_webhook(connection, run.tenant, one.webhook, run.id)


def listen(connection: Connection, webhook_id: str, tenant: str, run_id: str | None, events: Sequence[str]) -> None:
    """Have these types of events sent to a receiver, and no others."""
    connection.execute(_STOP, {"of_webhook": webhook_id})
    place = {"run_id": run_id or "", "tenant": tenant, "webhook_id": webhook_id}
    connection.execute(sa.insert(webhook_events), [{**place, "type": one} for one in events])


def disable(connection: Connection, webhook_id: str, reason: str, why: str) -> None:
    """Have nothing sent to a receiver from now on; what waits to be sent is parked, and says why."""
    connection.execute(_STOP, {"of_webhook": webhook_id})
    connection.execute(_DISABLE, {"of_webhook": webhook_id, "reason": reason})
    connection.execute(_PARK, {"of_webhook": webhook_id, "why": why})
