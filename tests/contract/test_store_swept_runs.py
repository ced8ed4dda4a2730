"""Sweeps over runs that others have, or that are damaged: all others are seen to, on each database."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest
import sqlalchemy as sa
from sqlalchemy.engine import Connection
from tests.e2e.waiting import until
from tests.support.reservation_parts import claimed, reserved, sums
from tests.support.store_parts import damaged, new_run

from turnwise.base.ids import new_id
from turnwise.errors import RunChangedError
from turnwise.record.budgets.budgets import ScopeLimits
from turnwise.record.database.budget_tables import budgets
from turnwise.record.database.schema import runs
from turnwise.record.runs.submission import accept
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import TenantLimits
from turnwise.record.upkeep.purging import Retention
from turnwise.record.values.records import RunRecord

LIMITS = ScopeLimits(tenant_month=(None, 10_000))
T = TypeVar("T")


@pytest.fixture
def tenant(store: Store) -> str:
    if not store.database.is_postgres:
        pytest.skip("SQLite lets one writer in at a time")
    return new_id("t")


def beside(store: Store, hold: Callable[[Connection], object], work: Callable[[], T]) -> T:
    """The result of `work` while a transaction has what `hold` locks."""
    with ThreadPoolExecutor(1) as pool, store.database.begin() as other:
        hold(other)
        return pool.submit(work).result(timeout=10)


def budget_of(tenant: str) -> Callable[[Connection], object]:
    """Lock the tenant's budgets, as a transaction that makes a move does."""
    mine = sa.select(budgets.c.scope_id).where(budgets.c.scope_id.startswith(tenant)).with_for_update()

    def hold(connection: Connection) -> None:
        assert connection.execute(mine).all()

    return hold


def submission(store: Store, tenant: str, session: str) -> Callable[[Connection], object]:
    return lambda connection: accept(store.database, connection, tenant, new_run(session_id=session), None)


def ended(store: Store, run: RunRecord) -> RunRecord:
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")
    return run


def test_an_ask_is_taken_over_while_a_tenants_budget_is_locked(store: Store, tenant: str) -> None:
    held, free = claimed(store, tenant=tenant), claimed(store, tenant=new_id("t"))
    for claim in (held, free):
        reserved(store, claim, limits=LIMITS)
        store.process.retire_worker(claim.worker_id)
    taken: list[str] = []

    def take(run: str) -> bool:
        taken.extend(ask.run_id for ask in store.coordinator.expire_leases())
        return run in taken

    beside(store, budget_of(tenant), lambda: until(lambda: take(free.run.id), "the free one to be taken over"))
    assert held.run.id not in taken
    until(lambda: take(held.run.id), "the other to be taken over")


def test_new_limits_are_counted_while_a_tenants_budget_is_locked(store: Store, tenant: str) -> None:
    reserved(store, claimed(store, tenant=tenant), limits=LIMITS)
    store.operator().set_tenant_limits(tenant, TenantLimits(month_max_tokens=5_000))

    beside(store, budget_of(tenant), store.coordinator.budgets.recount_new_limits)


def test_an_old_run_whose_session_is_locked_is_deleted_later(store: Store, tenant: str) -> None:
    run = ended(store, store.tenant(tenant).submit(new_run(session_id="ann"))[0])
    now = Retention(older_than=0.0)

    assert not beside(store, submission(store, tenant, "ann"), lambda: store.coordinator.purge_run(run.id, now))
    assert store.coordinator.purge_run(run.id, now)


def test_a_move_of_a_sweep_waits_for_no_session(store: Store, tenant: str) -> None:
    run, _ = store.tenant(tenant).submit(new_run(session_id="ann"))

    def before() -> str | None:
        with store.coordinator.locked(run.id, wait=False) as transaction:
            return transaction.run_before()

    with pytest.raises(RunChangedError, match="has what the run"):
        beside(store, submission(store, tenant, "ann"), before)
    assert before() is None


def test_a_run_that_another_has_is_cancelled_for_a_tick_later(store: Store, tenant: str) -> None:
    run, _ = store.tenant(tenant).submit(new_run())
    locked = sa.select(runs.c.id).where(runs.c.id == run.id).with_for_update()

    def cancel() -> RunRecord | None:
        return store.coordinator.cancel_for_tick(run.id)

    assert beside(store, lambda connection: connection.execute(locked).all(), cancel) is None
    cancelled = cancel()
    assert cancelled is not None and cancelled.cancel_requested_at is not None
    assert cancel() is None


def test_a_damaged_run_keeps_no_reservation_of_others(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    broken, sound = claimed(store, tenant=new_id("t")), claimed(store, tenant=new_id("t"))
    for claim in (broken, sound):
        reserved(store, claim, limits=LIMITS)
        ended(store, claim.run)
        store.process.retire_worker(claim.worker_id)

    with damaged(store, broken.run.id):
        store.coordinator.settle_orphans()

        assert sums(store.inspector.run(sound.run.id))[3] == 0
        told = [(line.action, line.run) for line in caplog.records if line.levelname == "ERROR"]  # type: ignore[attr-defined]
        assert told == [("run_not_swept", broken.run.id)]
    store.coordinator.settle_orphans()
    assert sums(store.inspector.run(broken.run.id))[3] == 0
