"""The work after a commit: asks are published, listeners told, metrics counted. None of it can lose work."""

from __future__ import annotations

import logging
from collections.abc import Callable

from turnwise.base.clock import SYSTEM_CLOCK, Clock
from turnwise.bus.base import Bus
from turnwise.bus.envelope import AskEnvelope, RunNotice
from turnwise.errors import BrokerUnavailableError
from turnwise.processes.metrics import Metrics
from turnwise.record.runs.outcomes import CallUsage, Deferral, Parking, Release, Reply
from turnwise.record.runs.records import Claim, Json, RunRecord
from turnwise.serving.moves.move import Moved
from turnwise.serving.tracing import run_ended

logger = logging.getLogger(__name__)


class Reporter:
    """Tells the bus and the metrics what was committed; a broker that is away is logged, the sweeper repairs it."""

    def __init__(self, bus: Bus, metrics: Metrics, clock: Clock = SYSTEM_CLOCK) -> None:
        self._clock = clock
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
            self._try("notify_failed", run.id, lambda: self._bus.notify(RunNotice(run=run.id, seq=run.last_seq)))
        if moved.began:
            self._metrics.runs_started_total.labels(moved.run.task).inc()
        self._count_turns(moved)
        if moved.ended:
            self._count_end(moved.run)
            run_ended(moved.run)

    def publish(self, ask: AskEnvelope) -> None:
        """Publish a permit for the ask."""
        self._try("publish_failed", ask.run, lambda: self._bus.publish_ask(ask))

    def wake(self, run_id: str, version: str | None = None) -> None:
        """Wake a coordinator, of that version of the application if it is given."""
        self._try(
            "wake_failed",
            run_id,
            lambda: self._bus.wake(run_id) if version is None else self._bus.wake(run_id, version),
        )

    def claimed(self, claim: Claim) -> None:
        """Measure how long the ask could have been claimed before.

        Of one that was taken from a lost worker, or given back, that is not on record: it is left out, as is the wait
        for a provider's room, which is no worker's fault.
        """
        ask = claim.ask
        first = claim.token == 1
        if ask.queue is None or ask.claimed_at is None or ask.lost or not (first or ask.due_at is not None):
            return
        since = max(ask.created_at, ask.due_at or 0.0)
        self._metrics.queue_wait_seconds.labels(ask.queue).observe(max(0.0, ask.claimed_at - since))

    def moved_after(self, moved: Moved, seconds: float) -> None:
        """Measure a move by who does nothing else; `seconds` is what it took, beside how late it began."""
        if moved.late is not None:
            self._metrics.queue_move_seconds.labels(moved.queue).observe(moved.late + seconds)

    def replied(
        self, claim: Claim, reply: Reply, accepted: bool, started: float, answered: float, *, moved: bool = False
    ) -> None:
        """Count a reply; `started` and `answered` are monotonic times around the responder's own work.

        `moved`: the next move was made with it, and both are on record now.
        """
        metrics, ask = self._metrics, claim.ask
        outcome = reply.kind if accepted else "discarded"
        metrics.asks_total.labels(ask.responder, outcome).inc()
        if not accepted:
            metrics.asks_discarded_total.labels("stale").inc()
        own, written = answered - started, self._clock.monotonic() - answered
        total = own + max(0.0, (ask.claimed_at or ask.created_at) - ask.created_at) + written
        self._count_work(claim, reply, own)
        if moved and ask.queue is not None:
            metrics.queue_move_seconds.labels(ask.queue).observe(written)
        metrics.turn_duration_seconds.labels(ask.responder).observe(total)
        metrics.turn_overhead_seconds.observe(max(0.0, total - own))
        kept = reply.error.as_json() if reply.error is not None else None
        error = kept if reply.kind == "error" else None
        self._count_calls(claim, reply, error)
        if ask.responder == "llm" and (error is not None or reply.usage is not None):
            metrics.llm_call_duration_seconds.labels(self._model_label(reply, error)).observe(own)
        elif kept is not None and kept.get("tool"):
            self._count_tool(kept["tool"], "error")
        for tool in reply.data.get("tools", ()):
            self._count_tool(tool, "ok")

    def deferred(self, claim: Claim, deferral: Deferral, seconds: float) -> None:
        """Count a try that failed, after which the ask was deferred; `seconds` is what it took."""
        error = deferral.data.get("error")
        self._metrics.asks_total.labels(claim.ask.responder, "deferred").inc()
        self._count_work(claim, deferral, seconds)
        self._count_calls(claim, deferral, error)
        if claim.ask.responder == "llm" and error is not None:
            self._metrics.llm_call_duration_seconds.labels(self._model_label(deferral, error)).observe(seconds)
        elif error is not None and error.get("tool"):
            self._count_tool(error["tool"], "error")

    def cut(self, claim: Claim, release: Release, seconds: float, *, late: bool) -> None:
        """Count work that was cancelled after so many seconds; an ask that was only given back is none.

        `late`: the ask is another worker's by now.
        """
        cut = {"kind": "cancelled"}
        if release.reason == "database_away":
            return
        self._count_calls(claim, release, cut)
        self._metrics.asks_total.labels(claim.ask.responder, "cancelled").inc()
        self._count_work(claim, release, seconds)
        if late:
            self._metrics.asks_discarded_total.labels("lost").inc()
        if claim.ask.responder == "llm":
            self._metrics.llm_call_duration_seconds.labels(self._model_label(release, cut)).observe(seconds)

    def parked(self, claim: Claim, parking: Parking) -> None:
        """Count an ask that a person has to decide on."""
        self._count_calls(claim, parking, None)
        self._count_parts(parking)
        self._metrics.asks_total.labels(claim.ask.responder, "parked").inc()

    def expired(self, n: int) -> None:
        """Count asks that were taken over."""
        self._metrics.leases_expired_total.inc(n)

    def _count_calls(self, claim: Claim, outcome: _Outcome, error: Json | None) -> None:
        """Count the model's call of an ask that came to `error`, and all that was used, in handlers as well."""
        metrics = self._metrics
        failed = error is not None and claim.ask.responder == "llm"
        if error is not None and failed:
            model = self._model_label(outcome, error)
            metrics.llm_calls_total.labels(model, _OUTCOMES.get(error.get("kind", ""), "error")).inc()
        calls = outcome.calls or ([CallUsage(usage=outcome.usage)] if outcome.usage is not None else [])
        for call in calls:
            self._count_usage(claim.run, call)
            if not (failed and (call.lost or not outcome.calls)):
                ending = "error" if call.lost else "ok"
                model = metrics.expect_model(call.usage.model or _UNKNOWN)
                metrics.llm_calls_total.labels(model, ending).inc(call.usage.calls)

    def _model_label(self, outcome: _Outcome, error: Json | None) -> str:
        return self._metrics.expect_model(_model(outcome, error))

    def _count_usage(self, run: RunRecord, call: CallUsage) -> None:
        metrics, usage = self._metrics, call.usage
        model = metrics.expect_model(usage.model or _UNKNOWN)
        metrics.tokens_total.labels(model, "prompt").inc(usage.prompt_tokens)
        metrics.tokens_total.labels(model, "cached").inc(usage.cached_tokens)
        metrics.tokens_total.labels(model, "completion").inc(usage.completion_tokens)
        if usage.cost is None:
            metrics.llm_unpriced_calls_total.labels(model).inc(usage.calls)
        else:
            metrics.cost_usd_total.labels(model, run.task).inc(float(usage.cost))

    def _count_work(self, claim: Claim, outcome: _Outcome, seconds: float) -> None:
        if claim.ask.queue is not None:
            self._metrics.queue_work_seconds.labels(claim.ask.queue).observe(seconds)
        self._count_parts(outcome)

    def _count_parts(self, outcome: _Outcome) -> None:
        for part in (outcome.work or {}).get("parts", ()):
            if part["kind"] == "tool":
                self._metrics.tool_duration_seconds.labels(part["name"]).observe(part["seconds"])

    def _count_tool(self, tool: str, outcome: str) -> None:
        self._metrics.expect_tool(tool)
        self._metrics.tool_calls_total.labels(tool, outcome).inc()

    def _count_turns(self, moved: Moved) -> None:
        for item in moved.trace:
            if item.kind in ("taken", "passed", "none"):
                self._metrics.turns_total.labels(item.path, item.kind).inc()
            if item.kind == "taken" and item.turn == 0 and "/" not in item.path:  # the root's, which has but one
                waited = max(0.0, moved.at - moved.run.created_at)
                self._metrics.first_turn_seconds.labels(moved.run.task).observe(waited)
            if item.kind == "none":
                self._metrics.steps_stalled_total.inc()

    def _count_end(self, run: RunRecord) -> None:
        self._metrics.runs_total.labels(run.task, run.status).inc()
        if run.status_code:
            self._metrics.run_outcomes_total.labels(run.task, run.status_code).inc()
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
                extra={"action": action, "run": run_id},
            )


def _model(outcome: _Outcome, error: Json | None) -> str:
    return (outcome.usage.model if outcome.usage else None) or (error or {}).get("model") or _UNKNOWN


_Outcome = Reply | Deferral | Release | Parking
_UNKNOWN = "unknown"
# Of a model's call, by the kind of its error.
_OUTCOMES = {
    "rate_limit": "rate_limited",
    "unavailable": "unavailable",
    "timeout": "timeout",
    "refused": "refused",
    "cancelled": "cancelled",
}
_LIMITS = {"MAX_COST": "cost", "MAX_TOKENS": "tokens", "MAX_TURNS": "turns", "TIMEOUT": "deadline"}
