"""The messages that a run's progress sends to other processes. None of them can lose work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from turnwise.bus.base import Bus
from turnwise.bus.envelope import AskEnvelope, CancelNotice
from turnwise.errors import BrokerUnavailableError
from turnwise.record.transaction.session_queue import RunInLine
from turnwise.record.values.records import AskRecord, RunRecord
from turnwise.serving.moves.moved import Moved
from turnwise.serving.moves.permits import permit

logger = logging.getLogger(__name__)


class Dispatcher:
    """Publishes permits and wakes coordinators; a broker that is away is logged, the sweeper repairs it.

    `version` is that of this process's application where runs are pinned to versions: then a message about a run goes
    to processes of the run's version alone. None: to any process.
    """

    def __init__(self, bus: Bus, *, version: str | None = None) -> None:
        self._bus = bus
        self._version = version

    def moved(self, moved: Moved) -> None:
        """Publish the ask of a move, and wake the run that waited for the end of this one.

        After the end of a batch's run a coordinator is woken for the run itself, to begin the batch's next item.
        """
        if moved.ask is not None:
            self.publish(moved.ask)
        if moved.next_run is not None:
            self.wake(moved.next_run)
        if moved.ended and moved.run.batch_id is not None:
            # Any coordinator may feed a batch. Of the run's own version none may be left: another has ended it then.
            self._wake(moved.run.id, None)

    def publish(self, ask: AskEnvelope) -> bool:
        """Publish a permit for an ask of this process's version; return whether the broker took it."""
        return _send("publish_failed", ask.run, lambda: self._bus.publish_ask(ask))

    def publish_all(self, asks: Iterable[AskRecord]) -> bool:
        """Publish permits for asks, and return True; False at the first that the broker does not take."""
        return all(self.publish(permit(ask)) for ask in asks)

    def wake(self, run: RunRecord | RunInLine) -> None:
        """Wake a coordinator for the run."""
        self._wake(run.id, self._lane_of(run))

    def wake_all(self, runs: Sequence[RunRecord]) -> bool:
        """Wake coordinators for the runs, and return True; False at the first that the broker does not take."""
        for no, run in enumerate(runs):
            try:
                self._bus.wake(run.id, self._lane_of(run))
            except BrokerUnavailableError as error:
                left = len(runs) - no
                logger.warning(
                    "The broker did not take the messages for %d runs, a sweep will find them: %s",
                    left,
                    error,
                    extra={"action": "wake_failed", "runs": left},
                )
                return False
        return True

    def continue_run(self, run: RunRecord, ask: AskRecord | None) -> None:
        """Publish a permit for the ask that the run is at; where no worker answers it, wake a coordinator.

        A permit cannot be published for another version's workers: a sweep of that version does it.
        """
        if ask is None or ask.queue is None:
            self.wake(run)
        elif self._version in (None, run.version):
            self.publish(permit(ask))

    def cancelled(self, run: RunRecord) -> None:
        """Tell a coordinator and the workers that the run is to end."""
        self.wake(run)
        _send("cancel_notice_failed", run.id, lambda: self._bus.notify(CancelNotice(run=run.id)))

    def _wake(self, run_id: str, version: str | None) -> None:
        _send("wake_failed", run_id, lambda: self._bus.wake(run_id, version))

    def _lane_of(self, run: RunRecord | RunInLine) -> str | None:
        """Return the version whose coordinators have to be told of the run; None if any may be."""
        return None if self._version is None else run.version


def _send(action: str, run_id: str, message: Callable[[], None]) -> bool:
    """Send a message about the run; if the broker is away, write the log line `action` and return False."""
    try:
        message()
    except BrokerUnavailableError as error:
        logger.warning(
            "The broker did not take a message for run %s, the sweeper finds what is to be done: %s",
            run_id,
            error,
            extra={"action": action, "run": run_id},
        )
        return False
    return True
