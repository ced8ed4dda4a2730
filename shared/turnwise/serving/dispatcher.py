"""The messages that a run's progress sends to other processes. None of them can lose work."""

from __future__ import annotations

import logging
from collections.abc import Callable

from turnwise.bus.base import Bus
from turnwise.bus.envelope import AskEnvelope
from turnwise.errors import BrokerUnavailableError
from turnwise.serving.moves.moved import Moved

logger = logging.getLogger(__name__)


class Dispatcher:
    """Publishes permits and wakes coordinators; a broker that is away is logged, the sweeper repairs it."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def moved(self, moved: Moved) -> None:
        """Publish the ask of a move, and wake the run that waited for the end of this one.

        After the end of a batch's run a coordinator is woken for the run itself, to begin the batch's next item.
        """
        if moved.ask is not None:
            self.publish(moved.ask)
        if moved.next_run is not None:
            self.wake(moved.next_run)
        if moved.ended and moved.run.batch_id is not None:
            self.wake(moved.run.id)

    def publish(self, ask: AskEnvelope) -> None:
        """Publish a permit for the ask."""
        _send("publish_failed", ask.run, lambda: self._bus.publish_ask(ask))

    def wake(self, run_id: str) -> None:
        """Wake a coordinator for the run."""
        _send("wake_failed", run_id, lambda: self._bus.wake(run_id))


def _send(action: str, run_id: str, message: Callable[[], None]) -> None:
    """Send a message about the run; if the broker is away, write the log line `action`."""
    try:
        message()
    except BrokerUnavailableError as error:
        logger.warning(
            "The broker did not take a message for run %s, the sweeper sends it again: %s",
            run_id,
            error,
            extra={"action": action, "run": run_id},
        )
