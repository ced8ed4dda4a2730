"""Lines of cron in time zones, against a reading of the calendar minute by minute."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import cache
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from turnwise.errors import InvalidScheduleError
from turnwise.schedules.cron import CronLine

# A day on which clocks change: forward and back. Lord Howe changes by half an hour, Cairo and Beirut at midnight.
CHANGES = [
    ("Europe/Berlin", date(2026, 3, 29)),
    ("Europe/Berlin", date(2026, 10, 25)),
    ("Australia/Lord_Howe", date(2026, 10, 4)),
    ("Australia/Lord_Howe", date(2026, 4, 5)),
    ("Africa/Cairo", date(2026, 4, 24)),
    ("Africa/Cairo", date(2026, 10, 30)),
    ("Asia/Beirut", date(2026, 3, 29)),
    ("America/New_York", date(2026, 11, 1)),
    ("UTC", date(2026, 2, 28)),
]
_MINUTE = timedelta(minutes=1)


@cache
def _local_minutes(zone: ZoneInfo, day: date) -> list[tuple[float, datetime]]:
    """Every minute of two days before and after a day, with the wall clock in the zone."""
    begin = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(days=2)
    moments = [begin + no * _MINUTE for no in range(5 * 24 * 60)]
    return [(moment.timestamp(), moment.astimezone(zone)) for moment in moments]


def _times(line: str, zone: ZoneInfo, minutes: list[tuple[float, datetime]]) -> list[float]:
    first, last = minutes[0][0], minutes[-1][0]
    found: list[float] = []
    for at in CronLine(line).after(first - 1, zone):
        if at > last:
            break
        found.append(at)
    return found


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(CHANGES), st.integers(0, 23), st.integers(0, 59))
@example(("Europe/Berlin", date(2026, 3, 29)), 2, 30)
@example(("Europe/Berlin", date(2026, 10, 25)), 2, 30)
@example(("Australia/Lord_Howe", date(2026, 10, 4)), 2, 15)
@example(("Australia/Lord_Howe", date(2026, 4, 5)), 1, 45)
@example(("Africa/Cairo", date(2026, 4, 24)), 0, 0)
def test_a_fixed_time_comes_once_a_day_and_after_the_gap_where_the_clock_leaves_it_out(
    change: tuple[str, date], hour: int, minute: int
) -> None:
    zone, day = ZoneInfo(change[0]), change[1]
    minutes = _local_minutes(zone, day)
    expected: dict[date, float] = {}
    for at, wall in minutes:
        if (wall.hour, wall.minute) >= (hour, minute):
            expected.setdefault(wall.date(), at)

    found = _times(f"{minute} {hour} * * *", zone, minutes)

    # The first and the last day are there in part.
    assert [at for at in found if at in expected.values()] == found
    assert (
        list(expected.values())[1:-1] == [at for at in found if list(expected.values())[1] <= at][: len(expected) - 2]
    )


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(CHANGES), st.sampled_from([1, 5, 10, 15, 20, 30]), st.sampled_from(["*", "0-3", "*/6"]))
@example(("Australia/Lord_Howe", date(2026, 4, 5)), 30, "*")
@example(("Australia/Lord_Howe", date(2026, 10, 4)), 1, "*/6")
def test_a_line_with_a_star_goes_by_elapsed_time_through_both_changes(
    change: tuple[str, date], step: int, hours: str
) -> None:
    zone, day = ZoneInfo(change[0]), change[1]
    minutes = _local_minutes(zone, day)
    wanted = {"*": range(24), "0-3": range(4), "*/6": range(0, 24, 6)}[hours]

    found = _times(f"*/{step} {hours} * * *", zone, minutes)

    assert found == [at for at, wall in minutes if wall.minute % step == 0 and wall.hour in wanted]


def test_days_at_the_ends_of_months_and_leap_days_come_where_there_are_some() -> None:
    def days(line: str, count: int) -> list[str]:
        begin = datetime(2026, 1, 1, tzinfo=UTC).timestamp() - 1
        found = islice(CronLine(line).after(begin, ZoneInfo("UTC")), count)
        return [datetime.fromtimestamp(at, UTC).strftime("%y-%m-%d") for at in found]

    assert days("0 0 31 * *", 4) == ["26-01-31", "26-03-31", "26-05-31", "26-07-31"]
    assert days("0 0 L * *", 3) == ["26-01-31", "26-02-28", "26-03-31"]
    assert days("0 0 29 2 *", 2) == ["28-02-29", "32-02-29"]
    assert days("0 0 13 * FRI", 3) == ["26-01-02", "26-01-09", "26-01-13"]  # either of them, as cron has it
    assert days("@monthly", 2) == ["26-01-01", "26-02-01"]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("61 * * * *", "the minute field of the cron line '61 * * * *' is '61'; expected 0-59"),
        ("0 24 * * *", "the hour field"),
        ("0 0 0 * *", "the day-of-month field"),
        ("0 0 * JANUARY *", "the month field"),
        ("0 0 * * 8", "the day-of-week field"),
        ("0 0 32 2 *", "the day-of-month field"),
        ("0 0 31 2 *", "would never come: no month of '2' has the day '31'"),
        ("*/0 * * * *", "the minute field"),
        ("0 0 * *", "has to have 5 fields, minute hour day-of-month month day-of-week"),
        ("* * * * * *", "for seconds, use an interval"),
        ("", "has 0"),
        ("@reboot", "@daily"),
        ("1," * 200 + "1 * * * *", "longer than 200"),
    ],
)
def test_a_wrong_line_is_refused_with_the_field_at_fault(line: str, told: str) -> None:
    with pytest.raises(InvalidScheduleError) as refused:
        CronLine(line)

    assert told in str(refused.value)


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet="0123456789*/,-#LWSUNMON ", max_size=20))
def test_no_text_is_more_than_refused(text: str) -> None:
    try:
        line = CronLine(text)
    except InvalidScheduleError:
        return
    begin = 1_767_225_600.0
    found = list(islice(line.after(begin, ZoneInfo("Europe/Berlin")), 3))
    assert found == sorted(set(found))
    assert all(at > begin for at in found)
