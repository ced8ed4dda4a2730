"""Beginning the items of batches: runs are made of them, and coordinators are woken for these."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from turnwise.bus.base import Bus
from turnwise.errors import BrokerUnavailableError
from turnwise.record.batches.batch_feeding import BatchFeeding
from turnwise.record.runs.records import RunRecord
from turnwise.serving.observer import Observer

logger = logging.getLogger(__name__)


class BatchFeeder:
    """Makes runs of the next items of batches within reach of `record`, as many as there is room for.

    `pinned`: runs are told of to processes of their version.
    """

    def __init__(self, record: BatchFeeding, bus: Bus, observers: Observer, *, pinned: bool) -> None:
        self._record = record
        self._bus = bus
        self._observers = observers
        self._pinned = pinned

    def feed(self, batch_id: str, max_unfinished_runs: int | None = None, *, wait: bool = True) -> int:
        """Begin what there is room for; returns how many runs. See `BatchFeeding.feed_batch` for the arguments."""
        begun = 0
        for made in self._parts(batch_id, max_unfinished_runs, wait):
            for run in made:
                self._observers.run_accepted(run, 0.0)
            self.tell(made)
            begun += len(made)
        return begun

    def tell(self, runs: Sequence[RunRecord]) -> None:
        """Wake coordinators for new runs; of what they cannot be told, a sweep tells them."""
        for no, run in enumerate(runs):
            try:
                self._bus.wake(run.id, run.version if self._pinned else None)
            except BrokerUnavailableError as error:
                left = len(runs) - no
                extra = {"action": "wake_failed", "runs": left}
                logger.warning(
                    "Nobody was told of %d runs of a batch, a sweep will find them: %s", left, error, extra=extra
                )
                return

    def _parts(self, batch_id: str, most: int | None, wait: bool) -> Iterator[list[RunRecord]]:
        while True:
            fed = self._record.feed_batch(batch_id, max_unfinished_runs=most, wait=wait)
            yield fed.runs
            if not fed.runs or not fed.more:
                return
