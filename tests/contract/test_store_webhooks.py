"""Receivers of webhooks and the outbox, on each database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy.engine import Connection
from tests.e2e.waiting import until
from tests.support.kept_values import happen
from tests.support.store_parts import new_run
from tests.support.webhook_parts import new_webhook

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.upkeep.purging import Retention
from turnwise.record.values.records import NewFork, RunRecord
from turnwise.record.webhooks import outbox
from turnwise.record.webhooks.receivers import ReceiverChanges
from turnwise.record.webhooks.records import Attempted, DeliveryRecord, DueDelivery
from turnwise.record.webhooks.secrets import new_secret
from turnwise.record.webhooks.writing import disable

OK = Attempted(delivered=True, status_code=204)
FAILED = Attempted(delivered=False, status_code=500, response="no", error="it answered 500")
GONE = Attempted(delivered=False, status_code=410, error="it answered 410", gone=True)


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
        others = {one for one in self._origins() if not one.endswith(self.name)}
        found = self.store.coordinator.take_deliveries(100, lease, others, 100)
        assert {one.id for one in found} <= mine
        return found

    def _origins(self) -> set[str]:
        return {row["origin"] for row in self.store.inspector.table("webhooks")}


@pytest.fixture
def tenant(store: Store) -> Iterator[Tenant]:
    made = Tenant(store)
    yield made
    for one in made.record.webhooks.webhooks():
        made.record.webhooks.delete_webhook(one.id)


def of(tenant: Tenant, *events: str) -> str:
    return tenant.webhook(*events, origin=f"https://{tenant.name}")


def test_an_event_is_in_the_outbox_with_the_transaction_that_wrote_it(store: Store, tenant: Tenant) -> None:
    hook = of(tenant, "run.accepted", "run.completed")

    run = tenant.ended()

    # then one for each event that was wanted, in the transaction of the event, under an id that is made of both
    found = tenant.deliveries(webhook_id=hook)
    assert [(one.type, one.run_id, one.seq, one.state) for one in found] == [
        ("run.completed", run.id, 2, "pending"),
        ("run.accepted", run.id, 1, "pending"),
    ]
    assert found[0].id == f"msg_{run.id}_2_{hook}"
    # and what was rolled back is not there
    another = tenant.run()
    with pytest.raises(ZeroDivisionError), store.coordinator.locked(another.id) as transaction:
        happen(transaction, "run.completed", data={})
        transaction.flush()
        _ = 1 / 0
    assert [one.type for one in tenant.deliveries(run_id=another.id)] == ["run.accepted"]


def test_only_wanted_events_of_the_tenants_own_runs_are_sent(store: Store, tenant: Tenant) -> None:
    other = Tenant(store)
    hook = of(tenant, "run.completed")
    other.ended()
    failed = tenant.run()
    tenant.end(failed, "failed")
    assert tenant.deliveries() == other.deliveries() == []

    # and a receiver that a run was submitted with gets that run's alone
    own = new_webhook("run.completed", "run.accepted")
    run = tenant.ended(webhook=own)
    tenant.ended()
    assert [(one.webhook_id, one.type) for one in tenant.deliveries(run_id=run.id)] == [
        *sorted([(own.id, "run.completed"), (hook, "run.completed")], key=lambda found: found[0], reverse=True),
        (own.id, "run.accepted"),
    ]
    assert len(tenant.deliveries(webhook_id=own.id)) == 2
    shown = tenant.record.webhooks.webhook(own.id)
    assert (shown.id, shown.pending) == (own.id, 2)
    assert [one.id for one in tenant.record.webhooks.webhooks()] == [hook]
    with pytest.raises(NotFoundError):
        other.record.webhooks.webhook(own.id)


def test_many_runs_at_once_have_receivers_of_their_own(store: Store, tenant: Tenant) -> None:
    hooks = [new_webhook("run.accepted") for _ in range(2)]
    made = tenant.record.submit_all([new_run(webhook=hooks[0]), new_run(), new_run(webhook=hooks[1])])
    found = {one.run_id: one.webhook_id for one in tenant.deliveries()}
    assert found == {made[0].id: hooks[0].id, made[2].id: hooks[1].id}


def test_a_fork_does_not_send_the_events_of_its_past_again(store: Store, tenant: Tenant) -> None:
    run = tenant.run()
    hook = of(tenant, "run.accepted", "run.forked")
    fork, _, _ = tenant.record.fork(run.id, NewFork(id=new_id("run"), at=1, version="1"))
    assert [(one.run_id, one.type) for one in tenant.deliveries(webhook_id=hook)] == [(fork.id, "run.forked")]


def test_a_delivery_is_taken_once_and_comes_back_when_its_taker_dies(store: Store, tenant: Tenant) -> None:
    of(tenant)
    tenant.ended()
    (first,) = tenant.take(lease=0.0)
    assert first.attempt == 1
    assert 0 <= first.tried_for < 60

    # when its lease is over, the next one takes it under the same id
    (second,) = tenant.take()
    assert (second.id, second.attempt) == (first.id, 2)
    assert tenant.take() == []
    # then the first one's note is refused
    assert not store.coordinator.note_attempt(first, OK, None)
    assert store.coordinator.parcel(first) is None
    assert store.coordinator.note_attempt(second, OK, None)
    (found,) = tenant.deliveries()
    assert (found.state, found.attempts, found.status_code, found.due_at) == ("delivered", 2, 204, None)


def test_the_body_of_the_first_attempt_is_kept(store: Store, tenant: Tenant) -> None:
    of(tenant)
    run = tenant.ended()
    (first,) = tenant.take(lease=0.0)
    parcel = store.coordinator.parcel(first)
    assert parcel is not None
    assert parcel.run is not None
    assert parcel.event is not None
    assert (parcel.url, parcel.run.id, parcel.event.type) == ("https://example.com/hook", run.id, "run.completed")
    assert store.coordinator.keep_body(first, "{}") == "{}"
    (second,) = tenant.take()
    assert store.coordinator.keep_body(second, "[]") == "{}"


def test_a_failed_attempt_is_due_again_until_it_is_given_up(store: Store, tenant: Tenant) -> None:
    hook = of(tenant)
    tenant.ended()
    (due,) = tenant.take()
    assert store.coordinator.note_attempt(due, FAILED, 60.0)
    (found,) = tenant.deliveries()
    assert (found.state, found.error, found.response) == ("pending", "it answered 500", "no")
    assert tenant.take() == []

    # when it is tried for the last time
    with store.database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE webhook_deliveries SET due_at = 0 WHERE webhook_id = '{hook}'")
    (again,) = tenant.take()
    assert store.coordinator.note_attempt(again, FAILED, None)

    # then it is parked, and counted, until someone has it sent again
    assert [one.state for one in tenant.deliveries(state="parked")] == ["parked"]
    assert tenant.record.webhooks.webhook(hook).parked == 1
    assert store.monitor.webhook_lines()["parked"].length >= 1
    assert tenant.record.webhooks.replay_parked(hook) == 1
    with pytest.raises(ConflictError, match="already"):
        tenant.record.webhooks.replay_delivery(hook, found.id)
    (replayed,) = tenant.take()
    assert (replayed.id, replayed.attempt) == (found.id, 3)
    assert store.coordinator.note_attempt(replayed, OK, None)
    assert tenant.record.webhooks.replay_delivery(hook, found.id).state == "pending"


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


def test_few_requests_go_to_one_origin_and_none_to_a_busy_one(store: Store, tenant: Tenant) -> None:
    slow, quick = (tenant.webhook(origin=f"https://{name}.{tenant.name}") for name in ("slow", "quick"))
    for _ in range(3):
        tenant.ended()
    others = {one for one in tenant._origins() if not one.endswith(tenant.name)}
    found = store.coordinator.take_deliveries(100, 60.0, others, 2)
    assert sorted(one.webhook_id for one in found) == sorted([slow, slow, quick, quick])
    busy = {*others, f"https://slow.{tenant.name}"}
    assert [one.webhook_id for one in store.coordinator.take_deliveries(100, 60.0, busy, 2)] == [quick]


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


def test_what_was_sent_is_forgotten_after_a_while_and_with_its_run(store: Store, tenant: Tenant) -> None:
    hook = of(tenant)
    kept, old = tenant.ended(), tenant.ended()
    for due in tenant.take():
        assert store.coordinator.note_attempt(due, OK, None)
    with store.database.begin() as connection:
        connection.exec_driver_sql(f"UPDATE webhook_deliveries SET ended_at = 1 WHERE run_id = '{old.id}'")
    store.coordinator.forget_deliveries(1_000_000.0, 500)
    assert [one.run_id for one in tenant.deliveries()] == [kept.id]

    own = new_webhook()
    run = tenant.ended(webhook=own)
    assert store.coordinator.purge_run(run.id, Retention(older_than=0))
    assert tenant.deliveries(run_id=run.id) == []
    with pytest.raises(NotFoundError):
        tenant.record.webhooks.webhook(own.id)
    assert tenant.record.webhooks.webhook(hook).id == hook


def test_pages_of_deliveries_continue_where_the_last_one_ended(store: Store, tenant: Tenant) -> None:
    hook = of(tenant)
    runs = [tenant.ended() for _ in range(5)]
    pages: list[str | None] = []
    after: str | None = None
    while found := tenant.deliveries(webhook_id=hook, after=after, limit=2):
        pages += [one.run_id for one in found]
        after = found[-1].id
    assert pages == [run.id for run in reversed(runs)]


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
                _until_it_waits(store)
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
                _until_it_waits(store)
            disable(*given)

        monkeypatch.setattr(outbox, "disable", meanwhile)
        noted = store.coordinator.note_attempt(first, GONE, None)
        (later,) = [one.result(timeout=30) for one in begun]

    assert (noted, later) == (True, False)
    shown = tenant.record.webhooks.webhook(hook)
    assert (shown.disabled_reason, shown.pending, shown.parked) == ("gone", 0, 2)


def _until_it_waits(store: Store) -> None:
    """Return once another transaction waits for this one."""
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

    def waits() -> bool:
        with store.database.read() as connection:
            return bool(connection.exec_driver_sql(query).scalar_one())

    until(waits, "another transaction to wait for this one")
