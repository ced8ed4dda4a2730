"""The sources of the gauges."""

from __future__ import annotations

from tests.e2e.waiting import until
from tests.support.store_parts import asked_run, begun_run, new_queue, new_run, new_worker

from turnwise.base.ids import new_id
from turnwise.base.waits import HumanWait, SessionWait
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT
from turnwise.record.values.outcomes import Parking


def test_unfinished_runs_are_counted_by_status_and_ended_ones_are_not(store: Store) -> None:
    before = store.monitor.active_runs()
    ended, _ = store.tenant(DEFAULT_TENANT).submit(new_run())
    with store.coordinator.locked(ended.id) as transaction:
        transaction.change(status=RunStatus.COMPLETED, status_code="DONE", move_due_at=None)
    asked_run(store, new_queue())

    after = store.monitor.active_runs()

    assert after.get("running", 0) == before.get("running", 0) + 1
    assert after.keys() <= {"queued", "running", "waiting"}


def test_runs_that_hold_no_worker_are_counted_by_what_they_wait_for(store: Store) -> None:
    before = store.monitor.waiting_runs()
    run = asked_run(store, None)
    with store.coordinator.locked(run.id) as transaction:
        transaction.change(status=RunStatus.WAITING, waiting_for=HumanWait(question="ask-1-1", task=""))
    session = new_id("ses")
    begun_run(store, session)
    second, _ = store.tenant(DEFAULT_TENANT).submit(new_run(session_id=session))
    with store.coordinator.locked(second.id) as transaction:
        transaction.change(waiting_for=SessionWait(run=""), move_due_at=None)

    after = store.monitor.waiting_runs()

    assert {kind: after[kind] - before.get(kind, 0) for kind in ("human", "session")} == {"human": 1, "session": 1}


def test_a_run_waits_for_its_move_until_it_is_made(store: Store) -> None:
    before = store.monitor.due_move_line()
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run())

    due = store.monitor.due_move_line()
    until(lambda: store.monitor.due_move_line().oldest_age > 0, "time to pass")
    with store.coordinator.locked(run.id) as transaction:
        transaction.change(status=RunStatus.RUNNING, move_due_at=None)

    assert (due.length, store.monitor.due_move_line().length) == (before.length + 1, before.length)


def test_questions_and_parked_asks_are_lines_with_an_age(store: Store) -> None:
    questions, parked = store.monitor.question_line(), store.monitor.parked_line()
    asked_run(store, None)
    queue = new_queue()
    asked_run(store, queue)
    claim = store.worker.claim(queue, new_worker(store, queue))
    assert claim is not None
    assert store.worker.park(claim, Parking(reason="unknown_outcome"))

    assert (store.monitor.question_line().length, store.monitor.parked_line().length) == (
        questions.length + 1,
        parked.length + 1,
    )
    until(
        lambda: min(store.monitor.question_line().oldest_age, store.monitor.parked_line().oldest_age) > 0,
        "time to pass",
    )


def test_a_worker_that_is_silent_is_dead_even_if_no_coordinator_has_said_so(store: Store) -> None:
    quick = Store(store.database, lease_seconds=0.05)
    worker = new_worker(quick, new_queue())

    def state() -> str:
        return next(one.state for one in quick.monitor.workers() if one.id == worker)

    until(lambda: state() == "dead", "two leases to pass")
    assert worker not in [one.id for one in quick.monitor.workers("alive")]
    quick.process.beat(worker)
    assert next(one for one in Store(store.database).monitor.workers() if one.id == worker).state == "alive"
