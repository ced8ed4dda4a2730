"""Failed attempts at webhooks: those that a coordinator's own errors are, and those after a replay."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import pytest
from tests.e2e.waiting import until
from tests.support.kept_values import happen
from tests.support.store_parts import new_run
from tests.support.webhook_parts import new_webhook

from turnwise.processes.settings import load_settings
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.webhooks.outbox import Outbox
from turnwise.record.webhooks.records import Attempted, DeliveryRecord, DueDelivery
from turnwise.serving.observer import Observer
from turnwise_coordinator.webhooks import Courier

OK = Attempted(delivered=True, status_code=204)


def end_run(store: Store, tenant: str) -> None:
    run = store.tenant(tenant).submit(new_run())[0]
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
        happen(transaction, "run.completed", data={"status": "DONE"})


class Desk:
    """A tenant with a receiver, and a courier that sends one message at a time."""

    def __init__(self, store: Store, **settings: Any) -> None:
        self.store = store
        self.webhooks = store.tenant(DEFAULT_TENANT).webhooks
        self.hook = self.webhooks.create_webhook(new_webhook()).id
        self.outcomes: list[str] = []
        self.sent: list[str] = []
        self.failing: Exception | None = None
        told = Observer()
        told.webhook_attempted = self.outcomes.append  # type: ignore[method-assign, assignment]
        given = load_settings(webhook_concurrency=1, **settings)
        self.courier = Courier(store.coordinator, given, told, self._send)

    def _send(self, url: str, headers: Mapping[str, str], body: str) -> Attempted:
        self.sent.append(headers["webhook-id"])
        if self.failing is not None:
            error, self.failing = self.failing, None
            raise error
        return OK

    def end_runs(self, n: int) -> None:
        for _ in range(n):
            end_run(self.store, DEFAULT_TENANT)

    def sweep(self, n: int) -> list[DeliveryRecord]:
        """The deliveries, those that were made first ahead, once so many were attempted by one sweep."""
        self.courier.sweep()
        until(lambda: len(self.outcomes) == n, f"{n} attempts")
        self.courier.stop()
        return sorted(self.webhooks.deliveries(), key=lambda one: one.created_at)


def test_an_error_of_one_is_a_failed_attempt_and_the_next_one_is_sent(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(store)
    desk.end_runs(2)
    desk.failing = RuntimeError("the key of another")

    first, second = desk.sweep(2)

    assert desk.outcomes == ["failed", "delivered"]
    assert (first.state, first.attempts, first.status_code) == ("pending", 1, None)
    assert first.error == "the coordinator met RuntimeError; its log says more"
    assert first.due_at is not None
    assert first.attempted_at is not None
    assert 2 < first.due_at - first.attempted_at < 8
    assert (second.state, desk.sent) == ("delivered", [first.id, second.id])
    (line,) = [one for one in caplog.records if getattr(one, "action", "") == "webhook_crashed"]
    assert (line.webhook, line.delivery) == (desk.hook, first.id)  # type: ignore[attr-defined]
    assert line.exc_info is not None


def test_one_that_always_meets_an_error_is_given_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(self: Outbox, due: DueDelivery) -> None:
        raise ValueError("a row that no one can read")

    desk = Desk(store, webhook_retry_seconds=0.0)
    desk.end_runs(1)
    monkeypatch.setattr(Outbox, "parcel", unreadable)

    (parked,) = desk.sweep(1)

    assert (desk.outcomes, parked.state, parked.attempts, desk.sent) == (["parked"], "parked", 1, [])


def test_an_answer_that_cannot_be_noted_is_a_failed_attempt(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    note = Outbox.note_attempt

    def picky(self: Outbox, due: DueDelivery, found: Attempted, wait: float | None) -> bool:
        if found.delivered:
            raise UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
        return note(self, due, found, wait)

    desk = Desk(store)
    desk.end_runs(1)
    monkeypatch.setattr(Outbox, "note_attempt", picky)

    (left,) = desk.sweep(1)

    assert (left.state, left.error) == ("pending", "the coordinator met UnicodeEncodeError; its log says more")


def test_one_whose_error_cannot_be_noted_is_left_to_its_lease(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: Outbox, due: DueDelivery, found: Attempted, wait: float | None) -> bool:
        raise ValueError("nothing can be noted")

    desk = Desk(store)
    desk.end_runs(1)
    monkeypatch.setattr(Outbox, "note_attempt", broken)

    desk.courier.sweep()
    until(lambda: "A webhook is left: nothing can be noted" in caplog.text, "the line of the log")
    desk.courier.stop()

    (left,) = desk.webhooks.deliveries()
    assert (left.state, left.error, len(desk.sent)) == ("pending", None, 1)
    assert left.due_at is not None
    assert left.attempted_at is not None
    assert left.due_at - left.attempted_at > 10  # longer than a request may take


def test_a_replay_that_fails_is_tried_again_soon_and_counts_the_attempts_before(store: Store) -> None:
    desk = Desk(store)
    desk.end_runs(1)
    with store.database.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE webhook_deliveries SET state = 'parked', attempts = 34, since = 1, due_at = NULL"
        )
    desk.failing = RuntimeError("it cannot be sent")
    assert desk.webhooks.replay_parked(desk.hook) == 1

    (left,) = desk.sweep(1)

    assert (left.state, left.attempts, desk.outcomes) == ("pending", 35, ["failed"])
    assert left.due_at is not None
    assert left.attempted_at is not None
    assert 2 < left.due_at - left.attempted_at < 15


@pytest.mark.parametrize(("hosts", "most"), [(1, 4), (12, 8)])
def test_receivers_of_a_tenant_that_hang_leave_room_for_those_of_others(store: Store, hosts: int, most: int) -> None:
    hanging: list[str] = []
    sent: list[str] = []
    released = threading.Event()

    def send(url: str, headers: Mapping[str, str], body: str) -> Attempted:
        (hanging if "slow" in url else sent).append(url)
        if "slow" in url:
            released.wait(60)
        return OK

    for no in range(12):
        url = f"https://slow{no % hosts}:{8000 + no}"
        store.tenant("slow").webhooks.create_webhook(new_webhook(url=url, origin=url))
    store.tenant("quick").webhooks.create_webhook(new_webhook(url="https://quick:443", origin="https://quick:443"))
    for tenant in ("slow", "slow", "quick"):
        end_run(store, tenant)
    courier = Courier(store.coordinator, load_settings(webhook_concurrency=16), Observer(), send)

    courier.sweep()
    until(lambda: len(sent) == 1 and len(hanging) >= most, "the quick receiver's message")
    courier.sweep()

    assert len(hanging) == most
    released.set()
    courier.stop()
