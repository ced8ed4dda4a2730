"""Messages about runs that this database does not have: another installation uses the same broker."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from turnwise.base.clock import Clock
from turnwise.bus.envelope import PROBE_RUN
from turnwise.errors import DatabaseUnavailableError, UnwritableError

logger = logging.getLogger(__name__)

# Seconds between two look-ups of a run, and between two warnings.
_LOOK_SECONDS = 5.0
_TELL_SECONDS = 60.0


class ForeignMessages:
    """Told of messages that led to no work; a run that is not on record is told in the log.

    Both are done now and then only, because such messages are common: someone else was faster, or a run has ended.
    Safe to use from many threads.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._next_look = self._next_telling = clock.monotonic()

    def look(self, run_id: str, has_run: Callable[[str], bool]) -> None:
        """Look whether the run of such a message is on record, unless one was looked for just now."""
        now = self._clock.monotonic()
        if now < self._next_look or run_id == PROBE_RUN:
            return
        with self._lock:
            if now < self._next_look:
                return
            self._next_look = now + _LOOK_SECONDS
        try:
            known = has_run(run_id)
        except (DatabaseUnavailableError, UnwritableError):  # the latter: no database can have a run of that name
            return
        if not known:
            self.tell(run_id)

    def tell(self, run_id: str) -> None:
        """Say that the run of a message is not on record, unless that was said in the last minute."""
        with self._lock:
            now = self._clock.monotonic()
            if now < self._next_telling:
                return
            self._next_telling = now + _TELL_SECONDS
        logger.warning(
            "A message names the run %s, which this database does not have. Another installation may use the same "
            "broker; the two then take each other's messages, and runs wait. Give each database a virtual host of "
            "RabbitMQ, or a database of Redis, of its own (TURNWISE_BROKER_URL)",
            run_id,
            extra={"action": "foreign_message", "run": run_id},
        )
