"""Deliveries to receivers, as a tenant sees them: listed, tried, and sent again."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.database.columns import now
from turnwise.record.database.rows import names
from turnwise.record.database.webhook_tables import webhook_deliveries as table
from turnwise.record.values.list_place import ListPlace, newest_first
from turnwise.record.webhooks.events import TEST_TYPE
from turnwise.record.webhooks.receivers import ReceiverChanges
from turnwise.record.webhooks.records import DeliveryRecord, DeliveryState, WebhookRecord

DELIVERY = tuple(table.c)
_NAMES = names(DELIVERY)
# Sent as soon as a coordinator looks, and tried for a day from then on.
_AGAIN: dict[str, Any] = {
    "state": "pending",
    "due_at": now(),
    "since": now(),
    "ended_at": None,
    "error": None,
}


class Deliveries(ReceiverChanges):
    """Shows deliveries of one tenant, and has them sent again."""

    def deliveries(
        self,
        *,
        webhook_id: str | None = None,
        run_id: str | None = None,
        state: DeliveryState | None = None,
        after: ListPlace | None = None,
        limit: int = 100,
    ) -> list[DeliveryRecord]:
        """Deliveries to a receiver, or of a run's events, newest first; those behind `after`."""
        statement = sa.select(*DELIVERY).where(*self._reach.where(table.c.tenant))
        for column, value in ((table.c.webhook_id, webhook_id), (table.c.run_id, run_id), (table.c.state, state)):
            if value is not None:
                statement = statement.where(column == value)
        with self._database.read() as connection:
            rows = connection.execute(newest_first(statement, table.c.created_at, table.c.id, after).limit(limit)).all()
        return [delivery_of(row) for row in rows]

    def test_webhook(self, webhook_id: str) -> DeliveryRecord:
        """Have a message sent to a receiver that tells of no event; raises `NotFoundError`, `ConflictError`."""
        with self._database.begin() as connection:
            self._active(connection, webhook_id)
            values = {"id": new_id("msg"), "tenant": self._tenant, "webhook_id": webhook_id, "type": TEST_TYPE}
            times = dict.fromkeys(("created_at", "due_at", "since"), now())
            made = sa.insert(table).values(**values, **times, state="pending").returning(*DELIVERY)
            delivery = delivery_of(connection.execute(made).one())
            self._audited(connection, webhook_id)
            return delivery

    def replay_parked(self, webhook_id: str) -> int:
        """Have all parked deliveries of a receiver sent again, and return how many. Raises as `test_webhook` does."""
        with self._database.begin() as connection:
            self._active(connection, webhook_id)
            again = sa.update(table).where(table.c.webhook_id == webhook_id, table.c.state == "parked").values(_AGAIN)
            count = connection.execute(again).rowcount
            self._audited(connection, webhook_id)
            return count

    def replay_delivery(self, webhook_id: str, delivery_id: str) -> DeliveryRecord:
        """Have one delivery sent again, with the id and the body that it had. Raises as `test_webhook` does."""
        with self._database.begin() as connection:
            self._active(connection, webhook_id)
            of_one = (table.c.id == delivery_id, table.c.webhook_id == webhook_id, table.c.tenant == self._tenant)
            found = connection.execute(sa.select(table.c.state).where(*of_one).with_for_update()).first()
            if found is None:
                raise NotFoundError(f"the webhook {webhook_id} has no delivery {delivery_id!r}; list its deliveries")
            if found[0] == "pending":
                raise ConflictError(
                    f"the delivery {delivery_id} is being sent already; wait for it to be delivered or parked",
                    code="delivery_pending",
                )
            row = connection.execute(sa.update(table).where(*of_one).values(_AGAIN).returning(*DELIVERY)).one()
            self._audited(connection, delivery_id)
            return delivery_of(row)

    def _active(self, connection: Connection, webhook_id: str) -> WebhookRecord:
        webhook = self._known_webhook(connection, webhook_id, lock=True)
        if webhook.disabled_at is not None:
            raise ConflictError(
                f"the webhook {webhook_id} is disabled, so nothing is sent to it; make it active first",
                code="webhook_disabled",
            )
        return webhook


def place_of(delivery: DeliveryRecord) -> ListPlace:
    """The place of a delivery in a list of them."""
    return ListPlace(at=delivery.created_at, id=delivery.id)


def delivery_of(row: Any) -> DeliveryRecord:
    """A delivery from the values of `DELIVERY`."""
    return DeliveryRecord(**dict(zip(_NAMES, row, strict=True)))
