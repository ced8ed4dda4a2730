"""Receivers of webhooks and the outbox, on each database."""

from __future__ import annotations

from collections import Counter

import pytest
import sqlalchemy as sa
from tests.support.kept_values import happen
from tests.support.store_parts import new_run
from tests.support.webhook_parts import FAILED, OK, Tenant, new_webhook, of, tenant

from turnwise.base.ids import new_id
from turnwise.errors import ConflictError, NotFoundError
from turnwise.record.database.columns import now
from turnwise.record.database.webhook_tables import webhook_deliveries, webhooks
from turnwise.record.store import Store
from turnwise.record.upkeep.purging import Retention
from turnwise.record.values.list_place import ListPlace
from turnwise.record.values.records import NewFork
from turnwise.record.webhooks import outbox
from turnwise.record.webhooks.deliveries import place_of

__all__ = ["tenant"]


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


def test_few_requests_go_to_one_host_whichever_ports_it_has_and_none_to_a_busy_one(
    store: Store, tenant: Tenant
) -> None:
    places = (
        "https://slow:443",
        "https://slow:8443",
        "http://slow:80",
        "http://2001:db8::1:80",
        "https://2001:db8::1:9",
    )
    hooks = {tenant.webhook(origin=place): place for place in places}
    for _ in range(3):
        tenant.ended()

    shares = tenant.shares(of_host=2)
    found = store.coordinator.take_deliveries(100, 60.0, shares)

    assert sorted(one.host for one in found) == ["2001:db8::1"] * 2 + ["slow"] * 2
    assert all(f"//{one.host}:" in hooks[one.webhook_id] for one in found)
    # and what was chosen counts
    assert store.coordinator.take_deliveries(100, 60.0, shares) == []
    shares.end("slow", tenant.name)
    assert [one.host for one in store.coordinator.take_deliveries(100, 60.0, shares)] == ["slow"]


def test_many_messages_of_a_tenant_or_for_a_host_do_not_hide_those_of_others(
    store: Store, tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_LOOK", 3)
    other = Tenant(store)
    tenant.webhook(origin="https://one:443")
    for _ in range(6):
        tenant.ended()
    tenant.webhook(origin="https://another:443")
    of(other)
    for one in (tenant, other):
        one.ended()

    by_tenant = tenant.shares(of_tenant=4, beside=[other])
    found = store.coordinator.take_deliveries(100, 60.0, by_tenant)
    assert Counter(one.tenant for one in found) == {tenant.name: 4, other.name: 1}

    by_host = tenant.shares(of_host=1)
    found = store.coordinator.take_deliveries(100, 60.0, by_host)
    assert sorted(one.host for one in found) == ["another", "one"]
    # and a look has no more than it was asked for
    assert len(store.coordinator.take_deliveries(1, 60.0, tenant.shares())) == 1
    for hook in other.record.webhooks.webhooks():
        other.record.webhooks.delete_webhook(hook.id)


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


def test_what_no_one_sent_for_long_is_kept_for_a_receiver_that_may_still_get_it(store: Store, tenant: Tenant) -> None:
    receivers = ("active", "disabled lately", "disabled", "deleted")
    hooks = {name: of(tenant, "run.completed") for name in receivers}
    tenant.ended()
    with store.database.begin() as connection:
        of_tenant = webhook_deliveries.c.tenant == tenant.name
        connection.execute(sa.update(webhook_deliveries).where(of_tenant).values(due_at=1.0))
        for name, at in (("disabled lately", now()), ("disabled", 1.0)):
            disabled = sa.update(webhooks).where(webhooks.c.id == hooks[name])
            connection.execute(disabled.values(disabled_at=at, disabled_reason="request"))
        connection.execute(sa.delete(webhooks).where(webhooks.c.id == hooks["deleted"]))

    store.coordinator.forget_deliveries(1_000_000.0, 500)

    left = {one.webhook_id for one in tenant.deliveries(state="pending")}
    assert [name for name in receivers if hooks[name] in left] == ["active", "disabled lately"]
    assert [one.webhook_id for one in tenant.take()] == [hooks["active"]]


def test_pages_of_deliveries_continue_where_the_last_one_ended(store: Store, tenant: Tenant) -> None:
    hook = of(tenant)
    runs = [tenant.ended() for _ in range(5)]
    pages: list[str | None] = []
    after: ListPlace | None = None
    while found := tenant.deliveries(webhook_id=hook, after=after, limit=2):
        pages += [one.run_id for one in found]
        after = ListPlace.of_cursor(place_of(found[-1]).cursor)
        # The last one of a page may be deleted before the next page is asked for.
        assert store.coordinator.purge_run(str(found[-1].run_id), Retention(older_than=0))
    assert pages == [run.id for run in reversed(runs)]
