"""The runs that are watched, as gateways announce them."""

from __future__ import annotations

import threading

from turnwise.base.clock import Clock
from turnwise.bus.base import Bus, Subscription
from turnwise.bus.envelope import Announcement, Notice
from turnwise.serving.observer import Observer

# Seconds between two looks for what has expired: a look costs as much as there are runs.
_PURGE_SECONDS = 1.0
# No more are remembered. Another run counts as unwatched until some of these have expired.
_MOST = 100_000


class Watches:
    """Soft state: an announcement holds for its seconds, and gateways repeat it. Safe to use from many threads.

    A gateway that dies just stops announcing. Nothing of this is stored: an unwatched run costs one look into a dict.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # By run, the moment up to which each listener watches it.
        self._until: dict[str, dict[str, float]] = {}
        self._purge_at = 0.0

    def heard(self, notice: Announcement) -> list[str]:
        """Take down an announcement; return those of its runs that its listener did not watch until now."""
        now, new = self._clock.monotonic(), []
        with self._lock:
            if now >= self._purge_at:
                self._until = {run: left for run, watching in self._until.items() if (left := _after(now, watching))}
                self._purge_at = now + _PURGE_SECONDS
            for run in notice.runs:
                if run in self._until or len(self._until) < _MOST:
                    # A new dict each time: readers take no lock.
                    others = _after(now, self._until.get(run, {}))
                    if notice.listener not in others:
                        new.append(run)
                    self._until[run] = {**others, notice.listener: now + notice.seconds}
        return new

    def listeners(self, run: str) -> tuple[str, ...]:
        """Addresses of the listeners that watch the run."""
        watching = self._until.get(run)
        if watching is None:
            return ()
        now = self._clock.monotonic()
        return tuple(listener for listener, until in watching.items() if until > now)


def hear_watches(bus: Bus, observers: Observer) -> Subscription:
    """Tell the observers of a process which runs are watched; workers hear it with what else they listen to."""

    def heard(notice: Notice) -> None:
        if isinstance(notice, Announcement):
            observers.watch_announced(notice)

    return bus.listen(heard, as_worker=True)


def _after(now: float, watching: dict[str, float]) -> dict[str, float]:
    return {listener: until for listener, until in watching.items() if until > now}
