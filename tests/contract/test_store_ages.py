"""The sources of the gauges by task and by tenant; each test has a task of its own, for the database is shared."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from tests.e2e.waiting import until
from tests.support.databases import fresh_sqlite
from tests.support.store_parts import asked_run, new_queue, new_run, new_worker

from turnwise.base.ids import new_id
from turnwise.base.waits import HumanWait, PauseWait
from turnwise.record.states import AskStatus, RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.upkeep import ages, gauges
from turnwise.record.values.outcomes import Parking


def test_the_oldest_unfinished_run_of_a_task_has_an_age_until_it_ends(store: Store) -> None:
    task = new_id("task")
    run = asked_run(store, new_queue(), run={"task": task})

    def ages() -> dict[str, float]:
        return {one.status: one.age for one in store.monitor.oldest_runs() if one.task == task}

    until(lambda: ages()["running"] > 0, "time to pass")
    _end(store, run.id, "completed")
    assert ages() == {}


def test_a_wait_is_told_by_kind_and_task_whatever_else_goes_on(store: Store) -> None:
    task = new_id("task")
    asked = asked_run(store, None, run={"task": task})
    with store.coordinator.locked(asked.id) as transaction:
        transaction.change(status=RunStatus.WAITING, waiting_for=HumanWait(question="ask-1-1", task=""))
    queue = new_queue()
    asked_run(store, queue, run={"task": task})
    claim = store.worker.claim(queue, new_worker(store, queue))
    assert claim is not None and store.worker.park(claim, Parking(reason="unknown_outcome"))
    # A kind that this program knows nothing of is told as well.
    paused, _ = store.tenant(DEFAULT_TENANT).submit(new_run(task=task))
    with store.coordinator.locked(paused.id) as transaction:
        transaction.change(waiting_for=PauseWait(scope="", name=""), move_due_at=None)

    def waits() -> dict[str, float]:
        return {one.kind: one.age for one in store.monitor.oldest_waits() if one.task == task}

    until(lambda: min(waits().values()) > 0, "time to pass")
    assert waits().keys() == {"human", "parked", "paused"}
    assert [one for one in store.monitor.forgotten_runs() if one.task == task] == []


def test_a_run_without_an_open_ask_or_a_due_move_is_forgotten(store: Store) -> None:
    task, queue = new_id("task"), new_queue()
    busy = asked_run(store, queue, run={"task": task})
    lost = asked_run(store, new_queue(), run={"task": task})
    store.tenant(DEFAULT_TENANT).submit(new_run(task=task))  # its first move is due

    def forgotten() -> list[int]:
        return [one.length for one in store.monitor.forgotten_runs() if one.task == task]

    assert forgotten() == []
    with store.coordinator.locked(lost.id) as transaction:
        transaction.close_ask("ask-1-1", AskStatus.CANCELLED)
    assert forgotten() == [1]
    _end(store, lost.id, "failed")
    assert forgotten() == [] and not store.inspector.run(busy.id).ended


def test_a_lease_has_an_age_while_a_worker_holds_it(store: Store) -> None:
    task, queue = new_id("task"), new_queue()
    asked_run(store, queue, run={"task": task})
    claim = store.worker.claim(queue, new_worker(store, queue))
    assert claim is not None

    def leases() -> list[tuple[str, str, float]]:
        return [(one.task, one.agent, one.age) for one in store.monitor.oldest_leases() if one.queue == queue]

    until(lambda: leases()[0][2] > 0, "time to pass")
    assert leases()[0][:2] == (task, "triage")
    store.worker.release(claim, "drained")
    assert leases() == []


def test_runs_that_have_ended_are_counted_by_minute(store: Store) -> None:
    task = new_id("task")
    for status in ("failed", "failed", "completed"):
        run, _ = store.tenant(DEFAULT_TENANT).submit(new_run(task=task))
        _end(store, run.id, status)

    present, found = store.monitor.ended_runs(600)

    mine = [one for one in found if one.task == task]
    assert {status: sum(one.length for one in mine if one.status == status) for status in ("failed", "completed")} == {
        "failed": 2,
        "completed": 1,
    }
    assert {one.minute for one in mine} <= {present, present - 1}


def _end(store: Store, run: str, status: str) -> None:
    with store.coordinator.locked(run) as transaction:
        transaction.finish(RunStatus(status), None)


@pytest.mark.parametrize("statement", [ages._OLDEST_RUNS, ages._OLDEST_WAITS, gauges._WAITING, gauges._ACTIVE])
def test_no_gauge_reads_runs_that_have_ended(statement: sa.Select[Any], tmp_path: Path) -> None:
    """SQLite takes a partial index only where a condition is word for word as the index has it."""
    with closing(fresh_sqlite(tmp_path / "runs.db")) as database, database.read() as connection:
        text = str(statement.compile(connection, compile_kwargs={"literal_binds": True}))
        plan = [str(row[-1]) for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {text}")]

    assert plan
    assert not [step for step in plan if step.startswith("SCAN runs") and "INDEX" not in step], plan
