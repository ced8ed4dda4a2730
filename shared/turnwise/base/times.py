"""Times as the record has them, in seconds since 1970, as dates."""

from __future__ import annotations

from datetime import UTC, datetime

# The first and the last second that a `datetime` can hold, in UTC.
_FIRST_SECOND = datetime.min.replace(tzinfo=UTC).timestamp()
_LAST_SECOND = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()


def when(at: float) -> datetime:
    """Seconds since the epoch as a time; the nearest that there is for one outside the years 1 to 9999."""
    # A time near the end of 9999 may lie behind it in UTC, or once it is rounded to a float.
    return datetime.fromtimestamp(min(max(at, _FIRST_SECOND), _LAST_SECOND), UTC)


def rfc3339(at: float, timespec: str = "auto") -> str:
    """Seconds since the epoch as text, to the part of a second that `timespec` says, as in `datetime.isoformat`."""
    return when(at).isoformat(timespec=timespec).replace("+00:00", "Z")


def when_known(at: float | None) -> datetime | None:
    """Seconds since the epoch as a time, if they are known."""
    return None if at is None else when(at)
