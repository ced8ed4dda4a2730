"""Calls something when its time has come, on a thread that lives while there is something to watch for."""

from __future__ import annotations

import heapq
import itertools
import logging
import os
import threading
from collections.abc import Callable
from weakref import WeakKeyDictionary

from turnwise.base.clock import Clock

logger = logging.getLogger(__name__)

# Seconds without a deadline after which the thread ends; the next deadline starts another.
_IDLE = 5.0
_PURGE = 64


class DueCall:
    """Something that is called at `due`, unless it is withdrawn before."""

    __slots__ = ("call", "due")

    def __init__(self, due: float, call: Callable[[], object]) -> None:
        self.due = due
        self.call: Callable[[], object] | None = call

    def withdraw(self) -> None:
        """Stop calling; a call in progress is not waited for."""
        self.call = None


class DeadlineWatch:
    """The deadlines of one clock in this process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._heap: list[tuple[float, int, DueCall]] = []
        self._numbers = itertools.count()
        self._woken = clock.event()
        self._running = False
        self._purge_at = _PURGE

    @staticmethod
    def of(clock: Clock) -> DeadlineWatch:
        """The one of that clock; a forked child begins with a fresh one."""
        watches = _watches.setdefault(os.getpid(), WeakKeyDictionary())
        watch = watches.get(clock)
        return watch if watch is not None else watches.setdefault(clock, DeadlineWatch(clock))

    def add(self, due: float, call: Callable[[], object]) -> DueCall:
        """Call `call` at `due` of the clock; it has to be quick."""
        entry = DueCall(due, call)
        with self._lock:
            if len(self._heap) >= self._purge_at:
                self._purge()
            heapq.heappush(self._heap, (due, next(self._numbers), entry))
            if not self._running:
                self._running = True
                self._clock.start("turnwise-deadlines", self._work)
            elif self._heap[0][2] is entry:
                self._woken.set()
        return entry

    def _purge(self) -> None:
        """Let go of what was withdrawn, which may have been due in days."""
        self._heap = [item for item in self._heap if item[2].call is not None]
        heapq.heapify(self._heap)
        self._purge_at = max(_PURGE, 2 * len(self._heap))

    def _work(self) -> None:
        idle_since: float | None = None
        while True:
            with self._lock:
                due = self._due_now()
                now = self._clock.monotonic()
                idle_since = (idle_since or now) if not self._heap else None
                if idle_since is not None and now - idle_since >= _IDLE:
                    self._running = False
                    return
                wait = _IDLE if idle_since is not None else self._heap[0][0] - now
            for entry in due:
                _call(entry)
            if not due:
                self._woken.wait(wait)
                self._woken.clear()

    def _due_now(self) -> list[DueCall]:
        """Take out what is due, and what was withdrawn before it."""
        due = []
        now = self._clock.monotonic()
        while self._heap and (self._heap[0][2].call is None or self._heap[0][0] <= now):
            due.append(heapq.heappop(self._heap)[2])
        return due


def _call(entry: DueCall) -> None:
    call = entry.call
    if call is None:
        return
    try:
        call()
    except Exception:
        logger.exception("What was due failed", extra={"action": "deadline_failed"})


# By process, because a fork copies the watch but not its thread.
_watches: dict[int, WeakKeyDictionary[Clock, DeadlineWatch]] = {}
