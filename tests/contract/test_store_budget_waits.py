"""Runs that wait for a tenant's budget, and limits that change meanwhile, on each database."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.support.store_parts import asked_run, new_queue, new_worker

from turnwise.base.ids import new_id
from turnwise.base.waits import BudgetWait
from turnwise.record.states import AskStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import TenantLimits
from turnwise.record.values.outcomes import Deferral
from turnwise.record.values.records import Claim


def _waiting(store: Store, queue: str, tenant: str, scope: str) -> Claim:
    asked_run(store, queue, run={"tenant": tenant})
    claim = store.worker.claim(queue, new_worker(store, queue))
    assert claim is not None
    assert store.worker.defer(claim, Deferral(seconds=3_600.0, waiting_for=BudgetWait(scope=scope, limit="cost")))
    return claim


def _due_after_a_look(store: Store, queue: str, **options: float) -> int:
    """Return how many asks of the queue are due; other tests may have runs that wait in the same database."""
    store.coordinator.budgets.look_again(**options)
    found = [ask for ask in store.inspector.table("asks") if ask["queue"] == queue]
    return sum(ask["status"] == AskStatus.RUNNABLE and ask["due_at"] is None for ask in found)


@pytest.mark.parametrize("scope", ["tenant_day", "tenant_month"])
def test_a_run_looks_once_at_limits_that_have_changed(store: Store, scope: str) -> None:
    # given
    queue, tenant = new_queue(), new_id("t")
    waiting = _waiting(store, queue, tenant, scope)
    assert _due_after_a_look(store, queue, known_after=0.0) == 0

    # when its tenant's limits change
    store.operator().set_tenant_limits(tenant, TenantLimits(day_max_cost=Decimal(5)))

    # then it is due as soon as all processes know, and not again after it has looked
    worker = new_worker(store, queue)
    assert _due_after_a_look(store, queue) == 0
    assert store.worker.claim(queue, worker) is None
    assert _due_after_a_look(store, queue, known_after=0.0) == 1
    again = store.worker.claim(queue, worker)
    assert again is not None and again.ask.id == waiting.ask.id
    assert store.worker.defer(again, Deferral(seconds=3_600.0, waiting_for=BudgetWait(scope=scope, limit="cost")))
    assert _due_after_a_look(store, queue, known_after=0.0) == 0


def test_only_runs_look_that_wait_for_their_tenants_budget(store: Store) -> None:
    queue, tenant = new_queue(), new_id("t")
    _waiting(store, queue, tenant, "run")
    _waiting(store, queue, tenant, "session")
    _waiting(store, queue, new_id("t"), "tenant_day")
    store.operator().set_tenant_limits(tenant, TenantLimits(day_max_cost=Decimal(5)))

    assert _due_after_a_look(store, queue, known_after=0.0) == 0
    assert store.worker.claim(queue, new_worker(store, queue)) is None


@pytest.mark.parametrize("scope", ["session", "tenant_day", "tenant_month"])
def test_a_run_looks_once_when_all_workers_have_begun_anew(store: Store, scope: str) -> None:
    # given a run that waits, after the look of a worker
    queue = new_queue()
    waiting = _waiting(store, queue, new_id("t"), scope)
    before = waiting.worker_id

    # when others are there, it waits until the first is gone: it may have the old settings
    after = new_worker(store, queue)
    assert _due_after_a_look(store, queue) == 0
    store.process.note_draining(before)
    assert _due_after_a_look(store, queue) == 1

    # then it looks, and does not look again for those who have seen it
    again = store.worker.claim(queue, after)
    assert again is not None and again.ask.id == waiting.ask.id
    assert store.worker.defer(again, Deferral(seconds=3_600.0, waiting_for=BudgetWait(scope=scope, limit="cost")))
    new_worker(store, queue)
    assert _due_after_a_look(store, queue) == 0


def test_new_workers_change_nothing_for_a_run_that_waits_for_a_limit_of_its_own(store: Store) -> None:
    queue = new_queue()
    waiting = _waiting(store, queue, new_id("t"), "run")
    store.process.retire_worker(waiting.worker_id)

    new_worker(store, queue)

    assert _due_after_a_look(store, queue) == 0
