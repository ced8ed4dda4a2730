"""Messages about runs of another database are told in the log, now and then."""

from __future__ import annotations

import pytest

from turnwise.base.clock import SystemClock
from turnwise.bus.envelope import PROBE_RUN
from turnwise.errors import DatabaseUnavailableError
from turnwise.serving.foreign_messages import ForeignMessages


class Hands(SystemClock):
    """A clock that a test moves."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


class Runs:
    """The runs of a database, and for which of them it was asked."""

    def __init__(self, *there: str) -> None:
        self.there = there
        self.asked: list[str] = []

    def has(self, run_id: str) -> bool:
        self.asked.append(run_id)
        return run_id in self.there


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.run for record in caplog.records if getattr(record, "action", "") == "foreign_message"]  # type: ignore[attr-defined]


def test_a_run_that_is_not_on_record_is_told_once_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock, runs = Hands(), Runs("mine")
    messages = ForeignMessages(clock)
    messages.look("theirs", runs.has)
    assert told(caplog) == ["theirs"]
    assert "TURNWISE_BROKER_URL" in caplog.text

    clock.now += 59
    messages.look("more", runs.has)
    messages.tell("more")
    assert told(caplog) == ["theirs"]

    clock.now += 6
    messages.look("again", runs.has)
    assert told(caplog) == ["theirs", "again"]


def test_a_run_on_record_and_a_probe_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    clock, runs = Hands(), Runs("mine")
    messages = ForeignMessages(clock)
    messages.look(PROBE_RUN, runs.has)
    messages.look("mine", runs.has)
    assert runs.asked == ["mine"]
    assert told(caplog) == []


def test_looks_are_rare(caplog: pytest.LogCaptureFixture) -> None:
    clock, runs = Hands(), Runs("mine")
    messages = ForeignMessages(clock)
    for _ in range(1_000):
        messages.look("mine", runs.has)
        clock.now += 0.01
    assert len(runs.asked) == 2


def test_a_database_that_is_away_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def away(_run_id: str) -> bool:
        raise DatabaseUnavailableError("away")

    ForeignMessages(Hands()).look("theirs", away)
    assert told(caplog) == []
