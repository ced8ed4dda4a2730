"""What a process counts of its own work."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from turnwise import __version__

PREFIX = "turnwise"

# Seconds. A turn may be a tool call of milliseconds or a model's long answer; a run may wait a day for a human.
_TURN = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_OVERHEAD = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5)
_RUN = (0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400)


class Metrics:
    """What one process counts; each instance needs a registry of its own.

    Money is in US dollars and times are in seconds, as the names say.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._runs()
        self._turns()
        self._model_calls()
        build = self._gauge("build_info", "Always 1; the labels tell what runs here.", "version", "python")
        build.labels(__version__, platform.python_version()).set(1)

    def _runs(self) -> None:
        self.runs_total = self._counter("runs_total", "Runs that ended.", "task", "status")
        self.run_duration_seconds = self._histogram(
            "run_duration_seconds", "From the acceptance of a run to its end.", _RUN, "task"
        )
        self.budget_limit_reached_total = self._counter(
            "budget_limit_reached_total", "Limits reached: cost, tokens, turns or deadline.", "limit"
        )

    def _turns(self) -> None:
        self.turns_total = self._counter("turns_total", "Turns by outcome: taken, passed or none.", "task", "outcome")
        self.asks_total = self._counter("asks_total", "Asks that got a reply.", "responder", "outcome")
        self.turn_duration_seconds = self._histogram(
            "turn_duration_seconds", "From an ask to its accepted reply.", _TURN, "responder"
        )
        self.turn_overhead_seconds = self._histogram(
            "turn_overhead_seconds", "The part of a turn that was not the responder's own work.", _OVERHEAD
        )
        self.steps_stalled_total = self._counter("steps_stalled_total", "Steps that no responder had an answer to.")
        self.leases_expired_total = self._counter("leases_expired_total", "Asks taken from a worker that fell silent.")
        self.asks_discarded_total = self._counter("asks_discarded_total", "Replies that were not accepted.", "reason")
        self.tool_calls_total = self._counter("tool_calls_total", "Tools handled.", "tool", "outcome")

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

    def _counter(self, name: str, help: str, *labels: str) -> Counter:
        return Counter(f"{PREFIX}_{name}", help, labels, registry=self.registry)

    def _gauge(self, name: str, help: str, *labels: str) -> Gauge:
        return Gauge(f"{PREFIX}_{name}", help, labels, registry=self.registry)

    def _histogram(self, name: str, help: str, buckets: Sequence[float], *labels: str) -> Histogram:
        return Histogram(f"{PREFIX}_{name}", help, labels, registry=self.registry, buckets=buckets)
