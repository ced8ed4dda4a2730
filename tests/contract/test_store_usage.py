"""The usage of a tenant by day, task and model: each call is counted once."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
import sqlalchemy as sa
from tests.support.store_parts import asked_run, damaged, new_queue, new_worker

from turnwise.base.ids import new_id
from turnwise.record.database.database import Database
from turnwise.record.database.schema import runs
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.upkeep.purging import Retention
from turnwise.record.values.outcomes import Reply
from turnwise.record.values.records import Usage


def test_what_is_used_is_summed_by_day_task_and_model_as_it_is_for_the_runs(store: Store) -> None:
    tenant, queue = new_id("tenant"), new_queue()
    worker = new_worker(store, queue)
    for model, cost in (("large", "0.1"), ("large", "0.2"), ("small", "0.0000001"), (None, None)):
        asked_run(store, queue, run={"tenant": tenant})
        claim = store.worker.claim(queue, worker)
        assert claim is not None
        used = Usage(
            prompt_tokens=10,
            cached_tokens=4,
            completion_tokens=2,
            cost=None if cost is None else Decimal(cost),
            model=model,
        )
        assert store.worker.reply(claim, Reply(kind="answer", usage=used))
    today = datetime.now(UTC).date()
    around = (today - timedelta(days=1), today + timedelta(days=1))

    rows = store.tenant(tenant).usage(*around)

    assert not _days_of(store, tenant)  # no row that runs share, while they work
    for run in store.tenant(tenant).runs()[0]:
        with store.coordinator.locked(run.id) as transaction:
            transaction.finish(RunStatus.COMPLETED, "DONE")
    assert store.tenant(tenant).usage(*around) == rows
    assert {row["model"] for row in _days_of(store, tenant)} == {"", "large", "small"}
    assert [(row.task, row.model, row.calls, row.unpriced_calls, row.cost) for row in rows] == [
        ("triage", "", 1, 1, Decimal(0)),
        ("triage", "large", 2, 0, Decimal("0.3")),
        ("triage", "small", 1, 0, Decimal("0.0000001")),
    ]
    runs, _ = store.tenant(tenant).runs()
    assert sum(row.cost for row in rows) == sum(run.cost for run in runs)
    assert sum(row.prompt_tokens for row in rows) == sum(run.prompt_tokens for run in runs) == 40
    assert store.tenant(new_id("tenant")).usage(today, today) == []
    assert store.tenant(tenant).usage(today - timedelta(days=9), today - timedelta(days=2)) == []


@pytest.mark.parametrize("rests", [False, True])
def test_the_dearest_come_first_by_task_model_or_tenant(store: Store, rests: bool) -> None:
    one, other, queue = new_id("tenant"), new_id("tenant"), new_queue()
    for tenant, task, model, cost in (
        (one, "triage", "small", "0.1"),
        (one, "triage", "small", "0.2"),
        (one, "audit", "large", "0.25"),
        (other, "audit", "large", "10000"),
    ):
        run = asked_run(store, queue, run={"tenant": tenant, "task": task})
        with store.coordinator.locked(run.id) as transaction:
            transaction.add_usage(Usage(prompt_tokens=3, cost=Decimal(cost), model=model))
            if rests:
                transaction.finish(RunStatus.COMPLETED, "DONE")
    today = datetime.now(UTC).date()
    days = (today - timedelta(days=1), today + timedelta(days=1))

    def dearest(by: Any, most: int = 5) -> list[tuple[str, Decimal, int]]:
        return [(row.name, row.cost, row.calls) for row in store.tenant(one).spenders(by, *days, most)]

    assert dearest("task") == [("triage", Decimal("0.3"), 2), ("audit", Decimal("0.25"), 1)]
    assert dearest("model", 1) == [("small", Decimal("0.3"), 2)]
    assert dearest("tenant") == [(one, Decimal("0.55"), 3)]
    fleet = {row.name: row.cost for row in store.operator().spenders("tenant", *days, 100_000)}
    assert (fleet[one], fleet[other]) == (Decimal("0.55"), Decimal(10_000))
    assert store.operator().spenders("model", *days, 1)[0].name == "large"
    assert store.tenant(one).spenders("task", days[1], days[1], 5) == []


def _days_of(store: Store, tenant: str) -> list[dict[str, Any]]:
    return [row for row in store.inspector.table("usage_days") if row["tenant"] == tenant]


def _use(store: Store, run_id: str, at: str, tokens: int) -> None:
    """Count a call of that day."""
    with store.coordinator.locked(run_id) as transaction:
        transaction.now = datetime.fromisoformat(at).replace(tzinfo=UTC).timestamp()
        transaction.add_usage(Usage(prompt_tokens=tokens, cost=Decimal("0.01"), model="m"))


def test_a_run_that_works_past_midnight_is_counted_in_both_days(store: Store) -> None:
    tenant = new_id("tenant")
    run = asked_run(store, new_queue(), run={"tenant": tenant})
    _use(store, run.id, "2026-01-31T23:59:59", 5)
    _use(store, run.id, "2026-02-01T00:00:00", 7)
    mine = store.tenant(tenant)
    first, second = date(2026, 1, 31), date(2026, 2, 1)

    def seen() -> list[tuple[list[int], list[int]]]:
        days = (mine.usage(first, first), mine.usage(second, second), mine.usage(first, second))
        return [([row.prompt_tokens for row in rows], [row.calls for row in rows]) for rows in days]

    expected = [([5], [1]), ([7], [1]), ([5, 7], [1, 1])]
    assert seen() == expected
    with store.coordinator.locked(run.id) as transaction:
        transaction.finish(RunStatus.FAILED, "ERROR")
    assert seen() == expected
    # A reply that came too late.
    _use(store, run.id, "2026-02-01T00:00:01", 1)
    assert seen()[1] == ([8], [2])
    assert mine.run(run.id).uncounted is None


def test_a_run_that_waits_is_counted_and_goes_on_counting(store: Store) -> None:
    tenant = new_id("tenant")
    run = asked_run(store, None, run={"tenant": tenant})
    for status in (RunStatus.WAITING, RunStatus.RUNNING, RunStatus.WAITING):
        _use(store, run.id, "2026-01-31T12:00:00", 1)
        with store.coordinator.locked(run.id) as transaction:
            transaction.change(status=status)
    _use(store, run.id, "2026-01-31T12:00:00", 1)

    (row,) = store.tenant(tenant).usage(date(2026, 1, 31), date(2026, 1, 31))
    assert (row.calls, row.prompt_tokens, row.cost) == (4, 4, Decimal("0.04"))
    assert [row["calls"] for row in _days_of(store, tenant)] == [4]


def test_a_transaction_that_is_lost_counts_nothing(store: Store) -> None:
    tenant = new_id("tenant")
    run = asked_run(store, new_queue(), run={"tenant": tenant})
    _use(store, run.id, "2026-01-31T12:00:00", 1)
    with pytest.raises(RuntimeError), store.coordinator.locked(run.id) as transaction:
        transaction.add_usage(Usage(prompt_tokens=9, model="m"))
        transaction.finish(RunStatus.COMPLETED, "DONE")
        transaction.flush()
        raise RuntimeError("killed before the commit")

    assert _days_of(store, tenant) == []
    (row,) = store.tenant(tenant).usage(date(2026, 1, 31), date(2026, 1, 31))
    assert row.prompt_tokens == 1


def _end_as_before_0012(store: Store, database: Database, run_id: str, finished_at: float) -> None:
    """Use something, and end the run as a program does that does not know where that is kept."""
    _use(store, run_id, "2026-01-31T12:00:00", 3)
    ended = {"status": "completed", "status_code": "DONE", "finished_at": finished_at, "awaiting": None}
    with database.begin() as connection:
        connection.execute(sa.update(runs).where(runs.c.id == run_id).values(ended))


@pytest.mark.parametrize("deleted", [False, True])
def test_what_a_run_used_that_an_older_program_ended_is_counted_once(
    store: Store, database: Database, deleted: bool
) -> None:
    tenant, day = new_id("tenant"), date(2026, 1, 31)
    run = asked_run(store, new_queue(), run={"tenant": tenant})
    _end_as_before_0012(store, database, run.id, 1.0 if deleted else store.coordinator.now())
    mine = store.tenant(tenant)
    assert mine.usage(day, day) == []

    for _ in range(2):
        if deleted:
            store.coordinator.purge_run(run.id, Retention(older_than=60.0))
        else:
            store.coordinator.count_left_usage()
        assert [(row.calls, row.prompt_tokens) for row in mine.usage(day, day)] == [(1, 3)]


def test_what_is_left_is_counted_although_the_run_of_some_is_damaged(store: Store, database: Database) -> None:
    tenant, day = new_id("tenant"), date(2026, 1, 31)
    broken, sound = (asked_run(store, new_queue(), run={"tenant": tenant}) for _ in range(2))
    for run in (broken, sound):
        _end_as_before_0012(store, database, run.id, store.coordinator.now())

    for calls in (1, 2):
        with damaged(store, broken.id) if calls == 1 else nullcontext():
            store.coordinator.count_left_usage()
        assert [row.calls for row in store.tenant(tenant).usage(day, day)] == [calls]
