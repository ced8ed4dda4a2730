"""Room put aside for model calls, on each database: whatever becomes of a call, no budget is overspent."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from tests.e2e.waiting import until
from tests.support.kept_values import happen
from tests.support.reservation_parts import book, call, claimed, data_of, reply_of, reserved, sums, this_day, used
from tests.support.store_parts import asked_run, lose, new_queue, new_worker

from turnwise.base.ids import new_id
from turnwise.base.waits import BudgetWait, ProviderLimitWait
from turnwise.models.budget.call import BudgetRefusal, Granted, ModelCall
from turnwise.models.budget.wait import Wait
from turnwise.record.budgets.budgets import NO_SCOPE_LIMITS, ScopeLimits, period_end
from turnwise.record.budgets.reservations import Stale
from turnwise.record.database.budget_tables import reservations
from turnwise.record.database.database import Database
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.values.outcomes import CallUsage, Deferral
from turnwise.record.values.records import Claim


def test_what_is_put_aside_is_settled_with_what_was_used(store: Store) -> None:
    claim = claimed(store, max_tokens=1_000)

    assert reserved(store, claim).max_tokens == 400
    assert sums(store.inspector.run(claim.run.id)) == (Decimal(0), 0, Decimal("0.9"), 500)
    assert store.worker.reply(claim, reply_of(used(1, 90, 30)))

    assert sums(store.inspector.run(claim.run.id)) == (Decimal("0.15"), 120, Decimal(0), 0)
    assert data_of(store, claim.run.id, "usage.reserved") == [
        {"call": 1, "model": "m", "tokens": 500, "cost": "0.900", "max_output_tokens": 400}
    ]


def test_the_reply_is_not_dated_before_the_reservation_where_the_claim_read_the_time_late(store: Store) -> None:
    claim = claimed(store, max_tokens=1_000)
    assert claim.known is not None
    claim.known.time -= 0.5  # as if the answer that told it had taken half a second

    reserved(store, claim)
    assert store.worker.reply(claim, reply_of(used(1, 90, 30)))

    times = [event.at for event in store.inspector.events(claim.run.id)]
    assert times == sorted(times)


def test_a_second_call_gets_what_the_first_left_and_a_third_nothing(store: Store) -> None:
    claim = claimed(store, max_tokens=700)

    assert reserved(store, claim, 1).max_tokens == 400
    assert reserved(store, claim, 2).max_tokens == 100
    refused = store.worker.reserve(claim, 3, call(), NO_SCOPE_LIMITS)
    assert isinstance(refused, BudgetRefusal)
    assert (refused.limit, refused.budget.scope, refused.temporary) == ("tokens", "run", True)
    assert reserved(store, claim, 3, done=[used(1, 100, 20)]).max_tokens == 280
    assert sums(store.inspector.run(claim.run.id))[1] == 120


def test_an_answer_that_got_lost_is_given_once_more(store: Store) -> None:
    claim = claimed(store, max_tokens=1_000)

    first = reserved(store, claim, 1)
    assert reserved(store, claim, 1, again=True) == first
    assert store.inspector.run(claim.run.id).reserved_tokens == 500


def test_a_holder_that_was_replaced_can_reserve_nothing(store: Store) -> None:
    claim = claimed(store, max_tokens=1_000)
    lose(store, claim)

    assert store.worker.reserve(claim, 1, call(), NO_SCOPE_LIMITS) == Stale()


def test_a_lost_call_counts_in_full_and_its_holder_may_correct_that_once(store: Store) -> None:
    limits = ScopeLimits(tenant_day=(Decimal(10), None))
    tenant = new_id("t")
    claim = claimed(store, max_tokens=1_000, tenant=tenant)
    reserved(store, claim, limits=limits)

    lose(store, claim)

    run = store.inspector.run(claim.run.id)
    assert sums(run) == (Decimal("0.9"), 500, Decimal(0), 0)
    assert run.calls == 1
    assert book(store, this_day(tenant)) == (Decimal("0.9"), 500, Decimal(0), 0)
    assert data_of(store, run.id, "usage.settled")[-1]["lost"] is True

    late = reply_of(used(1, 80, 20))
    assert not store.worker.reply(claim, late)
    assert not store.worker.reply(claim, late)

    run = store.inspector.run(claim.run.id)
    assert sums(run) == (Decimal("0.12"), 100, Decimal(0), 0)
    assert run.calls == 1
    assert book(store, this_day(tenant)) == (Decimal("0.12"), 100, Decimal(0), 0)
    assert data_of(store, run.id, "usage.settled")[-1]["corrects"]["cost"] == "0.900"


def test_a_parked_ask_settles_what_its_last_holder_had_put_aside(store: Store) -> None:
    queue = new_queue()
    asked_run(store, queue, run={"max_tokens": 1_000}, max_attempts=1)
    claim = store.worker.claim(queue, new_worker(store, queue))
    assert claim is not None
    reserved(store, claim)

    lose(store, claim)

    assert sums(store.inspector.run(claim.run.id)) == (Decimal("0.9"), 500, Decimal(0), 0)


def test_what_is_given_back_or_put_off_keeps_nothing_aside(store: Store) -> None:
    released, deferred = claimed(store, max_tokens=1_000), claimed(store, max_tokens=1_000)
    reserved(store, released)
    reserved(store, deferred)

    store.worker.release(released, "database_away")
    wait = BudgetWait(scope="run", limit="tokens")
    store.worker.defer(deferred, Deferral(seconds=60, waiting_for=wait, calls=(used(1, 10, 10),)))

    assert sums(store.inspector.run(released.run.id)) == (Decimal(0), 0, Decimal(0), 0)
    assert sums(store.inspector.run(deferred.run.id)) == (Decimal("0.03"), 20, Decimal(0), 0)


def test_a_call_whose_run_ended_is_settled_when_its_holder_is_gone(store: Store) -> None:
    limits = ScopeLimits(tenant_month=(None, 10_000))
    tenant = new_id("t")
    claim = claimed(store, tenant=tenant)
    reserved(store, claim, limits=limits)
    with store.coordinator.locked(claim.run.id) as transaction:
        transaction.finish(RunStatus.CANCELLED, "KILL")
        happen(transaction, "run.cancelled")
    last = store.inspector.run(claim.run.id).last_seq

    store.coordinator.settle_orphans()
    assert sums(store.inspector.run(claim.run.id))[2:] == (Decimal("0.9"), 500), "its holder lives"
    store.process.retire_worker(claim.worker_id)

    def settled() -> bool:
        store.coordinator.expire_leases()  # which settles a hundred at a time, those of other tests too
        return sums(store.inspector.run(claim.run.id))[2:] == (Decimal(0), 0)

    until(settled, "the call to be settled", every=0.01)
    run = store.inspector.run(claim.run.id)
    assert sums(run) == (Decimal("0.9"), 500, Decimal(0), 0)
    assert run.last_seq == last, "a run that has ended has no more events"
    assert book(store, ("tenant_month", f"{tenant}/{datetime.now(UTC):%Y-%m}"))[:2] == (Decimal("0.9"), 500)


def test_a_tenant_pays_for_no_other(store: Store) -> None:
    limits = ScopeLimits(tenant_day=(None, 500))
    reserved(store, claimed(store, tenant=new_id("t")), limits=limits)

    assert reserved(store, claimed(store, tenant=new_id("t")), limits=limits).max_tokens == 400


def test_a_provider_without_room_leaves_nothing_put_aside(store: Store) -> None:
    claim = claimed(store, max_tokens=1_000)
    wait = Wait(seconds=5, waiting_for=ProviderLimitWait(model="m"))
    asked: list[Granted] = []

    def take(_transaction: object, _call: ModelCall, granted: Granted) -> Wait | None:
        asked.append(granted)
        return wait if len(asked) == 1 else None

    assert store.worker.reserve(claim, 1, call(), NO_SCOPE_LIMITS, take=take) == wait
    assert store.inspector.run(claim.run.id).reserved_tokens == 0
    assert reserved(store, claim, 1, take=take) == asked[1]


def test_a_provider_is_told_the_amount_where_no_budget_asks_for_it(store: Store) -> None:
    claim = claimed(store)
    told: list[int] = []

    granted = reserved(store, claim, take=lambda _transaction, _call, granted: told.append(granted.amount.tokens))

    assert told == [500]
    assert granted.amount.tokens == 500


@pytest.mark.parametrize("scope", ["run", "tenant"])
def test_concurrent_calls_of_several_stores_never_overspend_together(database: Database, scope: str) -> None:
    """Each store has connections of its own, as another process has."""
    tenant = new_id("t")
    limits = ScopeLimits(tenant_day=(Decimal("3"), 5_000)) if scope == "tenant" else NO_SCOPE_LIMITS
    own: Any = {"max_cost": Decimal("3"), "max_tokens": 5_000} if scope == "run" else {}
    first = Store(database)
    claims = [claimed(first, tenant=tenant, **own)] * 4
    if scope == "tenant":
        claims = [claimed(first, tenant=tenant) for _ in range(4)]
    others = [Database(database.url.render_as_string(hide_password=False)) for _ in range(4)]
    spent: list[Decimal] = []
    left: list[tuple[Claim, tuple[CallUsage, ...]]] = []
    faults: list[BaseException] = []

    def work(number: int) -> None:
        store, claim = Store(others[number]), claims[number]
        done: list[CallUsage] = []
        try:
            for turn in range(12):
                no = number * 100 + turn + 1
                answer = store.worker.reserve(claim, no, call(prompt=50, least=5, most=100), limits, done=done)
                done = []
                if isinstance(answer, Granted):
                    # The provider takes all that it may, every other time.
                    made = used(no, 50, answer.max_tokens if turn % 2 else 1)
                    assert made.usage.cost is not None
                    spent.append(made.usage.cost)
                    done = [made]
            left.append((claim, tuple(done)))
        except BaseException as fault:  # noqa: BLE001 - told by the main thread
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()
    for claim in {claim.run.id: claim for claim in claims}.values():  # of one claim, only the first release counts
        rest = [made for each, done in left if each.run.id == claim.run.id for made in done]
        first.worker.release(claim, "done", calls=tuple(rest))

    assert not faults
    runs = [first.inspector.run(run_id) for run_id in {claim.run.id for claim in claims}]
    assert sum(run.cost for run in runs) == sum(spent) <= Decimal("3")
    assert sum(spent) > Decimal("2.7"), "the limit was never near"
    assert not any(run.reserved_cost or run.reserved_tokens for run in runs)
    if scope == "tenant":
        assert book(first, this_day(tenant))[::2] == (sum(spent), Decimal(0))


def test_the_budgets_of_a_run_follow_from_its_row_and_the_time(store: Store) -> None:
    limits = ScopeLimits(session=(None, 1), tenant_day=(Decimal(1), None), tenant_month=(None, 1))
    run = replace(claimed(store, tenant="acme").run, session_key=None)
    at = datetime(2026, 2, 28, 23, 59, 59, tzinfo=UTC).timestamp()

    assert limits.keys(run, at) == [("tenant_day", "acme/2026-02-28"), ("tenant_month", "acme/2026-02")]
    assert limits.keys(run, at + 1) == [("tenant_day", "acme/2026-03-01"), ("tenant_month", "acme/2026-03")]
    assert period_end(("tenant_day", "acme/2026-02-28")) == at + 1
    assert period_end(("tenant_month", "acme/2026-02")) == at + 1
    assert period_end(("tenant_month", "a/b/2026-12")) == datetime(2027, 1, 1, tzinfo=UTC).timestamp()
    assert period_end(("session", "s")) is None
    assert limits.bind(run)
    assert not NO_SCOPE_LIMITS.bind(run)
    assert not replace(limits, tenant_day=(None, None), tenant_month=(None, None)).bind(run)


def test_every_reservation_is_on_record(store: Store) -> None:
    claim = claimed(store, max_tokens=1_000)
    reserved(store, claim)
    store.worker.reply(claim, reply_of(used(1, 90, 30)))

    with store.database.read() as connection:
        row = connection.execute(reservations.select().where(reservations.c.run_id == claim.run.id)).one()
    assert (row.cost, row.tokens, row.prompt_tokens) == (Decimal("0.9"), 500, 100)
    assert (row.settled_cost, row.settled_tokens, row.lost) == (Decimal("0.15"), 120, False)


def test_the_levels_tell_what_is_put_aside_and_the_least_that_is_left_of_any_limit(store: Store) -> None:
    before = store.monitor.budget_levels().reserved
    limits = ScopeLimits(session=(Decimal(100), None), tenant_day=(None, 50_000), tenant_month=(Decimal(9), 6_000))
    claim = claimed(store, max_cost=Decimal(1), max_tokens=10_000, session_id=new_id("s"), tenant=new_id("t"))
    granted = reserved(store, claim, limits=limits)
    levels = store.monitor.budget_levels()

    assert levels.reserved - before == granted.amount.cost == Decimal("0.9")
    # The database may hold other tests' runs, which have less left.
    assert levels.remaining["run"] <= 0.100_001
    assert levels.remaining["session"] <= 0.991_001
    assert levels.remaining["tenant_day"] <= 0.990_001
    assert levels.remaining["tenant_month"] <= 0.900_001
    if not store.database.is_postgres:
        expected = {"run": 0.1, "session": 0.991, "tenant_day": 0.99, "tenant_month": 0.9}
        assert levels.remaining == pytest.approx(expected)

    assert store.worker.reply(claim, reply_of(used(1, 100, 0)))
    assert store.monitor.budget_levels().reserved == before


def test_the_tenants_with_the_least_left_are_told(store: Store) -> None:
    limits = ScopeLimits(tenant_day=(Decimal(1), 50_000), tenant_month=(None, 6_000))
    tenant = new_id("t")
    reserved(store, claimed(store, max_cost=Decimal(1), max_tokens=10_000, tenant=tenant), limits=limits)

    levels = store.monitor.tenant_levels(1_000)

    mine = {one.scope: round(one.share, 6) for one in levels if one.tenant == tenant}
    assert mine == {"tenant_day": 0.1, "tenant_month": round(1 - 500 / 6_000, 6)}
    assert len(store.monitor.tenant_levels(1)) == 2
    days = [one.share for one in levels if one.scope == "tenant_day"]
    assert days == sorted(days)
