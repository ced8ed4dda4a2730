"""Gauges of the whole installation, from the record."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from turnwise.bus.routing import COORDINATOR_QUEUE
from turnwise.processes.metrics.scraped import MetricsPage, ScrapedGauges
from turnwise.record.states import UNFINISHED

if TYPE_CHECKING:
    from turnwise.record.asks.pauses import PauseKind, PauseRecord
    from turnwise.record.asks.worker_records import QueueStat, WorkerRecord
    from turnwise.record.budgets.budget_gauges import BudgetLevels
    from turnwise.record.upkeep.ages import OldestLease
    from turnwise.record.upkeep.gauges import Backlog

# Name, help, labels.
_GAUGES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("runs_active", "Unfinished runs.", ("status",)),
    ("runs_waiting", "Unfinished runs that hold no worker, by what they wait for.", ("kind",)),
    ("moves_due", "Runs whose next move a coordinator has to make.", ()),
    ("moves_oldest_age_seconds", "How long the first of them has waited for it.", ()),
    ("queue_depth", "Asks of a queue: runnable, leased, delayed (not yet due) or paused.", ("queue", "state")),
    ("paused", "Queues, tasks and tenants that are paused.", ("kind",)),
    ("queue_oldest_age_seconds", "Age of the oldest ask that no one took.", ("queue",)),
    ("backlog", "Runnable and leased asks of a queue; scale its workers by this.", ("queue",)),
    (
        "lease_oldest_age_seconds",
        "Since the claim of the oldest ask that a worker is at.",
        ("queue", "task", "agent"),
    ),
    ("workers", "Worker processes that serve a queue, by state.", ("queue", "state")),
    ("human_inbox_open", "Questions and parked asks that wait for a human.", ()),
    ("human_inbox_parked", "Those of them that are parked asks.", ()),
    ("human_inbox_oldest_age_seconds", "How long the first of all of them has waited.", ()),
    ("webhook_backlog", "Webhooks that are pending, or were given up: parked.", ("state",)),
    ("webhook_oldest_age_seconds", "How long the first pending webhook has been tried.", ()),
    ("budget_reserved_usd", "Reserved for model calls under way.", ()),
    (
        "budget_remaining_ratio",
        "The smallest share left of a limit: of a run, session, tenant_day or tenant_month.",
        ("scope",),
    ),
)
# What is there at 0, so that an alert or an autoscaler need not tell "none" from "not known".
_STATUSES = UNFINISHED
_WAITING_FOR = (
    "human",
    "session",
    "retry",
    "outage",
    "provider",
    "provider_batch",
    "budget",
    "parked",
    "paused",
    "upgrade",
)
_LIVING = ("alive", "deaf", "draining")
_PAUSABLE: tuple[PauseKind, ...] = ("queue", "task", "tenant")


class RecordReader(Protocol):
    """The queries that `RecordCollector` makes; the store has them."""

    def active_runs(self) -> Mapping[str, int]:
        """Unfinished runs by status."""
        ...

    def waiting_runs(self) -> Mapping[str, int]:
        """Runs that hold no worker, by what they wait for."""
        ...

    def due_move_line(self) -> Backlog: ...

    def question_line(self) -> Backlog: ...

    def parked_line(self) -> Backlog: ...

    def queue_stats(self) -> Sequence[QueueStat]: ...

    def oldest_leases(self) -> Sequence[OldestLease]: ...

    def workers(self) -> Sequence[WorkerRecord]: ...

    def pauses(self) -> Sequence[PauseRecord]: ...

    def webhook_lines(self) -> Mapping[str, Backlog]:
        """Webhooks by state: pending and parked."""
        ...

    def budget_levels(self) -> BudgetLevels:
        """Return what is reserved, and how much is left under limits."""
        ...


class RecordCollector(ScrapedGauges):
    """Gauges of the installation as a whole, read from the record.

    `queues` are those of the installation: they have values even while they are empty and no one serves them.
    """

    def __init__(
        self,
        store: RecordReader,
        *,
        queues: Sequence[str] = (),
        max_age: float = 2.0,
        clock: Callable[[], float] = time.monotonic,
    ):
        super().__init__(_GAUGES, self._fill, max_age, clock)
        self._store = store
        self._queues = [queue for queue in queues if queue != COORDINATOR_QUEUE]

    def _fill(self, page: MetricsPage) -> None:
        self._add_runs(page)
        self._add_queues(page, self._store.queue_stats(), self._store.workers())
        for lease in self._store.oldest_leases():
            page.add("lease_oldest_age_seconds", lease.age, lease.queue, lease.task, lease.agent)
        self._add_inbox(page)
        webhooks = self._store.webhook_lines()
        for state, line in webhooks.items():
            page.add("webhook_backlog", line.length, state)
        page.add("webhook_oldest_age_seconds", webhooks["pending"].oldest_age)
        levels = self._store.budget_levels()
        page.add("budget_reserved_usd", float(levels.reserved))
        for scope, share in levels.remaining.items():
            page.add("budget_remaining_ratio", share, scope)

    def _add_runs(self, page: MetricsPage) -> None:
        active, waiting, moves = self._store.active_runs(), self._store.waiting_runs(), self._store.due_move_line()
        for status in _STATUSES:
            page.add("runs_active", active.get(status, 0), status)
        for kind in (*_WAITING_FOR, *sorted(waiting.keys() - set(_WAITING_FOR))):
            page.add("runs_waiting", waiting.get(kind, 0), kind)
        paused = Counter(pause.kind for pause in self._store.pauses())
        for of in _PAUSABLE:
            page.add("paused", paused[of], of)
        page.add("moves_due", moves.length)
        page.add("moves_oldest_age_seconds", moves.oldest_age)

    def _add_queues(self, page: MetricsPage, stats: Sequence[QueueStat], workers: Sequence[WorkerRecord]) -> None:
        fleet = Counter((queue, one.shown_state) for one in workers for queue in one.queues)
        found = {stat.queue: stat for stat in stats}
        served = {queue for queue, state in fleet if state in _LIVING} - {COORDINATOR_QUEUE}
        for queue in dict.fromkeys((*self._queues, *found, *sorted(served))):
            stat = found.get(queue)
            for state in ("runnable", "leased", "delayed", "paused"):
                page.add("queue_depth", getattr(stat, state, 0), queue, state)
            page.add("queue_oldest_age_seconds", stat.oldest_age if stat else 0.0, queue)
            page.add("backlog", stat.runnable + stat.leased if stat else 0, queue)
            fleet.update({(queue, state): 0 for state in _LIVING})
        fleet.update({(COORDINATOR_QUEUE, state): 0 for state in _LIVING})
        for (queue, state), n in sorted(fleet.items()):
            page.add("workers", n, queue, state)

    def _add_inbox(self, page: MetricsPage) -> None:
        questions, parked = self._store.question_line(), self._store.parked_line()
        page.add("human_inbox_open", questions.length + parked.length)
        page.add("human_inbox_parked", parked.length)
        page.add("human_inbox_oldest_age_seconds", max(questions.oldest_age, parked.oldest_age))
