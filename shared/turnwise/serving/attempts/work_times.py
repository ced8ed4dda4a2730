"""Times of one attempt at a claimed ask: its calls of models and handlers, and what it waited for meanwhile."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass

from turnwise.base.clock import SYSTEM_CLOCK, Clock
from turnwise.record.values.records import Json

# So many parts of an attempt are kept, the longest ones: a handler may call a model a thousand times.
MOST_PARTS = 32


@dataclass(slots=True)
class Part:
    """A call of a `model` or a `tool`, or a wait (for a `provider`, a `budget`, the `database`), from `at` on.

    Times are seconds since the attempt began, by this process's monotonic clock. `first` is when the first piece of the
    model's text came.
    """

    kind: str
    name: str
    at: float
    end: float | None = None
    first: float | None = None
    outcome: str | None = None

    def told(self, now: float) -> Json:
        """The part as it is kept; one that continues ends now."""
        end = now if self.end is None else self.end
        made: Json = {"kind": self.kind, "name": self.name, "at": _ms(self.at), "seconds": _ms(end - self.at)}
        if self.first is not None:
            made["first"] = _ms(self.first - self.at)
        outcome = self.outcome or ("cut" if self.end is None else None)
        return made if outcome is None else made | {"outcome": outcome}


class Work:
    """Takes the times of an attempt that begins now. Safe to use from many threads."""

    def __init__(self, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
        self._began = clock.monotonic()
        self._lock = threading.Lock()
        self._parts: list[Part] = []

    def begin(self, kind: str, name: str) -> Part:
        """A part that begins now."""
        part = Part(kind, name, self._now())
        with self._lock:
            self._parts.append(part)
        return part

    def end(self, part: Part, outcome: str | None = None) -> None:
        """The part ends now; `outcome` says how, unless it came to what it was for."""
        part.end, part.outcome = self._now(), outcome

    def since(self, part: Part) -> float:
        """Seconds since the part began."""
        return self._now() - part.at

    def hearing(self, watcher: Callable[[str], None]) -> Callable[[str], None]:
        """The watcher of a model's text, and the time of the first piece."""

        def heard(text: str) -> None:
            with self._lock:
                part = self._parts[-1] if self._parts else None
            if part is not None and part.first is None and part.kind == "model":
                part.first = self._now()
            watcher(text)

        return heard

    def told(self) -> Json:
        """All of it, for the record: where it was done, and its parts in order."""
        now = self._now()
        with self._lock:
            parts = [part.told(now) for part in self._parts]
        made: Json = {"host": _HOST, "pid": os.getpid(), "parts": parts}
        if len(parts) > MOST_PARTS:
            longest = sorted(parts, key=lambda part: -part["seconds"])[:MOST_PARTS]
            made |= {"parts": sorted(longest, key=lambda part: part["at"]), "left_out": len(parts) - MOST_PARTS}
        return made

    def _now(self) -> float:
        return self._clock.monotonic() - self._began


# Asked once: the system is asked anew each time, and every answer tells it.
_HOST = socket.gethostname()


def _ms(seconds: float) -> float:
    return round(max(0.0, seconds), 4)
