"""The facts that are read to say why a run waits, on each database."""

from __future__ import annotations

import pytest
from tests.support.store_parts import asked_run, new_queue, new_run, new_worker

from turnwise.base.ids import new_id
from turnwise.base.waits import SessionWait
from turnwise.errors import NotFoundError
from turnwise.record.asks.worker_records import WorkerInfo
from turnwise.record.runs.wait_facts import COORDINATOR
from turnwise.record.states import RunStatus
from turnwise.record.store import Store
from turnwise.record.tenants.tenant import DEFAULT_TENANT


@pytest.fixture
def store(store: Store) -> Store:
    return Store(store.database, lease_seconds=60.0)


def test_a_situation_tells_run_ask_place_in_the_queue_and_fleet(store: Store) -> None:
    # given
    queue = new_queue()
    first, urgent = asked_run(store, queue), asked_run(store, queue, priority=5)
    run = asked_run(store, queue)
    worker = new_worker(store, queue)

    # when
    now = store.inspector.situation(run.id)

    # then
    assert (now.run.id, now.ask.id if now.ask else None, now.holder) == (run.id, run.awaiting, None)
    assert now.ahead == 2
    assert now.now >= run.created_at
    assert now.fleet is not None
    assert worker in {one.id for one in now.fleet}
    assert [one.ahead for one in store.inspector.situations([first.id, urgent.id])] == [None, None]


def test_a_claimed_ask_has_its_holder(store: Store) -> None:
    queue = new_queue()
    run, worker = asked_run(store, queue), new_worker(store, queue)
    store.worker.claim(queue, worker)

    now = store.inspector.situation(run.id)

    assert now.holder is not None
    assert (now.holder.id, now.ahead) == (worker, None)


def test_only_processes_with_a_lease_are_there(store: Store) -> None:
    queue, short = new_queue(), Store(store.database, lease_seconds=0.0)
    run, lapsed, retired = asked_run(store, queue), new_worker(short, queue), new_worker(store, queue)
    store.process.retire_worker(retired)

    fleet = store.inspector.situation(run.id).fleet

    assert fleet is not None
    assert not {lapsed, retired} & {one.id for one in fleet}


def test_a_pinned_run_tells_processes_of_its_version_from_others(store: Store) -> None:
    version = new_id("version")
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run(version=version))

    def register(of: str) -> str:
        info = WorkerInfo(kind=COORDINATOR, queues=(COORDINATOR,), host="here", pid=1, version=of)
        return store.process.register_worker(info)

    mine, other = register(version), register("other")

    now, free = store.inspector.situation(run.id, pinned=True), store.inspector.situation(run.id)

    assert [one.id for one in now.fleet or ()] == [mine]
    assert other in {one.id for one in now.others}
    assert {mine, other} <= {one.id for one in free.fleet or ()}
    assert free.others == ()


def test_a_run_waits_for_the_one_before_it_only_until_that_has_ended(store: Store) -> None:
    session = new_id("session")
    first, second = (store.tenant(DEFAULT_TENANT).submit(new_run(session_id=session))[0] for _ in range(2))
    with store.coordinator.locked(second.id) as transaction:
        transaction.change(waiting_for=SessionWait(run=first.id), move_due_at=None)

    before = store.inspector.situation(second.id).before
    with store.coordinator.locked(first.id) as transaction:
        transaction.finish(RunStatus.COMPLETED, "DONE")

    assert (before, store.inspector.situation(second.id).before) == (first.id, None)


def test_a_coordinator_that_does_not_sign_on_is_noticed_by_its_sweeps(store: Store) -> None:
    run, _ = store.tenant(DEFAULT_TENANT).submit(new_run())

    store.coordinator.sweep_lease(new_queue(), "somebody", 60.0)

    assert store.inspector.situation(run.id).sweeping


def test_an_unknown_run_has_no_situation(store: Store) -> None:
    with pytest.raises(NotFoundError, match="there is no run 'run_none'"):
        store.inspector.situation("run_none")
    assert store.inspector.situations([]) == []
