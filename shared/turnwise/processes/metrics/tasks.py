"""Gauges of single tasks and tenants, from the record: long waits, failures, and spent budgets.

These gauges are what alerts look at in a busy installation: the oldest of each kind stays visible however much else
continues. Their labels are bounded by the application (task, kind), and of tenants by `MOST_TENANTS`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from turnwise.processes.metrics.scraped import MetricsPage, ScrapedGauges
from turnwise.record.states import FINISHED

if TYPE_CHECKING:
    from turnwise.record.budgets.budget_gauges import TenantLevel
    from turnwise.record.upkeep.ages import Ended, Forgotten, OldestRun, OldestWait

# So many tenants have a gauge of their budget, those with the least left.
MOST_TENANTS = 20
_GAUGES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("runs_oldest_age_seconds", "Since the acceptance of the oldest unfinished run of a task.", ("task", "status")),
    (
        "runs_waiting_oldest_age_seconds",
        "How long the first of those runs has waited that hold no worker, by what they wait for.",
        ("kind", "task"),
    ),
    ("runs_forgotten", "Unfinished runs that no ask, no move and no wait will ever go on with.", ("task",)),
    ("runs_ended_recently", "Runs that ended within the last hour, or six.", ("task", "status", "window")),
    (
        "tenant_budget_remaining_ratio",
        f"Share left of a limit of the {MOST_TENANTS} tenants with the least: tenant_day or tenant_month.",
        ("tenant", "scope"),
    ),
)
_ENDS = FINISHED
_WINDOWS = (("1h", 60), ("6h", 360))  # minutes
_LONGEST = 360
# Read again each time, for whatever was committed late.
_OVERLAP = 120.0


class TaskReader(Protocol):
    """The queries that `TaskCollector` makes; the store has them."""

    def oldest_runs(self) -> Sequence[OldestRun]: ...

    def oldest_waits(self) -> Sequence[OldestWait]: ...

    def forgotten_runs(self) -> Sequence[Forgotten]: ...

    def ended_runs(self, seconds: float) -> tuple[int, Sequence[Ended]]:
        """The present minute, and what has ended within `seconds`, by minute; its first minute is a whole one."""
        ...

    def tenant_levels(self, most: int) -> Sequence[TenantLevel]: ...


class TaskCollector(ScrapedGauges):
    """Gauges by task and by tenant; some look at every unfinished run, so they are read at most every 10 seconds."""

    def __init__(self, store: TaskReader, *, max_age: float = 10.0, clock: Callable[[], float] = time.monotonic):
        super().__init__(_GAUGES, self._fill, max_age, clock)
        self._store = store
        self._ends = _RecentEnds(store, clock)

    def _fill(self, page: MetricsPage) -> None:
        store = self._store
        for run in store.oldest_runs():
            page.add("runs_oldest_age_seconds", run.age, run.task, run.status)
        for wait in store.oldest_waits():
            page.add("runs_waiting_oldest_age_seconds", wait.age, wait.kind, wait.task)
        for forgotten in store.forgotten_runs():
            page.add("runs_forgotten", forgotten.length, forgotten.task)
        for window, counts in self._ends.read().items():
            for task in sorted({task for task, _ in counts}):
                for status in _ENDS:
                    page.add("runs_ended_recently", counts[task, status], task, status, window)
        for level in store.tenant_levels(MOST_TENANTS):
            page.add("tenant_budget_remaining_ratio", level.share, level.tenant, level.scope)


class _RecentEnds:
    """The number of runs that ended lately, by minute; each reading asks only for what is new since the last one.

    It comes from the record, because a counter that a short-lived worker begins at its first failure shows no increase.
    """

    def __init__(self, store: TaskReader, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._read_at: float | None = None
        self._minutes: dict[int, Counter[tuple[str, str]]] = {}

    def read(self) -> dict[str, Counter[tuple[str, str]]]:
        """The counts by task and status, for each window."""
        at = self._clock()
        seconds = _LONGEST * 60.0 if self._read_at is None else min(at - self._read_at + _OVERLAP, _LONGEST * 60.0)
        present, found = self._store.ended_runs(seconds)
        fresh: dict[int, Counter[tuple[str, str]]] = {}
        for ended in found:
            fresh.setdefault(ended.minute, Counter())[ended.task, ended.status] += ended.length
        self._minutes.update(fresh)
        self._minutes = {minute: counts for minute, counts in self._minutes.items() if minute > present - _LONGEST}
        self._read_at = at
        return {
            window: sum((counts for minute, counts in self._minutes.items() if minute > present - length), Counter())
            for window, length in _WINDOWS
        }
