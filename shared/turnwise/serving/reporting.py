"""What follows a commit: asks are published, listeners told, metrics counted. None of it can lose work."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from turnwise.bus.base import Bus
from turnwise.bus.envelope import AskEnvelope, RunNotice
from turnwise.errors import BrokerUnavailableError
from turnwise.metrics import Metrics
from turnwise.runs.records import Claim, Reply, RunRecord, Usage
from turnwise.serving.move import Moved

logger = logging.getLogger(__name__)


class Reporter:
    """Tells the bus and the metrics what was committed; a broker that is away is logged, the sweeper repairs it."""

    def __init__(self, bus: Bus, metrics: Metrics) -> None:
        self._bus = bus
        self._metrics = metrics

    def moved(self, moved: Moved) -> None:
        """Publish the ask of a move, wake who waited for the run's end, tell listeners, count its turns."""
        if moved.ask is not None:
            self.publish(moved.ask)
        if moved.next_run is not None:
            self.wake(moved.next_run)
        if moved.trace or moved.ended:
            run = moved.run
            self._try("notify", run.id, lambda: self._bus.notify(RunNotice(run=run.id, seq=run.last_seq)))
        self._count_turns(moved)
        if moved.ended:
            self._count_end(moved.run)

    def publish(self, ask: AskEnvelope) -> None:
        """Publish a permit for the ask."""
        self._try("publish", ask.run, lambda: self._bus.publish_ask(ask))

    def wake(self, run_id: str) -> None:
        """Wake a coordinator."""
        self._try("wake", run_id, lambda: self._bus.wake(run_id))

    def replied(self, claim: Claim, reply: Reply, accepted: bool, started: float, answered: float) -> None:
        """Count a reply; `started` and `answered` are monotonic times around the responder's own work."""
        metrics, ask = self._metrics, claim.ask
        outcome = reply.kind if accepted else "discarded"
        metrics.asks_total.labels(ask.responder, outcome).inc()
        if not accepted:
            metrics.asks_discarded_total.labels("stale").inc()
        own = answered - started
        total = own + max(0.0, (ask.claimed_at or ask.created_at) - ask.created_at) + time.monotonic() - answered
        metrics.turn_duration_seconds.labels(ask.responder).observe(total)
        metrics.turn_overhead_seconds.observe(max(0.0, total - own))
        if ask.responder == "llm" and reply.kind != "refused":
            self._count_call(claim.run, reply.usage, own, failed=reply.kind == "error")
        elif reply.error is not None and reply.error.get("tool"):
            metrics.tool_calls_total.labels(reply.error["tool"], "error").inc()
        for tool in reply.data.get("tools", ()):
            metrics.tool_calls_total.labels(tool, "ok").inc()

    def expired(self, n: int) -> None:
        """Count asks that were taken over."""
        self._metrics.leases_expired_total.inc(n)

    def _count_call(self, run: RunRecord, usage: Usage | None, seconds: float, *, failed: bool) -> None:
        metrics = self._metrics
        model = (usage.model if usage else None) or "unknown"
        metrics.llm_calls_total.labels(model, "error" if failed else "ok").inc()
        metrics.llm_call_duration_seconds.labels(model).observe(seconds)
        if usage is None:
            return
        metrics.tokens_total.labels(model, "prompt").inc(usage.prompt_tokens)
        metrics.tokens_total.labels(model, "cached").inc(usage.cached_tokens)
        metrics.tokens_total.labels(model, "completion").inc(usage.completion_tokens)
        if usage.cost is None:
            metrics.llm_unpriced_calls_total.labels(model).inc(usage.calls)
        else:
            metrics.cost_usd_total.labels(model, run.task).inc(float(usage.cost))

    def _count_turns(self, moved: Moved) -> None:
        for item in moved.trace:
            if item.kind in ("taken", "passed", "none"):
                self._metrics.turns_total.labels(item.path, item.kind).inc()
            if item.kind == "none":
                self._metrics.steps_stalled_total.inc()

    def _count_end(self, run: RunRecord) -> None:
        self._metrics.runs_total.labels(run.task, run.status).inc()
        if run.finished_at is not None:
            self._metrics.run_duration_seconds.labels(run.task).observe(run.finished_at - run.created_at)
        limit = _LIMITS.get(run.status_code or "")
        if limit is not None:
            self._metrics.budget_limit_reached_total.labels(limit).inc()

    def _try(self, action: str, run_id: str, call: Callable[[], None]) -> None:
        try:
            call()
        except BrokerUnavailableError as error:
            logger.warning(
                "The broker did not take a message for run %s, the sweeper sends it again: %s",
                run_id,
                error,
                extra={"action": f"{action}_failed", "run": run_id},
            )


_LIMITS = {"MAX_COST": "cost", "MAX_TOKENS": "tokens", "MAX_TURNS": "turns", "TIMEOUT": "deadline"}
