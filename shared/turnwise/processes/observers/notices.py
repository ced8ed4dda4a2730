"""Notices to those who watch a run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence

from turnwise.base.clock import Clock
from turnwise.bus.base import Bus
from turnwise.bus.envelope import Announcement, RunNotice
from turnwise.errors import BrokerUnavailableError
from turnwise.record.transaction.journal import News
from turnwise.record.values.records import RunRecord
from turnwise.serving.observer import Observer
from turnwise.serving.watches import Watches

logger = logging.getLogger(__name__)

# Seconds for which an event is told to a listener that announces only afterwards that it watches the run. Longer than
# an announcement holds, so that one which got lost delays no event beyond the next.
_RECENT = 10.0


class RunNotices(Observer):
    """Tells the gateways that watch a run of each event that this process writes; an unwatched run costs no message.

    A watcher announces itself first and reads the record then. An event that is committed between its look and the
    arrival of the announcement here is told when that arrives.
    """

    def __init__(self, bus: Bus, clock: Clock) -> None:
        self._bus = bus
        self._clock = clock
        self._watches = Watches(clock)
        self._lock = threading.Lock()
        # By run, the number of its last event and the moment when it was written; the oldest first.
        self._recent: dict[str, tuple[int, float]] = {}

    def events_stored(self, run: RunRecord, news: Sequence[News]) -> None:
        """Tell those who watch the run the number of its last event."""
        # Before the look at who watches: whoever announces itself meanwhile finds the event here.
        self._remember(run)
        for listener in self._watches.listeners(run.id):
            self._tell(listener, run.id, run.last_seq)

    def watch_announced(self, notice: Announcement) -> None:
        """Take down who watches, and tell new watchers of what happened just now."""
        oldest = self._clock.monotonic() - _RECENT
        for run in self._watches.heard(notice):
            seq, at = self._recent.get(run, (0, oldest))
            if at > oldest:
                self._tell(notice.listener, run, seq)

    def _remember(self, run: RunRecord) -> None:
        now, recent = self._clock.monotonic(), self._recent
        with self._lock:
            recent.pop(run.id, None)
            recent[run.id] = (run.last_seq, now)
            while recent[oldest := next(iter(recent))][1] <= now - _RECENT:
                del recent[oldest]

    def _tell(self, listener: str, run: str, seq: int) -> None:
        try:
            self._bus.tell(listener, RunNotice(run=run, seq=seq))
        except BrokerUnavailableError as error:
            extra = {"action": "notify_failed", "run": run}
            logger.warning("Watchers of %s were not told: %s", run, error, extra=extra)
