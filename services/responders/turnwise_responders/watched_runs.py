"""The runs that are watched now, as gateways announce them."""

from __future__ import annotations

import threading

from turnwise.base.clock import Clock
from turnwise.bus.envelope import Announcement, TextWatchNotice

# Seconds between two looks for what has expired: a look costs as much as there are runs.
_PURGE_SECONDS = 1.0
# No more are remembered. The text of another run is not streamed until some of these have expired.
_MOST = 100_000


class WatchedRuns:
    """Soft state: an announcement holds for its seconds, and gateways repeat it. Safe to use from many threads.

    A gateway that dies just stops announcing. Nothing of this is stored: an unwatched run costs one look into a dict.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # By run, the moment up to which each listener watches it.
        self._until: dict[str, dict[str, float]] = {}
        # The same for runs whose text is wanted of every model, by whichever listener.
        self._text_until: dict[str, float] = {}
        self._purge_at = 0.0

    def heard(self, notice: Announcement) -> None:
        """Take down an announcement; now and then, drop what has expired."""
        now = self._clock.monotonic()
        with self._lock:
            if now >= self._purge_at:
                self._until = {run: left for run, watching in self._until.items() if (left := _after(now, watching))}
                self._text_until = _after(now, self._text_until)
                self._purge_at = now + _PURGE_SECONDS
            for run in notice.runs:
                if run in self._until or len(self._until) < _MOST:
                    # A new dict each time: readers take no lock.
                    others = _after(now, self._until.get(run, {}))
                    self._until[run] = {**others, notice.listener: now + notice.seconds}
                    if isinstance(notice, TextWatchNotice):
                        self._text_until[run] = now + notice.seconds

    def listeners(self, run: str) -> tuple[str, ...]:
        """Addresses of the listeners that watch the run."""
        watching = self._until.get(run)
        if watching is None:
            return ()
        now = self._clock.monotonic()
        return tuple(listener for listener, until in watching.items() if until > now)

    def text_wanted(self, run: str) -> bool:
        """Return whether the run's text is wanted also of models whose settings leave open whether they stream."""
        until = self._text_until.get(run)
        return until is not None and until > self._clock.monotonic()


def _after(now: float, watching: dict[str, float]) -> dict[str, float]:
    return {listener: until for listener, until in watching.items() if until > now}
