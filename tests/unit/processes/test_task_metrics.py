"""The gauges by task and by tenant, over a record of fixed contents."""

from __future__ import annotations

from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, generate_latest

from turnwise.errors import DatabaseUnavailableError
from turnwise.processes.metrics import TaskCollector
from turnwise.processes.metrics.tasks import MOST_TENANTS
from turnwise.record.budgets.budget_gauges import TenantLevel
from turnwise.record.upkeep.ages import Ended, Forgotten, OldestRun, OldestWait


@dataclass
class Record:
    """A record whose runs end as `ended` says; it remembers how far back it was asked."""

    minute: int = 1_000
    ended: list[Ended] = field(default_factory=list)
    asked: list[float] = field(default_factory=list)
    broken: bool = False

    def oldest_runs(self) -> list[OldestRun]:
        if self.broken:
            raise DatabaseUnavailableError("gone")
        return [OldestRun("desk", "running", 3_600)]

    def oldest_waits(self) -> list[OldestWait]:
        return [OldestWait("human", "desk", 7_200), OldestWait("paused", "desk", 60)]

    def forgotten_runs(self) -> list[Forgotten]:
        return [Forgotten("desk", 2)]

    def ended_runs(self, seconds: float) -> tuple[int, list[Ended]]:
        self.asked.append(seconds)
        first = self.minute - seconds // 60
        return self.minute, [one for one in self.ended if one.minute >= first]

    def tenant_levels(self, most: int) -> list[TenantLevel]:
        return [TenantLevel(f"tenant-{no}", "tenant_day", no / 100) for no in range(100)][:most]


class Scraped:
    """A collector over a record, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.record, self.now, self.registry = Record(), 0.0, CollectorRegistry()
        self.registry.register(TaskCollector(self.record, clock=lambda: self.now))

    def value(self, name: str, **labels: str) -> float | None:
        return self.registry.get_sample_value(f"turnwise_{name}", labels)

    def pass_minutes(self, minutes: int) -> None:
        self.now += 60 * minutes
        self.record.minute += minutes

    def failed(self, window: str) -> float | None:
        return self.value("runs_ended_recently", task="desk", status="failed", window=window)


def test_ages_are_told_by_task_and_kinds_that_are_new_are_told_too() -> None:
    value = Scraped().value

    assert value("runs_oldest_age_seconds", task="desk", status="running") == 3_600
    assert value("runs_waiting_oldest_age_seconds", kind="human", task="desk") == 7_200
    assert value("runs_waiting_oldest_age_seconds", kind="paused", task="desk") == 60
    assert value("runs_forgotten", task="desk") == 2


def test_the_number_of_tenants_is_bounded() -> None:
    page = generate_latest(Scraped().registry).decode()

    assert page.count("turnwise_tenant_budget_remaining_ratio{") == MOST_TENANTS


def test_runs_that_ended_are_seen_from_the_first_one_on_and_leave_each_window_in_time() -> None:
    scraped = Scraped()
    scraped.record.ended = [Ended(1_000, "desk", "failed", 1)]
    assert (scraped.failed("1h"), scraped.failed("6h")) == (1, 1)
    assert scraped.value("runs_ended_recently", task="desk", status="completed", window="1h") == 0

    scraped.pass_minutes(1)  # one more of the minute before was committed late
    scraped.record.ended = [Ended(1_000, "desk", "failed", 2), Ended(1_001, "desk", "failed", 1)]
    assert scraped.failed("6h") == 3
    scraped.pass_minutes(90)
    assert (scraped.failed("1h"), scraped.failed("6h")) == (None, 3)
    scraped.pass_minutes(300)
    assert scraped.failed("6h") is None


def test_what_was_read_is_not_read_again() -> None:
    scraped = Scraped()
    for _ in range(3):
        scraped.failed("1h")
        scraped.pass_minutes(1)

    assert scraped.record.asked == [21_600, 180, 180]


def test_without_a_database_the_gauges_are_left_out_and_nothing_is_lost() -> None:
    scraped = Scraped()
    scraped.record.ended = [Ended(1_000, "desk", "failed", 1)]
    assert scraped.failed("6h") == 1
    scraped.record.broken = True
    scraped.pass_minutes(60)
    assert scraped.failed("6h") is None
    scraped.record.broken = False
    scraped.record.ended.append(Ended(1_030, "desk", "failed", 1))
    scraped.pass_minutes(60)
    assert scraped.failed("6h") == 2
