"""The rows of receivers: their own, and those by which the database's trigger finds them."""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.record.database.columns import now, word
from turnwise.record.database.webhook_tables import webhook_deliveries, webhook_events, webhooks
from turnwise.record.values.records import Json, NewRun, RunRecord
from turnwise.record.webhooks.new_webhook import NewWebhook

_STOP = sa.delete(webhook_events).where(webhook_events.c.webhook_id == sa.bindparam("of_webhook"))
_PARK = (
    sa.update(webhook_deliveries)
    .where(webhook_deliveries.c.webhook_id == sa.bindparam("of_webhook"), webhook_deliveries.c.state == word("pending"))
    .values(state="parked", due_at=None, ended_at=now(), error=sa.bindparam("why"))
)
_ID = sa.literal("msg_") + sa.bindparam("of_run", type_=sa.Text) + "_" + sa.bindparam("of_place", type_=sa.Text) + "_"
_SEND = sa.insert(webhook_deliveries).from_select(
    ("id", "tenant", "webhook_id", "run_id", "seq", "type", "created_at", "state", "due_at", "since"),
    sa.select(
        _ID + webhook_events.c.webhook_id,
        webhook_events.c.tenant,
        webhook_events.c.webhook_id,
        sa.bindparam("of_run", type_=sa.Text),
        sa.bindparam("of_seq", type_=sa.Integer),
        webhook_events.c.type,
        sa.bindparam("at", type_=sa.Double),
        word("pending"),
        sa.bindparam("at", type_=sa.Double),
        sa.bindparam("at", type_=sa.Double),
    ).where(
        webhook_events.c.run_id.in_([word(""), sa.bindparam("of_run", type_=sa.Text)]),
        webhook_events.c.tenant == sa.bindparam("of_tenant"),
        webhook_events.c.type == sa.bindparam("of_type"),
    ),
)
_UNSEND = sa.delete(webhook_deliveries).where(
    webhook_deliveries.c.run_id == sa.bindparam("of_run"), webhook_deliveries.c.seq <= sa.bindparam("last")
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


def unsend_past(connection: Connection, fork_id: str, last: int) -> None:
    """Take back what the trigger sends of a fork's past, which ends with its event `last`.

    It knows the past by its times, so after the database's clock was set back it takes it for the fork's own.
    """
    connection.execute(_UNSEND, {"of_run": fork_id, "last": last})


def send_past(connection: Connection, run: RunRecord, event: Json, at: float, *, retried: int | None = None) -> None:
    """Send an event of a run's past as if it had happened at the time `at`; the trigger sends it no more.

    It is of the past that a fork has taken over, or `retried` is the event of the retry by which it counts again.
    """
    place = str(event["seq"]) if retried is None else f"{event['seq']}_{retried}"
    given = {"of_run": run.id, "of_tenant": run.tenant, "of_seq": event["seq"], "of_type": event["type"]}
    connection.execute(_SEND, given | {"of_place": place, "at": at})


def listen(connection: Connection, webhook_id: str, tenant: str, run_id: str | None, events: Sequence[str]) -> None:
    """Have these types of events sent to a receiver, and no others."""
    connection.execute(_STOP, {"of_webhook": webhook_id})
    place = {"run_id": run_id or "", "tenant": tenant, "webhook_id": webhook_id}
    connection.execute(sa.insert(webhook_events), [{**place, "type": one} for one in events])


def disable(connection: Connection, webhook_id: str, reason: str, why: str) -> None:
    """Have nothing sent to a receiver from now on; what waits to be sent is parked, and says why."""
    connection.execute(_STOP, {"of_webhook": webhook_id})
    connection.execute(_DISABLE, {"of_webhook": webhook_id, "reason": reason})
    park_pending(connection, webhook_id, why)


def park_pending(connection: Connection, webhook_id: str, why: str) -> None:
    """Park what waits to be sent to a receiver."""
    connection.execute(_PARK, {"of_webhook": webhook_id, "why": why})
