"""Time within a process: how long something took, waiting, and the threads that wait.

Whatever serves runs takes these from a `Clock` (`store.clock`), never from `time` or `threading`, so that a simulated
process lives in simulated time. What time of day it is, only the database says.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol


class Event(Protocol):
    """A flag that can be waited for; `threading.Event` is one."""

    def set(self) -> None:
        """Raise the flag, and wake all who wait."""
        ...

    def clear(self) -> None:
        """Lower it again."""
        ...

    def is_set(self) -> bool:
        """Return whether it is raised."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is raised, at most `timeout` seconds, and return whether it is."""
        ...


class Thread(Protocol):
    """Work in the background; `threading.Thread` is one."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end, at most `timeout` seconds."""
        ...

    def is_alive(self) -> bool:
        """Return whether it has begun and not ended."""
        ...


class Clock(Protocol):
    """The time of one process."""

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait that long. To be woken before, wait for an `event`."""
        ...

    def event(self) -> Event:
        """A new flag, to be waited for in this clock's time."""
        ...

    def start(self, name: str, work: Callable[[], None]) -> Thread:
        """Run `work` on a daemon thread that may wait in this clock's time."""
        ...


class SystemClock:
    """The machine's own time, and its own threads."""

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def event(self) -> Event:
        return threading.Event()

    def start(self, name: str, work: Callable[[], None]) -> Thread:
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread


SYSTEM_CLOCK = SystemClock()
