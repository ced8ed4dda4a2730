"""Work that nobody was told of, and workers that hear nothing, on each database."""

from __future__ import annotations

from tests.support.store_parts import asked_run, new_queue, new_worker

from turnwise.base.waits import RetryWait
from turnwise.record.store import Store
from turnwise.record.values.outcomes import Deferral


def test_asks_that_may_be_claimed_for_long_are_counted_by_queue(store: Store) -> None:
    one, other, third = new_queue(), new_queue(), new_queue()
    asked_run(store, one)
    asked_run(store, one)
    asked_run(store, other)
    asked_run(store, third)
    assert store.worker.overlooked([one, other], 0.0) == {one: 2, other: 1}
    assert store.worker.overlooked([one, other], 3_600.0) == {}

    worker = new_worker(store, one)
    claim = store.worker.claim(one, worker)
    assert claim is not None
    assert store.worker.overlooked([one], 0.0) == {one: 1}
    store.worker.defer(claim, Deferral(seconds=60, waiting_for=RetryWait()))
    assert store.worker.overlooked([one], 0.0) == {one: 1}


def test_a_deaf_worker_is_shown_as_one_until_it_hears_or_dies(store: Store) -> None:
    worker = new_worker(store, new_queue())

    def state() -> str:
        return next(one.shown_state for one in store.monitor.workers() if one.id == worker)

    assert state() == "alive"
    store.process.note_deaf(worker, True)
    assert state() == "deaf"
    assert store.process.beat(worker)
    assert state() == "deaf"
    store.process.note_deaf(worker, False)
    assert state() == "alive"
    store.process.note_deaf(worker, True)
    store.process.retire_worker(worker)
    assert state() == "stopped"
