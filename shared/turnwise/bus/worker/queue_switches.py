"""The queues that a worker does not consume for now, by a command of Celery's remote control."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from typing import Any

from turnwise.bus.routing import queue_of_lane


class QueueSwitches:
    """One byte for each queue, in memory that a worker shares with its prefork children, also with later ones.

    The worker's main process hears the command, and the children are those who claim. Queues are named without their
    lane. A restart forgets it all: to pause a queue of the whole installation, use `turnwise pause`.
    """

    def __init__(self, lanes: Iterable[str] = ()) -> None:
        self._places = {queue_of_lane(lane): place for place, lane in enumerate(lanes)}
        self._paused = mmap.mmap(-1, max(1, len(self._places)))
        # The lane of each queue that this worker was started for; empty until it is started.
        self.served: dict[str, str] = {}

    def serve(self, lanes: Iterable[str]) -> None:
        """Take down what the worker was started for; only the first word counts."""
        if not self.served:
            self.served = {queue_of_lane(lane): lane for lane in lanes}

    def pause(self, queue: str) -> None:
        """Leave a served queue alone."""
        self._paused[self._places[queue]] = 1

    def resume(self, queue: str) -> None:
        """Serve it again."""
        self._paused[self._places[queue]] = 0

    def paused(self, queue: str) -> bool:
        """Return whether a remote command has switched the queue off."""
        place = self._places.get(queue)
        return place is not None and self._paused[place] == 1

    def told(self) -> str:
        """The state of a process that is well, for its health page."""
        paused = [queue for queue in self._places if self.paused(queue)]
        return f"ok; paused by remote control: {', '.join(paused)}" if paused else "ok"


def switches_of(app: Any) -> QueueSwitches:
    """Return the switches of an application that `make_celery` made."""
    found = app.turnwise_switches
    assert isinstance(found, QueueSwitches)
    return found
