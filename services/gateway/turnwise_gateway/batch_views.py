"""Batches and their items in the words of the API."""

from __future__ import annotations

from collections.abc import Sequence

from turnwise.api.batches import BatchBudgetView, BatchCountsView, BatchedRun, BatchResultView, BatchView
from turnwise.api.runs import StoppedView, UsageView
from turnwise.base.money import decimal_string
from turnwise.base.times import when, when_known
from turnwise.record.batches.batch_record import BatchItem, BatchProgress
from turnwise.record.runs.wait_facts import Situation
from turnwise.record.values.records import RunRecord
from turnwise.serving.stop_reason import stop_reason
from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.views import fresh, result_view


def batch_view(now: BatchProgress, runs: Sequence[RunRecord] = ()) -> BatchView:
    """A batch; `runs` are those that were submitted with it, if this answers that."""
    batch = now.batch
    return BatchView(
        id=batch.id,
        name=batch.name,
        task=batch.task,
        status=batch.status.value,
        key=batch.key,
        total=batch.total,
        counts=BatchCountsView(**{status.value: count for status, count in now.counts.items()}),
        concurrency=batch.concurrency,
        budget=BatchBudgetView(
            max_cost=decimal_string(batch.max_cost) if batch.max_cost else None, max_tokens=batch.max_tokens or None
        ),
        usage=_used(now),
        stopped=batch.stopped_by,  # type: ignore[arg-type]  # it is a name of a limit
        created_at=when(batch.created_at),
        sealed_at=when_known(batch.sealed_at),
        cancel_requested_at=when_known(batch.cancelled_at),
        finished_at=when_known(batch.finished_at),
        expired_at=when_known(batch.expired_at),
        runs=[BatchedRun(id=run.id, task=run.task, status=run.status.value) for run in runs],
    )


def item_view(item: BatchItem, known: Situation | None) -> BatchResultView:
    """An item with what became of it; `known` where the limit that ended its run was looked up."""
    run = item.run
    result = None if run is None else result_view(run)
    stopped = None if run is None else stop_reason(known or fresh(run))
    return BatchResultView(
        line=item.no,
        id=item.key,
        run=item.begun,
        status=item.status.value,
        status_code=None if run is None else run.status_code,
        result=None if result is None else result.content,
        tools=[] if result is None else result.tools,
        stopped=None if stopped is None else StoppedView.model_validate(stopped.as_json()),
        error=None if run is None or run.error is None else readable(run.error.as_json()),  # type: ignore[arg-type]
        usage=None if run is None else _used(run),
    )


def _used(by: RunRecord | BatchProgress) -> UsageView:
    names = ("prompt_tokens", "cached_tokens", "completion_tokens", "calls", "unpriced_calls")
    return UsageView(**{name: getattr(by, name) for name in names}, cost=decimal_string(by.cost))
