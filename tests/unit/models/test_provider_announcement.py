"""The limits that are read out of the headers of an answer."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from tests.support.growth import grows_with_length

from turnwise.errors.rate_limits import Quota, RateLimits
from turnwise.models.limits.announcement import duration, rate_limits


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1.0),
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("2m59.56s", 179.56),
        ("1h0m0s", 3600.0),
        ("7", 7.0),
        ("0.5", 0.5),
        ("", None),
        ("soon", None),
        ("1s later", None),
        ("²", None),
        ("2h24m30s", 8_670.0),
        ("86400", 86_400.0),
        ("24h", 86_400.0),
        ("9999h", None),
        ("9" * 400, None),
    ],
)
def test_durations(text: str, seconds: float | None) -> None:
    assert duration(text) == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("1764345600", 0.0),
        ("1764345630", 30.0),
        ("1764345630.5", 30.5),
        ("1764345630500", 30.5),
        ("1764345599", 0.0),
        ("1764345599000", 0.0),
        ("1764432000", 86_400.0),
        ("1764432001", None),
        ("1764432001000", None),
        ("1764345630000000", None),
    ],
)
def test_a_time_of_day_is_the_seconds_until_then(
    monkeypatch: pytest.MonkeyPatch, told: str, seconds: float | None
) -> None:
    monkeypatch.setattr("time.time", lambda: 1_764_345_600.0)
    assert duration(told) == (None if seconds is None else pytest.approx(seconds))


def test_a_reset_that_cannot_be_meant_closes_no_provider() -> None:
    headers = {"limit": "60", "remaining": "0", "reset": "9999h"}
    told = rate_limits({f"x-ratelimit-{name}-requests": value for name, value in headers.items()})
    assert told == RateLimits(requests=Quota(limit=60, remaining=0, reset=0.0))


@pytest.mark.parametrize(("start", "piece"), [("x", "1"), ("", "1."), ("", "1m"), ("", "1s "), ("1.", "1")])
def test_a_hostile_duration_is_read_in_time_that_grows_with_its_length(start: str, piece: str) -> None:
    grows_with_length(duration, start, piece)


def test_an_announcement_is_read() -> None:
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-tokens": "6m0s",
    }
    assert rate_limits(headers) == RateLimits(
        requests=Quota(limit=60, remaining=59, reset=1.0), tokens=Quota(limit=150_000, remaining=149_984, reset=360.0)
    )


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-ratelimit-limit-tokens": "-1", "x-ratelimit-remaining-tokens": "-1", "x-ratelimit-reset-tokens": "0"},
        {"x-ratelimit-limit-requests": "many", "x-ratelimit-remaining-requests": "1"},
        {"x-ratelimit-remaining-requests": "1"},
        {"retry-after": "later"},
    ],
)
def test_what_announces_nothing_gives_none(headers: dict[str, str]) -> None:
    assert rate_limits(headers) is None


def test_what_is_left_is_never_less_than_nothing() -> None:
    told = rate_limits({"x-ratelimit-limit-requests": "5", "x-ratelimit-remaining-requests": "-2"})
    assert told == RateLimits(requests=Quota(limit=5, remaining=0, reset=0.0))


def test_a_wait_is_told_in_milliseconds_seconds_or_as_a_date() -> None:
    in_a_minute = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert rate_limits({"retry-after-ms": "1500", "retry-after": "2"}) == RateLimits(retry_after=1.5)
    assert rate_limits({"retry-after": "2"}) == RateLimits(retry_after=2.0)
    told = rate_limits({"retry-after": in_a_minute})
    assert told is not None and told.retry_after is not None and 50 < told.retry_after <= 60


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}, 86_400.0),
        ({"retry-after": "Fri, 31 Dec 9999 23:59:59 -0900"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "Sat, 28 Nov 2026 12:01:00 GMT", "date": "Sat, 28 Nov 2026 12:00:00 GMT"}, 60.0),
        ({"retry-after": "1764345600000"}, 86_400.0),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "Mon, 01 Jan 99999999999999999999 00:00:00 GMT"}, None),
        ({"retry-after": "Thu, 26 Nov 2026 18:30:00 +99999999999999999"}, None),
        ({"retry-after": "²"}, None),
        ({"retry-after-ms": "1e300"}, 86_400.0),
        ({"retry-after-ms": "inf"}, None),
        ({"retry-after-ms": "inf", "retry-after": "7"}, 7.0),
        ({"retry-after-ms": "nan", "retry-after": "7"}, 7.0),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7.0),
    ],
)
def test_a_wait_is_a_day_at_most(headers: dict[str, str], seconds: float | None) -> None:
    assert rate_limits(headers) == (None if seconds is None else RateLimits(retry_after=seconds))
