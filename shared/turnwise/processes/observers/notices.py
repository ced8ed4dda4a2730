"""Notices to those who watch a run."""

from __future__ import annotations

from turnwise.bus.base import Bus
from turnwise.bus.envelope import RunNotice
from turnwise.serving.dispatcher import send
from turnwise.serving.moves.moved import Moved
from turnwise.serving.observer import Observer


class MoveNotices(Observer):
    """Tells the gateways which event a run has come to by a move."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def run_moved(self, moved: Moved, seconds: float | None) -> None:
        """Send the number of the last event, if the move wrote one."""
        if moved.trace or moved.ended:
            run = moved.run
            send("notify_failed", run.id, lambda: self._bus.notify(RunNotice(run=run.id, seq=run.last_seq)))
