"""Receivers of webhooks for tests, whose URLs no one checks, and tenants that have them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from tests.support.kept_values import happen
from tests.support.store_parts import new_run

from turnwise.base.ids import new_id
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.values.records import RunRecord
from turnwise.record.webhooks.new_webhook import NewWebhook
from turnwise.record.webhooks.records import Attempted, DeliveryRecord, DueDelivery
from turnwise.record.webhooks.secrets import new_secret
from turnwise.record.webhooks.shares import Shares

OK = Attempted(delivered=True, status_code=204)
FAILED = Attempted(delivered=False, status_code=500, response="no", error="it answered 500")
GONE = Attempted(delivered=False, status_code=410, error="it answered 410", gone=True)
ENDS = ("run.completed", "run.failed", "run.cancelled")


def new_webhook(*events: str, **changes: Any) -> NewWebhook:
    """A receiver of these events, or of the ends of runs."""
    given: dict[str, Any] = {
        "id": new_id("hook"),
        "url": "https://example.com/hook",
        "origin": "https://example.com",
        "secret": new_secret(),
        "created_by": "test",
    }
    return NewWebhook(events=events or ENDS, **(given | changes))


class Tenant:
    """A tenant of a test's own, because tests share the PostgreSQL database."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.name = new_id("tenant")
        self.record = store.tenant(self.name)

    def webhook(self, *events: str, **changes: Any) -> str:
        return self.record.webhooks.create_webhook(new_webhook(*events, **changes)).id

    def run(self, **changes: Any) -> RunRecord:
        return self.record.submit(new_run(**changes))[0]

    def end(self, run: RunRecord, status: str = "completed") -> None:
        with self.store.coordinator.locked(run.id) as transaction:
            transaction.finish(RunStatus(status), "DONE")
            happen(transaction, f"run.{status}", data={"status": "DONE"})

    def ended(self, **changes: Any) -> RunRecord:
        run = self.run(**changes)
        self.end(run)
        return run

    def deliveries(self, **conditions: Any) -> list[DeliveryRecord]:
        return self.record.webhooks.deliveries(**conditions)

    def take(self, lease: float = 60.0) -> list[DueDelivery]:
        """The tenant's due deliveries; those of other tests are left alone."""
        mine = {one.id for one in self.deliveries()}
        found = self.store.coordinator.take_deliveries(100, lease, self.shares())
        assert {one.id for one in found} <= mine
        return found

    def shares(self, of_host: int = 100, of_tenant: int = 100, *, beside: Sequence[Tenant] = ()) -> Shares:
        """Room for deliveries of the tenant, and of those `beside` it, only."""
        made = Shares(of_host=of_host, of_tenant=of_tenant)
        mine = {self.name, *(one.name for one in beside)}
        for other in {row["tenant"] for row in self.store.inspector.table("webhooks")} - mine:
            for _ in range(of_tenant):
                made.begin("", other)
        return made


@pytest.fixture
def tenant(store: Store) -> Iterator[Tenant]:
    made = Tenant(store)
    yield made
    for one in made.record.webhooks.webhooks():
        made.record.webhooks.delete_webhook(one.id)


def of(tenant: Tenant, *events: str) -> str:
    return tenant.webhook(*events, origin=f"https://{tenant.name}")
