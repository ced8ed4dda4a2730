"""The times of a schedule: a line of cron, an interval, or one moment."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from math import floor
from types import UnionType
from zoneinfo import ZoneInfo

from turnwise.errors import InvalidScheduleError
from turnwise.schedules.cron import CronLine

# A second: what is due more often is no schedule. A year: what is rarer is a mistake in the unit.
SHORTEST, LONGEST = 1.0, 366 * 86_400.0
# No tick is due later: calendars end with the year 9999, and counting up to there takes long.
LAST_YEAR = 2199
LATEST = datetime(LAST_YEAR + 1, 1, 1, tzinfo=UTC).timestamp()
MOST_JITTER = 86_400.0
# Of the fields that are taken as they were written; moments are made by `seconds_of`.
_TYPES: tuple[tuple[str, UnionType | type, str], ...] = (
    ("cron", str | None, "a text"),
    ("timezone", str, "a text"),
    ("jitter", int | float, "a number of seconds"),
    ("every", int | float | None, "a number of seconds, or a timedelta"),
)


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Exactly one of `cron`, `every` (seconds) and `at`; raises `InvalidScheduleError`.

    Moments are seconds since the epoch. Ticks lie from `start_at` to `end_at`, both included, and before `LATEST`. An
    interval counts from `start_at`, or from `anchor`, when the schedule was made. Each tick is later than it is due by
    up to `jitter` seconds, by chance, but always the same for the same tick, and never as late as the next one is due.
    """

    cron: str | None = None
    every: float | None = None
    at: float | None = None
    timezone: str = "UTC"
    start_at: float | None = None
    end_at: float | None = None
    jitter: float = 0.0
    anchor: float = 0.0

    def __post_init__(self) -> None:
        self._check_types()
        given = [name for name in ("cron", "every", "at") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise InvalidScheduleError(f"a schedule has one of cron, every and at; found {found}")
        _ = self._line, self.zone
        if self.every is not None and not SHORTEST <= self.every <= LONGEST:
            raise InvalidScheduleError(
                f"every is {self.every:g} seconds; expected {SHORTEST:g} to {LONGEST:.0f}, which is 366 days"
            )
        most = min(MOST_JITTER, self.every or MOST_JITTER)
        if not 0 <= self.jitter <= most:
            raise InvalidScheduleError(f"jitter is {self.jitter:g} seconds; expected 0 to {most:g}")
        if self.start_at is not None and self.end_at is not None and self.end_at < self.start_at:
            raise InvalidScheduleError("end_at is before start_at, so the schedule has no ticks")

    def _check_types(self) -> None:
        """Raise for a value of another kind, which code may declare; a bool is no number."""
        for name, kind, expected in _TYPES:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, kind):
                raise InvalidScheduleError(f"{name} is {value!r}; expected {expected}")

    @cached_property
    def zone(self) -> ZoneInfo:
        """The time zone."""
        try:
            return ZoneInfo(self.timezone)
        except (LookupError, ValueError, OSError) as error:  # OSError: a name of a folder
            raise InvalidScheduleError(
                f"the time zone {self.timezone[:100]!r} is not known; expected a name of the IANA database, for "
                "instance Europe/Berlin or UTC"
            ) from error

    @cached_property
    def _line(self) -> CronLine | None:
        return None if self.cron is None else CronLine(self.cron)

    def after(self, moment: float) -> Iterator[float]:
        """Yield when ticks are due after `moment`, in their order."""
        if self.start_at is not None:
            moment = max(moment, self.start_at - 1e-3)
        if moment >= LATEST:
            return
        for due in self._times(moment):
            if due >= LATEST:
                return
            if self.end_at is not None and due > self.end_at:
                return
            if self.start_at is None or due >= self.start_at:
                yield due

    def next_after(self, moment: float) -> float | None:
        """Return when the first tick after `moment` is due; None if there is none."""
        return next(self.after(moment), None)

    def next_to_happen(self, moment: float, salt: str) -> float | None:
        """Return when the first tick that happens after `moment` is due, which may be before; None if there is none."""
        begun: float | None = None
        following: float | None = None
        for due in self.after(moment - self.jitter):
            if due > moment:
                following = due
                break
            begun = due  # the one before has happened: no tick is as late as the next one is due
        return begun if begun is not None and self.fires_at(begun, salt) > moment else following

    def first_after(self, moment: float, count: int) -> list[float]:
        """Return the first `count` ticks after `moment`."""
        return list(islice(self.after(moment), count))

    def fires_at(self, due: float, salt: str) -> float:
        """Return when the tick that is due then is to happen; `salt` tells the schedule's jitter from another's."""
        if not self.jitter:
            return due
        # A tick that comes after the next one is due would count as missed.
        following = self.next_after(due)
        most = self.jitter if following is None else min(self.jitter, following - due)
        digest = hashlib.sha256(f"{salt} {due!r}".encode()).digest()
        return due + most * int.from_bytes(digest[:6], "big") / 2**48

    def _times(self, moment: float) -> Iterator[float]:
        if self._line is not None:
            yield from self._line.after(moment, self.zone)
        elif self.every is not None:
            begin = self.anchor if self.start_at is None else self.start_at
            no = max(0, floor((moment - begin) / self.every))
            while True:
                due = begin + no * self.every
                if due > moment and no + (self.start_at is not None) > 0:
                    yield due
                no += 1
        elif self.at is not None and self.at > moment:
            yield self.at


def require_ticks(timing: Timing, now: float) -> float:
    """Return when the first tick is due; raises `InvalidScheduleError` if there is none after `now`."""
    first = timing.next_after(now)
    if first is None:
        if timing.at is not None:
            raise InvalidScheduleError("the one time of the schedule is in the past, or not between start and end")
        until = " until its end" if timing.end_at is not None else ""
        raise InvalidScheduleError(f"the schedule has no tick{until}: {timing.cron or timing.every} never comes")
    return first


def shown(at: float) -> str:
    """Seconds since the epoch as RFC 3339 in UTC."""
    text = datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds" if at == int(at) else "microseconds")
    return text.replace("+00:00", "Z")
