"""The metrics of served runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from turnwise.machine.actions import Trace
from turnwise.processes.metrics import Metrics
from turnwise.record.schedules.firing import Fired
from turnwise.record.upkeep.purging import OldRun
from turnwise.record.values.outcomes import CallUsage, Deferral, Outcome, Parking, Release, Reply
from turnwise.record.values.records import AskRecord, Claim, Json, RunRecord, Usage
from turnwise.record.webhooks.records import WebhookOutcome
from turnwise.serving.moves.moved import Moved
from turnwise.serving.observer import Observer


class RunMetrics(Observer):
    """Counts and measures what a process does for runs."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def run_accepted(self, run: RunRecord, seconds: float) -> None:
        """Measure how long it took to accept a run."""
        self._metrics.run_acceptance_seconds.observe(seconds)

    def run_started(self, run: RunRecord) -> None:
        """Count a run that began."""
        self._metrics.runs_started_total.labels(run.task).inc()

    def step_ended(self, run: RunRecord, item: Trace, at: float) -> None:
        """Count a step, and measure how long the run's first turn took."""
        self._metrics.turns_total.labels(item.path, item.kind).inc()
        if item.kind == "taken" and item.turn == 0 and "/" not in item.path:  # the root's, which has but one
            self._metrics.first_turn_seconds.labels(run.task).observe(max(0.0, at - run.created_at))
        if item.kind == "none":
            self._metrics.steps_stalled_total.inc()

    def run_ended(self, run: RunRecord) -> None:
        """Count a run that ended, how it ended, and how long it took."""
        self._metrics.runs_total.labels(run.task, run.status).inc()
        if run.status_code:
            self._metrics.run_outcomes_total.labels(run.task, run.status_code).inc()
        if run.finished_at is not None:
            self._metrics.run_duration_seconds.labels(run.task).observe(run.finished_at - run.created_at)
        limit = _LIMITS.get(run.status_code or "")
        if limit is not None:
            self._metrics.budget_limit_reached_total.labels(limit).inc()

    def run_moved(self, moved: Moved, seconds: float | None) -> None:
        """Measure a move that was made by itself, from when it was due; `reply_stored` measures the others."""
        if moved.late is not None and seconds is not None:
            self._metrics.queue_move_seconds.labels(moved.queue).observe(moved.late + seconds)

    def webhook_attempted(self, outcome: WebhookOutcome) -> None:
        """Count an attempt at a webhook."""
        self._metrics.webhook_deliveries_total.labels(outcome).inc()

    def provider_batch_ended(self, model: str, status: str, calls: Mapping[str, int]) -> None:
        """Count a batch of a provider, and what became of its calls."""
        label = self._metrics.expect_model(model)
        self._metrics.provider_batches_total.labels(label, status).inc()
        for outcome, number in calls.items():
            self._metrics.provider_batch_calls_total.labels(label, outcome).inc(number)

    def batched_answer_unused(self, run: RunRecord, usage: Usage) -> None:
        """Count what the provider charges for an answer that no ask waits for."""
        self._count_call(run, usage, "ok")

    def ask_claimed(self, claim: Claim) -> None:
        """Measure how long the ask could have been claimed before.

        Of one that was taken from a lost worker, or released, that is not on record: it is left out, as is the wait
        for a provider's room, which is no worker's fault.
        """
        ask = claim.ask
        first = claim.token == 1
        if ask.queue is None or ask.claimed_at is None or ask.lost or not (first or ask.due_at is not None):
            return
        since = max(ask.created_at, ask.due_at or 0.0)
        self._metrics.queue_wait_seconds.labels(ask.queue).observe(max(0.0, ask.claimed_at - since))

    def reply_stored(self, claim: Claim, reply: Reply, worked: float, written: float, *, moved: bool) -> None:
        """Count a reply, and measure its turn."""
        if moved and claim.ask.queue is not None:
            self._metrics.queue_move_seconds.labels(claim.ask.queue).observe(written)
        self._count_reply(claim, reply, reply.kind, worked, written)

    def reply_discarded(self, claim: Claim, reply: Reply, worked: float, written: float) -> None:
        """Count a reply that came too late; it took its time, too."""
        self._metrics.asks_discarded_total.labels("stale").inc()
        self._count_reply(claim, reply, "discarded", worked, written)

    def _count_reply(self, claim: Claim, reply: Reply, outcome: str, worked: float, written: float) -> None:
        metrics, ask = self._metrics, claim.ask
        metrics.asks_total.labels(ask.responder, outcome).inc()
        total = worked + max(0.0, (ask.claimed_at or ask.created_at) - ask.created_at) + written
        self._count_work(claim, reply, worked)
        metrics.turn_duration_seconds.labels(ask.responder).observe(total)
        metrics.turn_overhead_seconds.observe(max(0.0, total - worked))
        kept = reply.error.as_json() if reply.error is not None else None
        error = kept if reply.kind == "error" else None
        self._count_calls(claim, reply, error)
        if ask.responder == "llm" and (error is not None or reply.usage is not None):
            metrics.llm_call_duration_seconds.labels(self._model_label(reply, error)).observe(worked)
        elif kept is not None and kept.get("tool"):
            self._count_tool(kept["tool"], "error")
        for tool in reply.tools:
            self._count_tool(tool, "ok")

    def ask_deferred(self, claim: Claim, deferral: Deferral, worked: float) -> None:
        """Count an attempt that failed, after which the ask was deferred."""
        error = deferral.failed.error.as_json() if deferral.failed is not None else None
        self._metrics.asks_total.labels(claim.ask.responder, "deferred").inc()
        self._count_work(claim, deferral, worked)
        self._count_calls(claim, deferral, error)
        if claim.ask.responder == "llm" and error is not None:
            self._metrics.llm_call_duration_seconds.labels(self._model_label(deferral, error)).observe(worked)
        elif error is not None and error.get("tool"):
            self._count_tool(error["tool"], "error")

    def ask_released(self, claim: Claim, release: Release, worked: float, *, late: bool) -> None:
        """Count work that was cancelled; an ask that was only released is none."""
        cut = {"kind": "cancelled"}
        if release.reason == "database_away":
            return
        self._count_calls(claim, release, cut)
        self._metrics.asks_total.labels(claim.ask.responder, "cancelled").inc()
        self._count_work(claim, release, worked)
        if late:
            self._metrics.asks_discarded_total.labels("lost").inc()
        if claim.ask.responder == "llm":
            self._metrics.llm_call_duration_seconds.labels(self._model_label(release, cut)).observe(worked)

    def ask_parked(self, claim: Claim, parking: Parking) -> None:
        """Count an ask that a person has to decide on."""
        self._count_calls(claim, parking, None)
        self._count_parts(parking)
        self._metrics.asks_total.labels(claim.ask.responder, "parked").inc()

    def leases_expired(self, asks: Sequence[AskRecord]) -> None:
        """Count asks that were taken over."""
        self._metrics.leases_expired_total.inc(len(asks))

    def schedule_fired(self, fired: Fired) -> None:
        """Count ticks of a schedule by their outcome, and measure how late a run of one was submitted."""
        for tick in fired.ticks:
            self._metrics.schedule_ticks_total.labels(tick.outcome).inc(tick.ticks)
        if fired.run is not None:
            self._metrics.schedule_lateness_seconds.observe(max(0.0, fired.late))

    def run_purged(self, run: OldRun) -> None:
        """Count a run that was deleted."""
        self._metrics.runs_purged_total.labels(run.status).inc()

    def _count_calls(self, claim: Claim, outcome: Outcome, error: Json | None) -> None:
        """Count the model's call of an ask that came to `error`, and all that was used, in handlers as well."""
        metrics = self._metrics
        failed = error is not None and claim.ask.responder == "llm"
        if error is not None and failed:
            model = self._model_label(outcome, error)
            metrics.llm_calls_total.labels(model, _OUTCOMES.get(error.get("kind", ""), "error")).inc()
        calls = outcome.calls or ([CallUsage(usage=outcome.usage)] if outcome.usage is not None else [])
        for call in calls:
            told = failed and (call.lost or not outcome.calls)
            self._count_call(claim.run, call.usage, None if told else "error" if call.lost else "ok")

    def _model_label(self, outcome: Outcome, error: Json | None) -> str:
        return self._metrics.expect_model(_model(outcome, error))

    def _count_call(self, run: RunRecord, usage: Usage, ending: str | None) -> None:
        """Count what was used, and the calls that came to this `ending`; None for one that is counted already."""
        metrics = self._metrics
        model = metrics.expect_model(usage.model or _UNKNOWN)
        metrics.tokens_total.labels(model, "prompt").inc(usage.prompt_tokens)
        metrics.tokens_total.labels(model, "cached").inc(usage.cached_tokens)
        metrics.tokens_total.labels(model, "completion").inc(usage.completion_tokens)
        if usage.cost is None:
            metrics.llm_unpriced_calls_total.labels(model).inc(usage.calls)
        else:
            metrics.cost_usd_total.labels(model, run.task).inc(float(usage.cost))
        if ending is not None:
            metrics.llm_calls_total.labels(model, ending).inc(usage.calls)

    def _count_work(self, claim: Claim, outcome: Outcome, seconds: float) -> None:
        if claim.ask.queue is not None:
            self._metrics.queue_work_seconds.labels(claim.ask.queue).observe(seconds)
        self._count_parts(outcome)

    def _count_parts(self, outcome: Outcome) -> None:
        for part in (outcome.work or {}).get("parts", ()):
            if part["kind"] == "tool":
                self._metrics.tool_duration_seconds.labels(part["name"]).observe(part["seconds"])

    def _count_tool(self, tool: str, outcome: str) -> None:
        self._metrics.expect_tool(tool)
        self._metrics.tool_calls_total.labels(tool, outcome).inc()


def _model(outcome: Outcome, error: Json | None) -> str:
    return (outcome.usage.model if outcome.usage else None) or (error or {}).get("model") or _UNKNOWN


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
