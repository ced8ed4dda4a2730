"""Notices to those who watch a run."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from turnwise.bus.base import Bus
from turnwise.bus.envelope import RunNotice
from turnwise.errors import BrokerUnavailableError
from turnwise.record.runs.journal import News
from turnwise.record.runs.records import RunRecord
from turnwise.serving.moves.moved import Moved
from turnwise.serving.observer import Observer

logger = logging.getLogger(__name__)


class _Notices(Observer):
    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    def _notify(self, run: RunRecord) -> None:
        try:
            self._bus.notify(RunNotice(run=run.id, seq=run.last_seq))
        except BrokerUnavailableError as error:
            extra = {"action": "notify_failed", "run": run.id}
            logger.warning("Watchers of %s were not told: %s", run.id, error, extra=extra)


class MoveNotices(_Notices):
    """Tells the gateways which event a run has come to by a move."""

    def run_moved(self, moved: Moved, seconds: float | None) -> None:
        """Send the number of the last event, if the move wrote one."""
        if moved.trace or moved.ended:
            self._notify(moved.run)


class CommitNotices(_Notices):
    """Tells the gateways of every event; for a gateway, whose watchers wait for what it has written itself."""

    def events_stored(self, run: RunRecord, news: Sequence[News]) -> None:
        """Send the number of the last event."""
        self._notify(run)
