"""Batches that are cancelled, and those that are taken up again where items failed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Body

from turnwise.api.batches import BatchRetryView, BatchView
from turnwise.api.runs import Refusal
from turnwise.errors import ConflictError, EnvironmentFault, RepeatedRequestError, TurnwiseError
from turnwise.observability.telemetry.context import current_traceparent
from turnwise.record.batches.batch_record import BatchItem, ItemStatus
from turnwise_gateway.access.scopes import WRITES
from turnwise_gateway.batch_bodies import BatchRetry
from turnwise_gateway.batch_feeding import feed
from turnwise_gateway.batch_views import batch_view
from turnwise_gateway.gateway import Gateway, Here, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import BatchId

# Codes of runs that no retry continues, however often it is tried.
_NEVER_CONTINUES = ("not_retryable", "past_unknown")
router = api_router("batches", "/v1/batches/{batch_id}")


@router.post("/cancel", status_code=202, dependencies=[WRITES], responses=problems(404, 409, 422, 503))
def cancel_batch(batch_id: BatchId, gateway: Here, caller: Who) -> BatchView:
    """Begin no further item, and end the runs that have begun; what has ended stays. Repeating it is harmless."""
    with suppress(RepeatedRequestError):  # its first try may have been cut off before all runs were asked to end
        gateway.record.batches.cancel_batch(batch_id)
    for run_id in gateway.record.batches.unfinished_of_batch(batch_id):
        with suppress(ConflictError, RepeatedRequestError):  # it has ended meanwhile, or was asked before
            gateway.dispatcher.cancelled(gateway.record.for_part(run_id).request_cancel(run_id))
    feed(gateway, caller, batch_id)
    return batch_view(gateway.record.batches.batch_progress(batch_id))


@dataclass
class _Found:
    """The items of a page that failed, or that a limit ended: what is to become of each."""

    failed: list[BatchItem] = field(default_factory=list)
    anew: list[BatchItem] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)


@router.post("/retry", status_code=202, dependencies=[WRITES], responses=problems(400, 404, 409, 413, 415, 422, 503))
def retry_batch(
    batch_id: BatchId,
    gateway: Here,
    caller: Who,
    body: Annotated[BatchRetry, Body()] = BatchRetry(),  # noqa: B008
) -> BatchRetryView:
    """Have the failed items continue, a page of items at a time, and begin those that the batch's budget kept back.

    A failed run continues from where it failed. An item that the budget ended before its run had called a model begins
    anew; with `anew`, so does every other one whose run cannot continue.
    """
    page = gateway.record.batches.batch_items(batch_id, body.after, body.limit)
    with suppress(RepeatedRequestError):
        gateway.record.batches.resume_batch(batch_id, max_cost=body.max_cost, max_tokens=body.max_tokens)
    found = _sorted(gateway, page, anew=body.anew)
    continued = [item for item in found.failed if not _refuses(gateway, item, body, found)]
    restarted = _restarted(gateway, batch_id, found)
    feed(gateway, caller, batch_id)
    return BatchRetryView(
        continued=len(continued),
        restarted=restarted,
        refused=found.refused,
        next_after=page[-1].no if len(page) == body.limit else None,
    )


def _sorted(gateway: Gateway, page: list[BatchItem], *, anew: bool) -> _Found:
    found = _Found(failed=[item for item in page if item.status == ItemStatus.FAILED])
    limited = {item.begun or "": item for item in page if item.status == ItemStatus.LIMITED}
    for now in gateway.record.situations(list(limited), pinned=gateway.settings.pinned):
        item, told = limited[now.run.id], now.limit_reached
        of_batch = told is not None and told.scope == "batch"
        if anew or (of_batch and not now.run.calls):
            found.anew.append(item)
        else:
            detail = "a limit ended it, and its models and tools would be asked again; send anew to begin it anew"
            found.refused.append(Refusal(run=now.run.id, code="at_limit", detail=detail))
    return found


def _refuses(gateway: Gateway, item: BatchItem, body: BatchRetry, found: _Found) -> bool:
    """Have the item's run continue; note what becomes of it otherwise."""
    run_id = item.begun or ""
    try:
        again = gateway.record.for_part(run_id).retry(run_id, traceparent=current_traceparent())
        gateway.dispatcher.continue_run(*again)
    except RepeatedRequestError:  # this request has changed it, and was cut off later or sent again
        return False
    except EnvironmentFault:
        raise
    except TurnwiseError as error:
        # Not for a run that does not continue now alone: it may be running, because it was retried by itself meanwhile.
        if body.anew and error.code in _NEVER_CONTINUES:
            found.anew.append(item)
        else:
            found.refused.append(Refusal(run=run_id, code=error.code, detail=str(error)))
        return True
    return False


def _restarted(gateway: Gateway, batch_id: str, found: _Found) -> int:
    """Begin items anew that are still as they were read, and refuse the others; return how many begin."""
    replaced = {item.no: item.begun for item in found.anew if item.begun is not None}
    try:
        # Also where none begins anew: the batch may have been found to be over before its runs continued.
        restarted = gateway.record.batches.for_part("anew").restart_items(batch_id, replaced)
    except RepeatedRequestError:  # this request has begun them anew, and was cut off later or sent again
        return 0
    detail = (
        "it was not begun anew: another request has done so meanwhile, or it was submitted together with the other "
        "runs of its batch and has to be submitted again; the results of the batch say which run it has now"
    )
    for no in sorted(replaced.keys() - set(restarted)):
        found.refused.append(Refusal(run=replaced[no], code="not_restarted", detail=detail))
    return len(restarted)
