"""Limits of sessions and tenants that are set, lifted and set again, on each database: they count a whole period."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.reservation_parts import book, claimed, reply_of, reserved, sums, this_day, used

from turnwise.base.ids import new_id
from turnwise.record.budgets import lifted_limits
from turnwise.record.budgets.budgets import NO_SCOPE_LIMITS, ScopeLimits
from turnwise.record.database.budget_tables import budgets
from turnwise.record.database.database import Database
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import TenantLimits
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import Claim


def test_runs_of_a_session_share_its_budget_and_those_of_another_do_not(store: Store) -> None:
    limits = ScopeLimits(session=(None, 600))
    session = new_id("s")
    first = claimed(store, session_id=session)
    reserved(store, first, limits=limits)
    store.worker.reply(first, reply_of(used(1, 100, 150)))

    second, other = claimed(store, session_id=session), claimed(store, session_id=new_id("s"))

    assert reserved(store, second, limits=limits).max_tokens == 250
    assert reserved(store, other, limits=limits).max_tokens == 400


def test_a_limit_that_is_new_counts_what_was_spent_before_it(store: Store) -> None:
    tenant = new_id("t")
    before = claimed(store, tenant=tenant)
    store.worker.reply(before, Reply(kind="answer", usage=used(1, 200, 100).usage))
    limits = ScopeLimits(tenant_day=(None, 500), tenant_month=(None, 10_000))

    claim = claimed(store, tenant=tenant)

    assert reserved(store, claim, limits=limits).max_tokens == 100
    assert book(store, this_day(tenant)) == (Decimal("0.4"), 300, Decimal("0.3"), 200)


def _spend(store: Store, tenant: str, limits: ScopeLimits = NO_SCOPE_LIMITS, **run: Any) -> None:
    """Answer a run with a call of 300 tokens, which is reserved if a limit is in force."""
    claim = claimed(store, tenant=tenant, **run)
    made = used(1, 200, 100)
    if limits is not NO_SCOPE_LIMITS:
        reserved(store, claim, limits=limits)
    reply = reply_of(made) if limits is not NO_SCOPE_LIMITS else Reply(kind="answer", usage=made.usage)
    assert store.worker.reply(claim, reply)


def _own(store: Store, tenant: str, **limits: Any) -> None:
    store.operator().set_tenant_limits(tenant, TenantLimits(**limits))


@pytest.mark.parametrize("scope", ["tenant_day", "tenant_month"])
def test_a_tenants_limit_that_was_lifted_and_is_set_again_counts_all_of_its_period(store: Store, scope: str) -> None:
    # given a tenant that spent under its limit, and then without one
    tenant, limits = new_id("t"), ScopeLimits(**{scope: (None, 1_000)})
    name = f"{scope.removeprefix('tenant_')}_max_tokens"
    _own(store, tenant, **{name: 1_000})
    _spend(store, tenant, limits)
    _own(store, tenant, **{name: 0})
    _spend(store, tenant)

    # when it has the limit again
    _own(store, tenant, **{name: 1_000})

    # then of 1,000 tokens 400 are left: 100 of the prompt, 300 of the answer
    claim = claimed(store, tenant=tenant)
    assert reserved(store, claim, limits=limits).max_tokens == 300
    assert store.worker.reply(claim, reply_of(used(1, 100, 50)))
    assert reserved(store, claimed(store, tenant=tenant), limits=limits).max_tokens == 150


@pytest.mark.parametrize("scope", ["session", "tenant_day", "tenant_month"])
def test_a_limit_of_the_settings_that_was_lifted_and_is_set_again_counts_what_was_spent(
    store: Store, scope: str
) -> None:
    tenant, session, limits = new_id("t"), new_id("s"), ScopeLimits(**{scope: (Decimal(1), 1_000)})
    _spend(store, tenant, limits, session_id=session)
    store.coordinator.budgets.note_lifted_limits(ScopeLimits())
    _spend(store, tenant, session_id=session)
    store.coordinator.budgets.note_lifted_limits(limits)

    # of 1,000 tokens 400 are left, of 1 USD 0.20: 100 tokens of the prompt cost half of it
    assert reserved(store, claimed(store, tenant=tenant, session_id=session), limits=limits).max_tokens == 50


def test_limits_of_many_sessions_are_noted_as_lifted_part_by_part(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    tenant, limits = new_id("t"), ScopeLimits(session=(None, 1_000))
    for _ in range(3):
        _spend(store, tenant, limits, session_id=new_id("s"))
    store.coordinator.budgets.note_lifted_limits(ScopeLimits(session=(None, 7)))
    monkeypatch.setattr(lifted_limits, "TOGETHER", 2)
    lifted_limits._mark_lifted.cache_clear()
    try:
        assert store.coordinator.budgets.note_lifted_limits(NO_SCOPE_LIMITS) >= 3
        assert store.coordinator.budgets.note_lifted_limits(NO_SCOPE_LIMITS) == 0
    finally:
        lifted_limits._mark_lifted.cache_clear()


def test_a_call_that_is_under_way_while_its_limit_is_lifted_and_set_again_counts_once(store: Store) -> None:
    tenant, limits = new_id("t"), ScopeLimits(tenant_day=(None, 1_000))
    under_way = claimed(store, tenant=tenant)
    reserved(store, under_way, limits=limits)
    _own(store, tenant, day_max_tokens=0)
    _spend(store, tenant)
    _own(store, tenant, day_max_tokens=1_000)

    assert reserved(store, claimed(store, tenant=tenant), limits=limits).max_tokens == 100
    assert book(store, this_day(tenant)) == (Decimal("0.4"), 300, Decimal("1.2"), 700)
    assert store.worker.reply(under_way, reply_of(used(1, 100, 50)))

    assert book(store, this_day(tenant)) == (Decimal("0.6"), 450, Decimal("0.3"), 200)


def test_calls_that_began_before_a_limit_was_set_count_once_they_are_over(store: Store) -> None:
    # given a call without a reservation, and a limit that is set and made use of meanwhile
    tenant, limits = new_id("t"), ScopeLimits(tenant_day=(None, 1_000), tenant_month=(None, 5_000))
    before = claimed(store, tenant=tenant)
    _own(store, tenant, day_max_tokens=1_000, month_max_tokens=5_000)
    _spend(store, tenant, limits)
    assert store.worker.reply(before, Reply(kind="answer", usage=used(1, 200, 100).usage))

    # when
    store.coordinator.budgets.recount_new_limits()

    # then
    assert reserved(store, claimed(store, tenant=tenant), limits=limits).max_tokens == 300
    month = ("tenant_month", f"{tenant}/{datetime.now(UTC):%Y-%m}")
    assert book(store, this_day(tenant)) == book(store, month) == (Decimal("0.8"), 600, Decimal("0.7"), 400)


def test_limits_that_change_while_calls_are_made_lose_no_count(database: Database) -> None:
    """Some processes know of the limit and others do not, whenever it is lifted and set."""
    tenant, limits = new_id("t"), ScopeLimits(tenant_day=(None, 1_000_000), tenant_month=(None, 1_000_000))
    first = Store(database)
    claims = [claimed(first, tenant=tenant) for _ in range(3)]
    others = [Database(database.url.render_as_string(hide_password=False)) for _ in range(4)]
    faults: list[BaseException] = []

    def call_models(store: Store, claim: Claim) -> None:
        for no in range(1, 9):
            with store.coordinator.locked(claim.run.id) as transaction:
                transaction.add_usage(used(0, 3, 4).usage)
            done = [used(no - 1, 20, 10)] if no > 1 else []
            reserved(store, claim, no, limits, done=done)

    def change_limits(store: Store) -> None:
        for no in range(12):
            _own(store, tenant, day_max_tokens=(no % 2) * 1_000_000, month_max_tokens=1_000_000)
            store.coordinator.budgets.note_lifted_limits(NO_SCOPE_LIMITS)
            store.coordinator.budgets.recount_new_limits()

    def guarded(work: Callable[..., None], *given: Any) -> None:
        try:
            work(*given)
        except BaseException as fault:  # noqa: BLE001 - told by the main thread
            faults.append(fault)

    works = [(call_models, Store(other), claim) for other, claim in zip(others, claims, strict=False)]
    threads = [threading.Thread(target=guarded, args=work) for work in [*works, (change_limits, Store(others[3]))]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for other in others:
        other.close()

    assert not faults
    _own(first, tenant, day_max_tokens=1_000_000, month_max_tokens=1_000_000)
    reserved(first, claimed(first, tenant=tenant), limits=limits)
    spent = [sums(first.inspector.run(claim.run.id))[1] for claim in claims]
    assert spent == [8 * 7 + 7 * 30] * 3
    month = ("tenant_month", f"{tenant}/{datetime.now(UTC):%Y-%m}")
    assert book(first, this_day(tenant))[1::2] == book(first, month)[1::2] == (sum(spent), 4 * 500)


def test_only_limits_that_are_not_in_force_are_noted(store: Store) -> None:
    own, free, limits = new_id("t"), new_id("t"), ScopeLimits(tenant_day=(None, 1_000))
    _own(store, own, day_max_cost=Decimal("2.5"))
    _own(store, free, day_max_tokens=0)
    for tenant in (own, free):
        _spend(store, tenant, limits)

    def noted() -> set[str]:
        with store.database.read() as connection:
            rows = connection.execute(sa.select(budgets.c.scope_id).where(budgets.c.limit_tokens.is_(None))).all()
        return {row.scope_id for row in rows}

    store.coordinator.budgets.note_lifted_limits(limits)
    assert this_day(free)[1] in noted()
    assert this_day(own)[1] not in noted()

    store.coordinator.budgets.note_lifted_limits(NO_SCOPE_LIMITS)
    assert this_day(own)[1] not in noted(), "its own limit is in force"
