"""The wait that an HTTP server asks for with `Retry-After` (RFC 9110, 10.2.3)."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

# Seconds that are believed at most: what lies further away is a mistake, such as a time in place of a duration.
_LONGEST = 86_400.0


def seconds_asked(value: str, date: str, longest: float = _LONGEST) -> float | None:
    """The seconds in `value`, a number or a date of HTTP, from 0 to `longest` (a day); None where it is neither.

    A date counts from `date`, the answer's own, which is of the same clock; where that is none, from now.
    """
    value = value.strip()
    if value.replace(".", "", 1).isdecimal():
        return bounded(float(value), longest)
    later = _date(value)
    return None if later is None else bounded((later - (_date(date) or datetime.now(UTC))).total_seconds(), longest)


def bounded(seconds: float, longest: float = _LONGEST) -> float | None:
    """Return the seconds, from 0 to `longest` (a day); None for a number that is not finite."""
    return min(max(seconds, 0.0), longest) if math.isfinite(seconds) else None


def _date(text: str) -> datetime | None:
    """A date of HTTP; None for another text, or one with an absurd year or offset."""
    try:
        found = parsedate_to_datetime(text)
        return found.replace(tzinfo=found.tzinfo or UTC).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
