"""Beginning the items of batches: runs are made of them, and coordinators are woken for these."""

from __future__ import annotations

from turnwise.record.batches.batch_feeding import BatchFeeding
from turnwise.record.database.lock_waits import PATIENCE
from turnwise.serving.dispatcher import Dispatcher
from turnwise.serving.observer import Observer


class BatchFeeder:
    """Makes runs of the next items of batches within reach of `record`, as many as there is room for."""

    def __init__(self, record: BatchFeeding, dispatcher: Dispatcher, observers: Observer) -> None:
        self._record = record
        self._dispatcher = dispatcher
        self._observers = observers

    def feed(
        self, batch_id: str, max_unfinished_runs: int | None = None, *, wait: bool = True, patience: float = PATIENCE
    ) -> bool:
        """Begin what there is room for; return whether items were postponed, because a submission takes long.

        See `BatchFeeding.feed_batch` for the arguments.
        """
        while True:
            fed = self._record.feed_batch(
                batch_id, max_unfinished_runs=max_unfinished_runs, wait=wait, patience=patience
            )
            for run in fed.runs:
                self._observers.run_accepted(run, 0.0)
            self._dispatcher.wake_all(fed.runs)
            if not fed.runs or not fed.more:
                return fed.postponed
