"""Receivers of a tenant's events: made, shown, changed, and taken away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.database.columns import now, word
from turnwise.record.database.rows import names
from turnwise.record.database.webhook_tables import webhook_deliveries, webhook_events, webhooks
from turnwise.record.transaction.part import RecordPart, TenantPart
from turnwise.record.webhooks.new_webhook import NewWebhook
from turnwise.record.webhooks.records import WebhookRecord
from turnwise.record.webhooks.writing import disable, listen, park_pending, write_webhook

# Each event of a run is written for every one of them, in the run's own transaction.
MOST_WEBHOOKS = 100
_COUNT = (
    sa.select(sa.func.count())
    .select_from(webhooks)
    .where(webhooks.c.tenant == sa.bindparam("of_tenant"), webhooks.c.run_id.is_(None))
)
_DISABLED = "the webhook was disabled"
_SECRET = ("secret", "previous_secret")
_SHOWN = tuple(column for column in webhooks.c if column.name not in _SECRET)
_NAMES = names(_SHOWN)


def _counted(state: str) -> sa.ScalarSelect[int]:
    return (
        sa.select(sa.func.count())
        .select_from(webhook_deliveries)
        .where(webhook_deliveries.c.webhook_id == webhooks.c.id, webhook_deliveries.c.state == word(state))
        .correlate(webhooks)
        .scalar_subquery()
    )


_WITH_COUNTS = sa.select(*_SHOWN, _counted("pending"), _counted("parked"))


class Receivers(RecordPart):
    """Shows receivers."""

    def webhooks(self, after: str | None = None, limit: int = 100) -> list[WebhookRecord]:
        """Those of all runs of the tenant, newest first; those before `after`, the id of one."""
        statement = _WITH_COUNTS.where(*self._reach.where(webhooks.c.tenant), webhooks.c.run_id.is_(None))
        if after is not None:
            statement = statement.where(webhooks.c.id < after)
        with self._database.read() as connection:
            rows = connection.execute(statement.order_by(webhooks.c.id.desc()).limit(limit)).all()
        return [_webhook(row) for row in rows]

    def webhook(self, webhook_id: str) -> WebhookRecord:
        """One receiver, also one that a run was submitted with; raises `NotFoundError`."""
        with self._database.read() as connection:
            return self._known_webhook(connection, webhook_id)

    def _known_webhook(self, connection: Connection, webhook_id: str, *, lock: bool = False) -> WebhookRecord:
        statement = _WITH_COUNTS.where(webhooks.c.id == webhook_id, *self._reach.where(webhooks.c.tenant))
        row = connection.execute(statement.with_for_update(of=webhooks) if lock else statement).first()
        if row is None:
            raise NotFoundError(f"there is no webhook {webhook_id!r}; list the webhooks to see which exist")
        return _webhook(row)


class ReceiverChanges(TenantPart, Receivers):
    """Makes and changes the receivers of one tenant."""

    def create_webhook(self, new: NewWebhook) -> WebhookRecord:
        """Have events of all the tenant's runs sent to a receiver, those that happen from now on.

        Raises `ConflictError` (`too_many_webhooks`).
        """
        with self._database.begin() as connection:
            if connection.execute(_COUNT, {"of_tenant": self._tenant}).scalar_one() >= MOST_WEBHOOKS:
                raise ConflictError(
                    f"the tenant has {MOST_WEBHOOKS} webhooks, and may not have more: each event is sent to every one; "
                    "delete one",
                    code="too_many_webhooks",
                )
            write_webhook(connection, self._tenant, new)
            self._audited(connection, new.id)
            return self._known_webhook(connection, new.id)

    def change_webhook(
        self,
        webhook_id: str,
        *,
        url: tuple[str, str] | None = None,
        events: Sequence[str] | None = None,
        description: str | None = None,
        active: bool | None = None,
    ) -> WebhookRecord:
        """Change what is given of a receiver; `url` is a URL with its origin. Raises `NotFoundError`.

        One that is made active again gets what happens from then on; what was parked is replayed by itself.
        """
        values: dict[str, Any] = {}
        if url is not None:
            values |= {"url": url[0], "origin": url[1]}
        if events is not None:
            values["events"] = list(events)
        if description is not None:
            values["description"] = description
        with self._database.begin() as connection:
            before = self._known_webhook(connection, webhook_id, lock=True)
            active = before.disabled_at is None if active is None else active
            if active:
                values |= {"disabled_at": None, "disabled_reason": None}
                if before.disabled_at is not None:
                    # Transactions that were open when it was disabled have written their events since.
                    park_pending(connection, webhook_id, _DISABLED)
                listen(connection, webhook_id, before.tenant, before.run_id, events or before.events)
            if values:
                connection.execute(sa.update(webhooks).where(webhooks.c.id == webhook_id).values(values))
            if not active:
                disable(connection, webhook_id, "request", _DISABLED)
            self._audited(connection, webhook_id)
            return self._known_webhook(connection, webhook_id)

    def rotate_webhook(self, webhook_id: str, secret: str, *, overlap: float) -> WebhookRecord:
        """Sign with another secret, and for `overlap` seconds with the present one as well; raises `NotFoundError`.

        A secret that was replaced before is no longer used.
        """
        with self._database.begin() as connection:
            self._known_webhook(connection, webhook_id, lock=True)
            connection.execute(
                sa.update(webhooks)
                .where(webhooks.c.id == webhook_id)
                .values(previous_secret=webhooks.c.secret, previous_until=now() + overlap, secret=secret)
            )
            self._audited(connection, webhook_id)
            return self._known_webhook(connection, webhook_id)

    def delete_webhook(self, webhook_id: str) -> None:
        """Forget a receiver, with its deliveries; raises `NotFoundError`."""
        with self._database.begin() as connection:
            self._known_webhook(connection, webhook_id, lock=True)
            for column in (webhook_events.c.webhook_id, webhook_deliveries.c.webhook_id, webhooks.c.id):
                connection.execute(sa.delete(column.table).where(column == webhook_id))
            self._audited(connection, webhook_id)


def _webhook(row: Sequence[Any]) -> WebhookRecord:
    return WebhookRecord(**dict(zip((*_NAMES, "pending", "parked"), row, strict=True)))
