"""The counters of a process's own work."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from prometheus_client import (
    GC_COLLECTOR,
    PLATFORM_COLLECTOR,
    PROCESS_COLLECTOR,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
)

from turnwise.base.version import VERSION
from turnwise.record.schedules.schedule import TickOutcome
from turnwise.record.states import FINISHED

PREFIX = "turnwise"
_Mode = Literal["livemax", "livemin", "livesum"]

# Seconds. A turn may be a tool call of milliseconds or a model's long answer; a run may wait a day for a human.
_TURN = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_OVERHEAD = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
_REQUEST = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_RUN = (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400)
# Labels that are there at 0 from the beginning: a counter that appears with its first failure has no increase that
# anyone could see.
_ENDS = FINISHED
_BAD_ENDS = ("ERROR", "TIMEOUT", "STALLED", "INF_LOOP", "MAX_TURNS")
_ASK_OUTCOMES = ("answer", "nothing", "refused", "error", "discarded", "deferred", "cancelled", "parked")
# Models that have labels of their own.
_MOST_MODELS = 100
_CALL_OUTCOMES = ("ok", "rate_limited", "unavailable", "timeout", "refused", "cancelled", "error")


class _Labelled:
    """Keeps what it has returned for labels: the client library takes a lock for each look."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._known: dict[tuple[object, ...], Any] = {}

    def labels(self, *values: object, **named: object) -> Any:
        """Return the metric of these labels."""
        known = self._known.get(values)
        if known is None or named:
            known = super().labels(*values, **named)  # type: ignore[misc] # of the class that is mixed in
            if not named:
                self._known[values] = known
        return known


class _Counter(_Labelled, Counter):
    """A counter that finds its labels quickly."""


class _Histogram(_Labelled, Histogram):
    """A histogram that finds its labels quickly."""


class Metrics:
    """The metrics of one process; each instance needs a registry of its own.

    `application` is what the process serves, and its version. Money is in US dollars and times are in seconds, as the
    names say.
    """

    def __init__(self, registry: CollectorRegistry, application: tuple[str, str] = ("", "")) -> None:
        self.registry = registry
        self._models: set[str] = set()
        self._tools: set[str] = set()
        self._runs()
        self._turns()
        self._stages()
        self._model_calls()
        self._requests()
        self._surroundings()
        labels = ("version", "python", "application", "application_version")
        build = self._gauge("build_info", "Always 1; the labels tell what runs here.", *labels)
        build.labels(VERSION, platform.python_version(), *application).set(1)

    def expect_tasks(self, tasks: Iterable[str]) -> None:
        """Begin at 0 what is counted of the ends of these tasks' runs."""
        for task in tasks:
            self.runs_started_total.labels(task)
            self.first_turn_seconds.labels(task)
            for status in _ENDS:
                self.runs_total.labels(task, status)
            for code in _BAD_ENDS:
                self.run_outcomes_total.labels(task, code)

    def expect_model(self, model: str) -> str:
        """Begin at 0 what is counted of this model's calls, and return the label to count them under.

        That is `other` for models beyond the first hundred: a fork may name any.
        """
        if model not in self._models:
            if len(self._models) >= _MOST_MODELS:
                return "other"
            self._models.add(model)
            for outcome in _CALL_OUTCOMES:
                self.llm_calls_total.labels(model, outcome)
            self.llm_unpriced_calls_total.labels(model)
        return model

    def expect_tool(self, tool: str) -> None:
        """Begin at 0 what is counted of this tool."""
        if tool not in self._tools:
            self._tools.add(tool)
            for outcome in ("ok", "error"):
                self.tool_calls_total.labels(tool, outcome)

    def _runs(self) -> None:
        self.runs_started_total = self._counter("runs_started_total", "Runs that began.", "task")
        self.runs_total = self._counter("runs_total", "Runs that ended.", "task", "status")
        self.run_outcomes_total = self._counter(
            "run_outcomes_total", "Runs that ended, by status code.", "task", "code"
        )
        self.run_duration_seconds = self._histogram(
            "run_duration_seconds", "From the acceptance of a run to its end.", _RUN, "task"
        )
        self.first_turn_seconds = self._histogram(
            "first_turn_seconds", "From the acceptance of a run to its first turn that was taken.", _TURN, "task"
        )
        self.runs_purged_total = self._counter("runs_purged_total", "Runs deleted by retention.", "status")
        for status in _ENDS:
            self.runs_purged_total.labels(status)
        self.schedule_ticks_total = self._counter(
            "schedule_ticks_total", "Ticks of schedules: submitted, queued, skipped, missed or refused.", "outcome"
        )
        for outcome in TickOutcome:
            self.schedule_ticks_total.labels(outcome)
        self.schedule_lateness_seconds = self._histogram(
            "schedule_lateness_seconds", "From the time of a schedule's tick to the submission of its run.", _TURN
        )
        self.webhook_deliveries_total = self._counter(
            "webhook_deliveries_total", "Attempts at webhooks: delivered, failed, parked or gone.", "outcome"
        )
        for became in ("delivered", "failed", "parked", "gone"):
            self.webhook_deliveries_total.labels(became)
        self.budget_limit_reached_total = self._counter(
            "budget_limit_reached_total", "Limits reached: cost, tokens, turns or deadline.", "limit"
        )
        for limit in ("cost", "tokens", "turns", "deadline"):
            self.budget_limit_reached_total.labels(limit)

    def _turns(self) -> None:
        self.turns_total = self._counter("turns_total", "Turns by outcome: taken, passed or none.", "task", "outcome")
        self.asks_total = self._counter(
            "asks_total", "Asks that got a reply, were deferred or cancelled.", "responder", "outcome"
        )
        for responder in ("llm", "agent"):
            for outcome in _ASK_OUTCOMES:
                self.asks_total.labels(responder, outcome)
        self.turn_duration_seconds = self._histogram(
            "turn_duration_seconds", "From an ask to its accepted reply.", _TURN, "responder"
        )
        self.turn_overhead_seconds = self._histogram(
            "turn_overhead_seconds", "The part of a turn that was not the responder's own work.", _OVERHEAD
        )
        self.steps_stalled_total = self._counter("steps_stalled_total", "Steps that no responder had an answer to.")
        self.leases_expired_total = self._counter("leases_expired_total", "Asks taken from a worker that fell silent.")
        self.asks_discarded_total = self._counter("asks_discarded_total", "Replies that were not accepted.", "reason")
        for reason in ("stale", "lost"):
            self.asks_discarded_total.labels(reason)
        self.tool_calls_total = self._counter("tool_calls_total", "Tools handled.", "tool", "outcome")

    def _stages(self) -> None:
        """Make the metrics of a turn's stages, by queue."""
        self.queue_wait_seconds = self._histogram(
            "queue_wait_seconds", "From when an ask could be claimed to its claim.", _OVERHEAD, "queue"
        )
        self.queue_work_seconds = self._histogram(
            "queue_work_seconds", "The responder's own work on a claimed ask.", _OVERHEAD, "queue"
        )
        self.queue_move_seconds = self._histogram(
            "queue_move_seconds", "From an answer to the run's next move on record.", _OVERHEAD, "queue"
        )
        self.tool_duration_seconds = self._histogram(
            "tool_duration_seconds", "One call of a tool's handler, with the retries within it.", _TURN, "tool"
        )

    def _requests(self) -> None:
        self.http_requests_total = self._counter(
            "http_requests_total", "Requests answered by the gateway.", "method", "route", "status"
        )
        self.http_request_duration_seconds = self._histogram(
            "http_request_duration_seconds",
            "From a request to the beginning of its answer.",
            _REQUEST,
            "method",
            "route",
        )
        self.run_acceptance_seconds = self._histogram(
            "run_acceptance_seconds", "From a submission over HTTP to the run that is kept.", _REQUEST
        )

    def _surroundings(self) -> None:
        """Make the metrics of this process's database and broker."""
        self.database_connections_in_use = self._gauge(
            "database_connections_in_use", "Connections of the process's pool that are at work.", mode="livesum"
        )
        self.database_connections_limit = self._gauge(
            "database_connections_limit", "Connections that the process may have at most.", mode="livesum"
        )
        self.database_pool_wait_seconds = self._histogram(
            "database_pool_wait_seconds", "Waits for a connection, where all were at work.", _REQUEST
        )
        self.database_pool_timeouts_total = self._counter(
            "database_pool_timeouts_total", "Waits for a connection that were given up."
        )
        self.broker_connected = self._gauge(
            "broker_connected",
            "Whether the last use of a connection to the broker succeeded.",
            "connection",
            mode="livemin",
        )
        self.broker_reconnects_total = self._counter(
            "broker_reconnects_total", "Connections to the broker that were made anew.", "connection"
        )

    def _model_calls(self) -> None:
        self.tokens_total = self._counter("tokens_total", "Tokens: prompt, cached or completion.", "model", "type")
        self.cost_usd_total = self._counter("cost_usd_total", "Cost of model calls.", "model", "task")
        self.llm_calls_total = self._counter("llm_calls_total", "Model calls.", "model", "outcome")
        self.llm_call_duration_seconds = self._histogram(
            "llm_call_duration_seconds", "Time of a model call.", _TURN, "model"
        )
        self.llm_unpriced_calls_total = self._counter(
            "llm_unpriced_calls_total",
            "Model calls of no known price; their cost is missing in cost_usd_total.",
            "model",
        )
        self.provider_batches_total = self._counter(
            "provider_batches_total",
            "Batches of providers that have ended: completed, expired, failed, cancelled, refused, lost or empty.",
            "model",
            "status",
        )
        self.provider_batch_calls_total = self._counter(
            "provider_batch_calls_total",
            "Calls of those batches: answered, again, direct or discarded.",
            "model",
            "outcome",
        )

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return _Counter(f"{PREFIX}_{name}", help, labels, registry=self.registry)

    def _gauge(self, name: str, help: str, *labels: str, mode: _Mode = "livemax") -> Gauge:
        # The mode is for prefork workers: one value for all children, without their process ids.
        return Gauge(f"{PREFIX}_{name}", help, labels, registry=self.registry, multiprocess_mode=mode)

    def _histogram(self, name: str, help: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return _Histogram(f"{PREFIX}_{name}", help, labels, registry=self.registry, buckets=buckets)


def watch_process(registry: CollectorRegistry) -> None:
    """Add what every Python process can tell of itself: memory, processor time, open files, garbage collections.

    From then on no counter of the process tells when it was made, which would be as many series again.
    """
    disable_created_metrics()  # type: ignore[no-untyped-call]
    for collector in (PROCESS_COLLECTOR, PLATFORM_COLLECTOR, GC_COLLECTOR):
        registry.register(collector)
