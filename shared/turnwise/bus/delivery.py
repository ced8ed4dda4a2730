"""Hands notices to a callback on a thread of its own, so that whoever receives them is never held up."""

from __future__ import annotations

import logging
import threading
from collections import deque

from turnwise.bus.base import OnNotice
from turnwise.bus.envelope import Notice

logger = logging.getLogger(__name__)

# Notices kept for a callback that is slower than what comes in; the oldest go first, as with a broker.
_BACKLOG = 10_000


class Delivery:
    """A bounded queue of notices and the thread that empties it, in order."""

    def __init__(self, callback: OnNotice) -> None:
        self._callback = callback
        self._changed = threading.Condition()
        self._notices: deque[Notice] = deque(maxlen=_BACKLOG)
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="turnwise-notices", daemon=True)
        self._thread.start()

    def put(self, notice: Notice) -> None:
        """Queue the notice; returns at once."""
        with self._changed:
            self._notices.append(notice)
            self._changed.notify()

    def hand_over(self, notice: Notice) -> None:
        """Call the callback with the notice now, on this thread, whatever is queued; returns when it has it."""
        try:
            self._callback(notice)
        except Exception:
            logger.exception("A listener failed on a notice", extra={"action": "listener_failed"})

    def close(self) -> None:
        """End without what is still queued: no one needs it then. Returns when the callback runs no more."""
        with self._changed:
            self._closed = True
            self._notices.clear()
            self._changed.notify()
        if self._thread is not threading.current_thread():
            self._thread.join()

    def _next(self) -> Notice | None:
        with self._changed:
            while not self._notices and not self._closed:
                self._changed.wait()
            return self._notices.popleft() if self._notices else None

    def _run(self) -> None:
        while (notice := self._next()) is not None:
            self.hand_over(notice)
