"""Carrying a run on: who has answered takes the run's next ask with its reply."""

from __future__ import annotations

from collections.abc import Callable, Collection

from turnwise.record.roles.worker import WorkerRole
from turnwise.record.transaction.run_transaction import RunTransaction


class CarrySlice:
    """The time for which a worker carries a run on although others wait; the first one begins with a claim.

    Others may wait in any of the `queues` that the process serves: their next answer needs this thread as well.
    """

    def __init__(self, record: WorkerRole, seconds: float, queues: Collection[str]) -> None:
        self._record, self._seconds, self._queues = record, seconds, queues
        self._clock = record.clock
        self._ends = self._clock.monotonic() + seconds

    def lasts(self, tx: RunTransaction) -> bool:
        """Return whether the worker continues with the run's next ask: another slice begins if no one else waits."""
        now = self._clock.monotonic()
        if now < self._ends:
            return True
        if any(self._record.others_wait(tx, queue) for queue in self._queues):
            return False
        self._ends = now + self._seconds
        return True


class RunCarrier:
    """Takes the next asks of one run for `worker_id`, as long as the slice lasts and the process serves their queues.

    These are `queues`, as far as `serves(queue)`, which changes when the process drains or a queue is switched off.
    """

    def __init__(
        self,
        record: WorkerRole,
        worker_id: str,
        queues: Collection[str],
        serves: Callable[[str], bool],
        seconds: float,
    ) -> None:
        self._record = record
        self.worker_id = worker_id
        self._serves = serves
        self._slice = CarrySlice(record, seconds, queues)

    def takes(self, tx: RunTransaction, queue: str) -> bool:
        """Return whether the run's next ask, which is for `queue`, is this worker's."""
        return self._serves(queue) and self._slice.lasts(tx) and self._record.may_carry(tx, queue, self.worker_id)
