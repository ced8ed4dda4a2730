"""A provider's announcement of its limits in the headers of an answer."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import suppress

from turnwise.base.retry_after import bounded, seconds_asked
from turnwise.errors.rate_limits import Quota, RateLimits

# Seconds of a day, further away than which no window of a provider ends, and the first number that can only be
# milliseconds since the epoch: in seconds it is a time after the year 5000.
_DAY, _MILLISECONDS = 86_400.0, 1e11
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 0.000001, "µs": 0.000001}
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|us|µs|s)")
# To search a long number without a unit for parts takes time that grows with the square of its length.
_PARTS = re.compile(rf"(?:{_PART.pattern})+")


def rate_limits(headers: Mapping[str, str]) -> RateLimits | None:
    """Return what the headers of an answer announce; None if nothing, which is how most servers of one's own answer."""
    requests, tokens = _quota(headers, "requests"), _quota(headers, "tokens")
    retry_after = _retry_after(headers)
    if requests is None and tokens is None and retry_after is None:
        return None
    return RateLimits(requests=requests, tokens=tokens, retry_after=retry_after)


def duration(text: str) -> float | None:
    """Seconds in `6m0s`, `1s`, `20ms` or a bare number of seconds; None for anything else, and for more than a day.

    A bare number above a day is a time, in seconds or milliseconds since the epoch, as several gateways tell it.
    """
    text = text.strip()
    if text.replace(".", "", 1).isdecimal():
        seconds = float(text)
        if seconds > _DAY:
            seconds = (seconds / 1000 if seconds >= _MILLISECONDS else seconds) - time.time()
    elif _PARTS.fullmatch(text) is not None:
        seconds = sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(text))
    else:
        return None
    return bounded(seconds) if seconds <= _DAY else None


def _quota(headers: Mapping[str, str], of: str) -> Quota | None:
    limit, remaining = headers.get(f"x-ratelimit-limit-{of}"), headers.get(f"x-ratelimit-remaining-{of}")
    if limit is None or remaining is None:
        return None
    try:
        most, left = int(limit), int(remaining)
    except ValueError:
        return None
    if most <= 0:  # some deployments announce -1 where they count nothing
        return None
    reset = duration(headers.get(f"x-ratelimit-reset-{of}", ""))
    return Quota(limit=most, remaining=min(max(left, 0), most), reset=reset or 0.0)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after` (seconds or an HTTP date), where told."""
    with suppress(ValueError):
        if (asked := bounded(float(headers.get("retry-after-ms", "")) / 1000)) is not None:
            return asked
    return seconds_asked(headers.get("retry-after", ""), headers.get("date", ""))
