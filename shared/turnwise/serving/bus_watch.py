"""The check that the broker still delivers to this process: a process may live, beat, and hear nothing."""

from __future__ import annotations

import logging
import threading

from turnwise.base.clock import Clock

logger = logging.getLogger(__name__)


class BusWatch:
    """Told of each message that comes, and of work that was found although none came.

    It is deaf once such work was found twice, `seconds` apart, and nothing was heard in between nor in the `seconds`
    before; until it hears something again. Safe to use from many threads.
    """

    def __init__(self, clock: Clock, seconds: float) -> None:
        self.seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._heard_at = clock.monotonic()
        self._missed_at: float | None = None
        self._deaf_at: float | None = None

    def heard(self) -> None:
        """A message came."""
        with self._lock:
            was_deaf = self._deaf_at is not None
            self._heard_at = self._clock.monotonic()
            self._missed_at = self._deaf_at = None
        if was_deaf:
            logger.warning("The broker brings messages again", extra={"action": "hearing_again"})

    def rest(self) -> None:
        """Nothing is expected for now; silence counts from here on."""
        with self._lock:
            self._heard_at = self._clock.monotonic()
            self._missed_at = self._deaf_at = None

    def missed(self) -> None:
        """Work was found of which a message should have told by now."""
        with self._lock:
            now = self._clock.monotonic()
            if now - self._heard_at < self.seconds or self._deaf_at is not None:
                return
            if self._missed_at is None:
                self._missed_at = now
            if now - self._missed_at < self.seconds:
                return
            self._deaf_at = now
        logger.error("%s", self.told(), extra={"action": "deaf"})

    def silent(self) -> bool:
        """Return whether nothing came for `seconds`; that may be because there was nothing to tell."""
        return self._clock.monotonic() - self._heard_at >= self.seconds

    def deaf_for(self) -> float | None:
        """Seconds since it is known to be deaf; None if it is not."""
        with self._lock:
            return None if self._deaf_at is None else self._clock.monotonic() - self._deaf_at

    def told(self) -> str:
        """Return what is wrong, for those who look after it."""
        silence = self._clock.monotonic() - self._heard_at
        return (
            f"deaf: there is work for this process, but the broker has brought nothing for {silence:.0f} s; it looks "
            "into the database by itself meanwhile. Is the broker away? If not, restart this process"
        )
