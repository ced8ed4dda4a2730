"""Times that calendars do not have, and those that no schedule means."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from turnwise.base.times import when
from turnwise.errors import InvalidScheduleError
from turnwise.schedules.declared import seconds_of
from turnwise.schedules.timing import LATEST, Timing, require_ticks

_DAY = 86_400.0
_NEW_YEAR_S_EVE = datetime(9999, 12, 31, 23, 59, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("times", [{"every": 366 * _DAY}, {"cron": "0 0 1 1 *"}, {"cron": "*/5 * * * *"}])
def test_no_tick_is_due_after_the_last_year(times: dict[str, object]) -> None:
    ending = Timing(**times, start_at=LATEST - _DAY)  # type: ignore[arg-type]
    far = Timing(**times, start_at=_NEW_YEAR_S_EVE)  # type: ignore[arg-type]

    assert all(due < LATEST for due in ending.after(0.0))
    assert list(far.after(0.0)) == []
    assert far.first_after(_NEW_YEAR_S_EVE, 5) == []
    with pytest.raises(InvalidScheduleError, match="the schedule has no tick"):
        require_ticks(far, 0.0)


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2200, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-14))),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(1, 1, 1),
    ],
)
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
def test_a_schedule_has_no_time_that_cannot_be_meant(moment: datetime, zone: str) -> None:
    with pytest.raises(InvalidScheduleError, match=r"start_at is .*; expected a time in the years 1900 to 2199$"):
        seconds_of(moment, zone, "start_at")
    with pytest.raises(InvalidScheduleError, match="leave it out for a schedule without an end"):
        seconds_of(moment, zone, "end_at")


def test_times_outside_of_the_calendar_are_shown_as_the_nearest_there_is() -> None:
    assert when(datetime.max.replace(tzinfo=UTC).timestamp()) == datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    assert when(-1e12) == datetime(1, 1, 1, tzinfo=UTC)
    assert when(0.25) == datetime(1970, 1, 1, 0, 0, 0, 250_000, tzinfo=UTC)
