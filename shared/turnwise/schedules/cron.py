"""Lines of cron in time zones; the only module that imports cronsim.

Daylight-saving time as Debian's cron has it. A line with a fixed hour and minute comes once a day: a time that the
clock leaves out comes right after the gap, and one that it shows twice comes the first time. A line with `*` in the
hour or the minute goes by elapsed time, so `*/15 * * * *` comes every quarter of an hour through both changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import ceil
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from turnwise.errors import InvalidScheduleError

_NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
# The fields in their order, with what each may hold, by the names that cronsim's errors have.
_FIELDS = {
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, or L for the last day",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT, where 0 and 7 are Sunday",
}
_MEANT = "minute hour day-of-month month day-of-week, for instance 0 3 * * MON-FRI"
LONGEST = 200
# Seconds within which no zone changes its clocks twice.
_STEADY = 5 * 86_400.0


@dataclass(frozen=True)
class CronLine:
    """Five fields, or a nickname such as `@daily`; raises `InvalidScheduleError` that names the field at fault."""

    text: str

    def __post_init__(self) -> None:
        fields = self.line.split()
        if len(self.text) > LONGEST or len(fields) != len(_FIELDS):
            found = f"it is longer than {LONGEST} characters" if len(self.text) > LONGEST else f"has {len(fields)}"
            hint = "; for seconds, use an interval" if len(fields) == 6 else ""
            known = ", ".join(_NICKNAMES)
            raise InvalidScheduleError(
                f"the cron line {self.text[:LONGEST]!r} has to have 5 fields, {_MEANT}, or be one of {known}; "
                f"{found}{hint}"
            )
        try:
            CronSim(self.line, datetime(2000, 1, 1, tzinfo=UTC))
        except CronSimError as error:
            raise self._fault(str(error).removeprefix("Bad "), fields) from error

    @cached_property
    def line(self) -> str:
        """The five fields, also of a nickname."""
        return _NICKNAMES.get(self.text.strip().lower(), self.text)

    def after(self, at: float, zone: ZoneInfo) -> Iterator[float]:
        """Yield the times after `at`, in seconds since the epoch; none if there is none for 50 years."""
        minute, hour = self.line.split()[:2]
        times = self._elapsing if minute.startswith("*") or hour.startswith("*") else self._fixed
        return times(at, zone)

    def _fixed(self, at: float, zone: ZoneInfo) -> Iterator[float]:
        last = at
        for time in CronSim(self.line, datetime.fromtimestamp(at, UTC).astimezone(zone)):
            # By the wall clock an hour comes twice in autumn, and what falls into a gap is moved behind it.
            found = time.astimezone(UTC).timestamp()
            if found > last:
                last = found
                yield found

    def _elapsing(self, at: float, zone: ZoneInfo) -> Iterator[float]:
        """As the wall clock runs from one change of the zone's offset to the next.

        cronsim adds whole hours in a zone, which misses times where a clock changes by half an hour (Lord Howe).
        """
        offset, change = _offset(zone, at), None
        while True:
            wall = datetime.fromtimestamp(at + offset, UTC).replace(tzinfo=None)
            for time in CronSim(self.line, wall):
                found = time.replace(tzinfo=UTC).timestamp() - offset
                change = _change(zone, offset, at, found)
                if change is not None:
                    break
                at = found
                yield found
            if change is None:
                return
            at, offset = change - 1, _offset(zone, change)

    def _fault(self, name: str, fields: list[str]) -> InvalidScheduleError:
        if name not in _FIELDS:
            return InvalidScheduleError(f"the cron line {self.text!r} is not valid: {name}; expected {_MEANT}")
        found = fields[list(_FIELDS).index(name)]
        if name == "day-of-month" and _is_valid([*fields[:3], "*", fields[4]]):
            return InvalidScheduleError(
                f"the cron line {self.text!r} would never come: no month of {fields[3]!r} has the day {found!r}"
            )
        return InvalidScheduleError(
            f"the {name} field of the cron line {self.text!r} is {found!r}; expected {_FIELDS[name]}, with lists 1,2, "
            "ranges 1-5 and steps */2"
        )


def _is_valid(fields: list[str]) -> bool:
    try:
        CronSim(" ".join(fields), datetime(2000, 1, 1, tzinfo=UTC))
    except CronSimError:
        return False
    return True


def _offset(zone: ZoneInfo, at: float) -> float:
    """How many seconds the wall clock is ahead of UTC."""
    return (datetime.fromtimestamp(at, zone).utcoffset() or timedelta()).total_seconds()


def _change(zone: ZoneInfo, offset: float, begin: float, end: float) -> float | None:
    """The first second behind `begin` up to `end` with another offset; None if there is none."""
    while begin < end:
        later = min(begin + _STEADY, end)
        if _offset(zone, later) != offset:
            early, late = int(begin), ceil(later)
            while late - early > 1:
                middle = (early + late) // 2
                early, late = (middle, late) if _offset(zone, middle) == offset else (early, middle)
            return float(late)
        begin = later
    return None
