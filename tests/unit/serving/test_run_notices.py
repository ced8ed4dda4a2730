"""Who is told of a run's events, and when: the gateways that watch it, and no one else."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from turnwise.base.clock import SystemClock
from turnwise.bus.envelope import Announcement, Notice, RunNotice, RunWatchNotice, TextWatchNotice, WatchNotice
from turnwise.bus.in_process import InProcessBus
from turnwise.errors import BrokerUnavailableError
from turnwise.processes.observers.notices import RunNotices


class Later(SystemClock):
    """The machine's clock, set forward as a test likes."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


class Told(InProcessBus):
    """Keeps what it is to tell to whom."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[tuple[str, str, int]] = []
        self.away = False

    def tell(self, listener: str, notice: Notice) -> None:
        if self.away:
            raise BrokerUnavailableError("away")
        assert isinstance(notice, RunNotice)
        self.told.append((listener, notice.run, notice.seq))

    def notify(self, notice: Notice) -> None:
        raise AssertionError("no event is told to everyone")


class Process:
    """A process that writes events."""

    def __init__(self) -> None:
        self.clock, self.bus = Later(), Told()
        self.notices = RunNotices(self.bus, self.clock)

    def writes(self, run: str, seq: int) -> None:
        stored: Any = SimpleNamespace(id=run, last_seq=seq)
        self.notices.events_stored(stored, [])

    def hears(self, *runs: str, of: str = "g1", kind: type[Any] = RunWatchNotice) -> None:
        notice: Announcement = kind(listener=of, runs=list(runs), seconds=7)
        self.notices.watch_announced(notice)

    def told(self) -> list[tuple[str, str, int]]:
        told, self.bus.told = self.bus.told, []
        return told


@pytest.fixture
def process() -> Process:
    return Process()


def test_a_run_that_no_one_watches_costs_no_message(process: Process) -> None:
    process.hears("run_2")
    process.writes("run_1", 1)
    process.writes("run_1", 2)
    assert process.told() == []


@pytest.mark.parametrize("kind", [RunWatchNotice, WatchNotice, TextWatchNotice])
def test_each_gateway_that_watches_is_told_of_each_event(process: Process, kind: type[Any]) -> None:
    process.hears("run_1", kind=kind)
    process.hears("run_1", of="g2")
    process.writes("run_1", 5)
    process.writes("run_1", 6)
    assert process.told() == [("g1", "run_1", 5), ("g2", "run_1", 5), ("g1", "run_1", 6), ("g2", "run_1", 6)]


def test_a_watcher_whose_announcement_comes_after_the_event_is_told_then_and_once(process: Process) -> None:
    process.hears("run_1", of="g1")
    process.writes("run_1", 1)
    process.writes("run_1", 2)
    process.told()
    process.hears("run_1", "run_2", of="g2")
    process.hears("run_1", of="g2")
    process.hears("run_1", of="g1")
    assert process.told() == [("g2", "run_1", 2)]


def test_a_watcher_whose_announcements_were_lost_is_told_with_the_next(process: Process) -> None:
    process.hears("run_1")
    process.clock.now += 7
    process.writes("run_1", 1)
    assert process.told() == []
    process.clock.now += 2
    process.hears("run_1")
    assert process.told() == [("g1", "run_1", 1)]


def test_events_of_long_ago_are_forgotten(process: Process) -> None:
    process.writes("run_1", 1)
    process.clock.now += 4
    process.writes("run_2", 1)
    process.clock.now += 6
    process.writes("run_3", 1)
    process.hears("run_1", "run_2", "run_3")
    assert process.told() == [("g1", "run_2", 1), ("g1", "run_3", 1)]
    assert sorted(process.notices._recent) == ["run_2", "run_3"]


def test_a_broker_that_is_away_is_logged(process: Process, caplog: pytest.LogCaptureFixture) -> None:
    process.bus.away = True
    process.hears("run_1")
    process.writes("run_1", 1)
    assert [record.action for record in caplog.records] == ["notify_failed"]  # type: ignore[attr-defined]
