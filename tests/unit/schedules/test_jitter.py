"""Ticks that come later by chance: in their order, and each once."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from turnwise.schedules.catching_up import CatchUpPolicy, step
from turnwise.schedules.timing import MOST_JITTER, Timing

# A night in which the clocks of Berlin change.
_EVENING = 1_774_728_000.0
_LINES = ("* * * * *", "*/5 * * * *", "0,1,30 * * * *", "30 2 * * *", "0 */6 * * MON-FRI")


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(_LINES), st.floats(0, MOST_JITTER), st.text(max_size=8))
@example("* * * * *", 3_600.0, "sch_1")
def test_a_coordinator_that_is_on_time_misses_no_tick_however_long_the_jitter(
    line: str, jitter: float, salt: str
) -> None:
    timing = Timing(cron=line, timezone="Europe/Berlin", jitter=jitter)
    expected = timing.first_after(_EVENING, 50)

    happened: list[float] = []
    due: float | None = expected[0]
    while due is not None and len(happened) < len(expected):
        now = timing.fires_at(due, salt)
        found = step(timing, CatchUpPolicy(), salt, due, now)
        assert (found.missed, found.tick) == ((), due)
        happened.append(due)
        due = found.following

    assert happened == expected


@pytest.mark.parametrize(
    "timing",
    [
        Timing(every=300.0, jitter=300.0),
        Timing(cron="*/5 * * * *", jitter=300.0),
        Timing(cron="*/5 * * * *", jitter=3_600.0),
    ],
)
def test_a_tick_comes_before_the_next_one_is_due_and_anywhere_until_then(timing: Timing) -> None:
    due = timing.first_after(_EVENING, 200)
    late = [timing.fires_at(at, "sch_1") - at for at in due]

    assert all(at + more < following for (at, following), more in zip(pairwise(due), late, strict=False))
    assert (min(late) < 15, max(late) > 285) == (True, True)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(
        [Timing(cron=line, timezone="Europe/Berlin", jitter=jitter) for line in _LINES for jitter in (0, 900)]
        + [Timing(every=300.0, jitter=300.0, anchor=_EVENING - 50), Timing(at=_EVENING + 600, jitter=900.0)]
    ),
    st.floats(0, 7_200),
    st.text(max_size=8),
)
def test_the_next_tick_to_happen_may_be_due_already(timing: Timing, seconds: float, salt: str) -> None:
    now = _EVENING + seconds
    near = timing.first_after(_EVENING - 3_600, 200)

    expected = next((due for due in near if timing.fires_at(due, salt) > now), None)

    assert timing.next_to_happen(now, salt) == expected


def test_the_last_tick_may_be_late_by_all_of_the_jitter() -> None:
    timing = Timing(cron="*/5 * * * *", end_at=_EVENING + 300, jitter=3_600.0)
    once = Timing(at=_EVENING + 300, jitter=3_600.0)

    assert timing.next_after(_EVENING + 300) is None
    assert timing.fires_at(_EVENING + 300, "sch_1") == once.fires_at(_EVENING + 300, "sch_1") > _EVENING + 600
