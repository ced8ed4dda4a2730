"""Receivers of webhooks, on each database: changed, disabled, given another secret and deleted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from tests.support.interruption import until_it_waits
from tests.support.webhook_parts import GONE, OK, Tenant, new_webhook, of, tenant

from turnwise.errors import ConflictError
from turnwise.record.database.columns import now
from turnwise.record.database.schema import events
from turnwise.record.store import Store
from turnwise.record.upkeep.purging import Retention
from turnwise.record.webhooks import outbox
from turnwise.record.webhooks.receivers import ReceiverChanges
from turnwise.record.webhooks.secrets import new_secret
from turnwise.record.webhooks.writing import disable

__all__ = ["tenant"]


def test_a_receiver_that_is_gone_gets_nothing_until_it_is_active_again(store: Store, tenant: Tenant) -> None:
    hook = of(tenant)
    tenant.ended()
    tenant.ended()
    first, second = tenant.take()
    assert store.coordinator.note_attempt(first, GONE, 60.0)

    shown = tenant.record.webhooks.webhook(hook)
    assert (shown.disabled_reason, shown.pending, shown.parked) == ("gone", 0, 2)
    assert not store.coordinator.note_attempt(second, OK, None)  # it was parked meanwhile
    tenant.ended()
    assert len(tenant.deliveries()) == 2
    for refused in (tenant.record.webhooks.test_webhook, tenant.record.webhooks.replay_parked):
        with pytest.raises(ConflictError, match="disabled"):
            refused(hook)

    # when it is made active
    assert tenant.record.webhooks.change_webhook(hook, active=True, events=["run.failed"]).disabled_at is None
    tenant.ended()
    assert len(tenant.deliveries()) == 2
    tenant.end(tenant.run(), "failed")
    assert [one.type for one in tenant.deliveries(state="pending")] == ["run.failed"]


@pytest.mark.parametrize("change", ["disable", "delete"])
def test_what_is_written_while_a_receiver_is_disabled_is_neither_sent_later_nor_counted_as_waiting(
    store: Store, tenant: Tenant, change: str
) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    receivers = tenant.record.webhooks
    hook, run = of(tenant, "task.finished"), tenant.run()
    waiting = store.monitor.webhook_lines()["pending"].length

    # given a transaction that has written an event, and is committed after the change
    with store.database.begin() as connection:
        event = {"run_id": run.id, "seq": 2, "type": "task.finished", "at": now()}
        connection.execute(sa.insert(events).values(event))
        if change == "disable":
            receivers.change_webhook(hook, active=False)
        else:
            receivers.delete_webhook(hook)

    # then
    assert [one.state for one in tenant.deliveries()] == ["pending"]
    assert store.monitor.webhook_lines()["pending"].length == waiting
    if change == "disable":
        assert receivers.change_webhook(hook, active=True).parked == 1
        assert tenant.take() == []
        # and it may be sent by hand, as what was parked at once
        assert receivers.replay_parked(hook) == 1
        assert len(tenant.take()) == 1


def test_secrets_are_rotated_with_a_time_in_which_both_sign(store: Store, tenant: Tenant) -> None:
    hook = of(tenant)
    tenant.ended()
    (due,) = tenant.take()

    def secrets() -> tuple[str, ...]:
        parcel = store.coordinator.parcel(due)
        assert parcel is not None
        return parcel.secrets

    (old,) = secrets()
    new = new_secret()
    shown = tenant.record.webhooks.rotate_webhook(hook, new, overlap=60.0)
    assert shown.previous_until is not None
    assert secrets() == (new, old)
    newest = new_secret()
    tenant.record.webhooks.rotate_webhook(hook, newest, overlap=0.0)
    assert secrets() == (newest,)
    assert old not in repr(tenant.record.webhooks.webhooks())


def test_a_tenant_has_no_more_webhooks_than_its_runs_can_bear(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.record.webhooks.receivers.MOST_WEBHOOKS", 2)
    tenant, other = Tenant(store), Tenant(store)
    first = tenant.webhook("run.*")
    tenant.webhook("run.*")
    with pytest.raises(ConflictError, match="may not have more") as refused:
        tenant.webhook("run.*")
    assert refused.value.code == "too_many_webhooks"
    other.webhook("run.*")
    tenant.record.webhooks.delete_webhook(first)
    tenant.webhook("run.*")


@pytest.mark.parametrize("change", ["disable", "delete"])
@pytest.mark.parametrize("other", ["gone", "purge"])
def test_a_change_of_a_receiver_and_what_disables_or_deletes_it_wait_for_each_other(
    store: Store, tenant: Tenant, monkeypatch: pytest.MonkeyPatch, change: str, other: str
) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    own = new_webhook(origin=f"https://{tenant.name}")
    run = tenant.ended(webhook=own)
    (due,) = tenant.take()
    others: dict[str, Callable[[], bool]] = {
        "gone": lambda: store.coordinator.note_attempt(due, GONE, None),
        "purge": lambda: store.coordinator.purge_run(run.id, Retention(older_than=0)),
    }
    begun: list[Future[bool]] = []
    known = ReceiverChanges._known_webhook

    with ThreadPoolExecutor(1) as pool:

        def meanwhile(self: ReceiverChanges, connection: Connection, webhook_id: str, *, lock: bool = False) -> Any:
            found = known(self, connection, webhook_id, lock=lock)
            if lock:
                begun.append(pool.submit(others[other]))
                until_it_waits(store)
            return found

        monkeypatch.setattr(ReceiverChanges, "_known_webhook", meanwhile)
        if change == "delete":
            tenant.record.webhooks.delete_webhook(own.id)
        else:
            tenant.record.webhooks.change_webhook(own.id, active=False)
        (done,) = [one.result(timeout=30) for one in begun]

    # the attempt came too late, but the run goes whatever became of its receiver
    assert done is (other == "purge")
    left = [one.state for one in tenant.deliveries(run_id=run.id)]
    assert left == (["parked"] if (change, other) == ("disable", "gone") else [])


def test_a_receiver_may_say_to_two_deliveries_at_a_time_that_it_is_gone(
    store: Store, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    hook = of(tenant)
    for _ in range(2):
        tenant.ended()
    first, second = tenant.take()
    begun: list[Future[bool]] = []

    with ThreadPoolExecutor(1) as pool:

        def meanwhile(*given: Any) -> None:
            if not begun:
                begun.append(pool.submit(store.coordinator.note_attempt, second, GONE, None))
                until_it_waits(store)
            disable(*given)

        monkeypatch.setattr(outbox, "disable", meanwhile)
        noted = store.coordinator.note_attempt(first, GONE, None)
        (later,) = [one.result(timeout=30) for one in begun]

    assert (noted, later) == (True, False)
    shown = tenant.record.webhooks.webhook(hook)
    assert (shown.disabled_reason, shown.pending, shown.parked) == ("gone", 0, 2)
