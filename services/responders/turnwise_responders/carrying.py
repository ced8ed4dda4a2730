"""Carrying a run on: who has answered takes the run's next ask with its reply."""

from __future__ import annotations

from collections.abc import Callable

from turnwise.record.roles.worker import WorkerRole
from turnwise.record.runs.transaction import RunTransaction


class CarrySlice:
    """The time for which a worker carries runs on although others wait; the first one begins with a claim."""

    def __init__(self, record: WorkerRole, seconds: float) -> None:
        self._record, self._seconds = record, seconds
        self._clock = record.clock
        self._ends = self._clock.monotonic() + seconds

    def lasts(self, tx: RunTransaction, queue: str) -> bool:
        """Return whether the worker continues with an ask for `queue`: another slice begins if no one waits there."""
        now = self._clock.monotonic()
        if now < self._ends:
            return True
        if self._record.others_wait(tx, queue):
            return False
        self._ends = now + self._seconds
        return True


class RunCarrier:
    """Takes the next asks of one run for `worker_id`, as long as the slice lasts and the process serves their queues.

    `serves(queue)` says the latter; it changes when the process drains or a queue is switched off.
    """

    def __init__(self, record: WorkerRole, worker_id: str, serves: Callable[[str], bool], seconds: float) -> None:
        self._record = record
        self.worker_id = worker_id
        self._serves = serves
        self._slice = CarrySlice(record, seconds)

    def takes(self, tx: RunTransaction, queue: str) -> bool:
        """Return whether the run's next ask, which is for `queue`, is this worker's."""
        return (
            self._serves(queue) and self._slice.lasts(tx, queue) and self._record.may_carry(tx, queue, self.worker_id)
        )
