"""Batches: many runs at once, or items of one task from which runs are made as room allows."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated, Any

from fastapi import BackgroundTasks, Query, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from turnwise.api.batch_item import BatchItemBody
from turnwise.api.batches import BatchResultView, BatchView
from turnwise.api.pages import Page
from turnwise.base.ids import new_id
from turnwise.errors import InvalidRequestError, InvalidWebhookError, UnknownTaskError
from turnwise.record.batches.batch_record import BatchRecord, NewBatch, NewItem
from turnwise.record.runs.wait_facts import LIMIT_CODES
from turnwise.record.tenants.caller import Caller
from turnwise.record.values.records import NewRun, RunRecord
from turnwise.record.webhooks.new_webhook import NewWebhook
from turnwise_gateway.access.scopes import READS, WRITES
from turnwise_gateway.batch_bodies import BatchPart, OpenedBatch, SubmittedBatch
from turnwise_gateway.batch_feeding import feed
from turnwise_gateway.batch_views import batch_view, item_view
from turnwise_gateway.bodies import Submission
from turnwise_gateway.gateway import Gateway, Here, Who
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.request_metrics import ARRIVED
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import After, BatchId
from turnwise_gateway.submission import new_run
from turnwise_gateway.webhooks import new_webhook

router = api_router("batches", "/v1/batches")

# Items that are read together; a stream of results holds no more of them.
_PAGE = 100
_CHANGED = problems(400, 404, 409, 413, 415, 422, 503)


@router.post("", status_code=202, dependencies=[WRITES], responses=problems(400, 409, 413, 415, 422, 503))
async def submit_batch(
    body: SubmittedBatch, gateway: Here, caller: Who, request: Request, afterwards: BackgroundTasks
) -> BatchView:
    """Accept many runs in one transaction: all of them are kept once this answers 202, else none.

    With an `Idempotency-Key`, a repeated request makes no further runs.
    """
    webhooks = [await _webhook(gateway, no, one, caller) for no, one in enumerate(body.runs)]
    accepted = await run_in_threadpool(_accept, gateway, body, webhooks, request.scope[ARRIVED])
    # The client need not wait until coordinators are told of each.
    afterwards.add_task(gateway.dispatcher.wake_all, accepted)
    progress = await run_in_threadpool(gateway.record.batches.batch_progress, accepted[0].batch_id or "")
    return batch_view(progress, accepted)


async def _webhook(gateway: Gateway, no: int, body: Submission, caller: Caller) -> NewWebhook | None:
    if body.webhook is None:
        return None
    with _of_run(no):
        webhook = await new_webhook(gateway, body.webhook, caller)
        if body.webhook.secret is None:
            raise InvalidWebhookError("the webhook has no secret; give one, as the answer to a batch shows none")
        return webhook


def _accept(
    gateway: Gateway, body: SubmittedBatch, webhooks: list[NewWebhook | None], arrived: float
) -> list[RunRecord]:
    accepted = gateway.record.submit_all(
        [_new(gateway, no, *one) for no, one in enumerate(zip(body.runs, webhooks, strict=True))]
    )
    for run in accepted:
        gateway.observers.run_accepted(run, time.monotonic() - arrived)
    return accepted


def _new(gateway: Gateway, no: int, body: Submission, webhook: NewWebhook | None) -> NewRun:
    with _of_run(no):
        return replace(new_run(gateway, body, new_id("run")), webhook=webhook)


@contextmanager
def _of_run(no: int) -> Iterator[None]:
    """Say in a refusal which run of the batch is refused."""
    try:
        yield
    except (InvalidRequestError, UnknownTaskError) as error:
        raise type(error)(f"body.runs.{no}: {error}; no run of the batch was accepted") from error


@router.post("/open", status_code=202, dependencies=[WRITES], responses=problems(400, 409, 413, 415, 422, 503))
def open_batch(body: OpenedBatch, gateway: Here) -> BatchView:
    """Open a batch of a task. It is filled with items in parts, and sealed.

    A batch with a `key` of the client's is opened once, however often that is asked for.
    """
    new_run(gateway, Submission(task=body.task, message="-"), "run")  # refuses an unknown task
    new = NewBatch(
        id=new_id("bat"),
        task=body.task,
        concurrency=body.concurrency,
        name=body.name,
        key=body.key,
        max_cost=body.max_cost,
        max_tokens=body.max_tokens,
    )
    batch, _ = gateway.record.batches.open_batch(new)
    return batch_view(gateway.record.batches.batch_progress(batch.id))


@router.get("", dependencies=[READS], responses=problems(422, 503))
def list_batches(
    gateway: Here, cursor: After = None, limit: Annotated[int, Query(ge=1, le=100)] = 20
) -> Page[BatchView]:
    """Batches, newest first."""
    found = gateway.record.batches.batches_progress(cursor, limit + 1)
    return Page(
        items=[batch_view(now) for now in found[:limit]],
        next_cursor=found[limit - 1].batch.id if len(found) > limit else None,
    )


@router.get("/{batch_id}", dependencies=[READS], responses=problems(404, 422, 503))
def show_batch(batch_id: BatchId, gateway: Here) -> BatchView:
    """A batch with its items counted by status, and what its runs have used."""
    return batch_view(gateway.record.batches.batch_progress(batch_id))


@router.post("/{batch_id}/items", status_code=202, dependencies=[WRITES], responses=_CHANGED)
def add_batch_items(batch_id: BatchId, body: BatchPart, gateway: Here, caller: Who) -> BatchView:
    """Add the items that come next, all or none. They begin at once, as far as the batch's concurrency allows.

    `first` is one more than the batch's `total`. A part that is there already is not added again, so a request whose
    answer was lost is sent again as it was.
    """
    batch = gateway.record.batches.batch(batch_id)
    items = [_item(gateway, batch, no, one) for no, one in enumerate(body.items)]
    known: dict[str, int] = {}
    for no, item in enumerate(items):
        if item.key is not None and (other := known.setdefault(item.key, no)) != no:
            raise InvalidRequestError(
                f"body.items.{no}: the id {item.key!r} is that of body.items.{other} as well; no item was added"
            )
    gateway.record.batches.add_items(batch_id, body.first, items)
    feed(gateway, caller, batch_id)
    return batch_view(gateway.record.batches.batch_progress(batch_id))


def _item(gateway: Gateway, batch: BatchRecord, no: int, body: BatchItemBody) -> NewItem:
    given = Submission(
        task=batch.task or "",
        message=body.message,
        limits=body.limits,
        priority=body.priority,
        tags=body.tags,
        metadata=body.metadata,
    )
    try:
        run = new_run(gateway, given, "")
        if batch.budgeted:
            body.check_budgeted()
    except (InvalidRequestError, UnknownTaskError) as error:
        raise type(error)(f"body.items.{no}: {error}; no item was added") from error
    # The digest identifies an item that is sent again, whatever version and limits a gateway then adds to it.
    run = replace(run, body_hash=given.digest())
    return NewItem(key=body.id, run=replace(run, on_limit="end") if batch.budgeted else run)


@router.post("/{batch_id}/seal", status_code=202, dependencies=[WRITES], responses=problems(404, 409, 422, 503))
def seal_batch(batch_id: BatchId, gateway: Here, caller: Who) -> BatchView:
    """Take no further items: the batch ends when those that it has are done."""
    gateway.record.batches.seal_batch(batch_id)
    feed(gateway, caller, batch_id)
    return batch_view(gateway.record.batches.batch_progress(batch_id))


class JsonLines(StreamingResponse):
    """JSON documents, each on a line of its own."""

    media_type = "application/jsonl"


_LINES: dict[int | str, dict[str, Any]] = {200: {"model": BatchResultView}, **problems(404, 422, 503)}


@router.get(
    "/{batch_id}/results",
    response_class=JsonLines,
    dependencies=[READS],
    responses=_LINES,
)
def read_batch_results(
    batch_id: BatchId,
    gateway: Here,
    after: Annotated[int, Query(ge=0, lt=2**31, description="Goes on behind this line.")] = 0,
    limit: Annotated[int | None, Query(ge=1, description="Lines at most; all if left out.")] = None,
) -> JsonLines:
    """The items in the order of the input, a line of JSON each, as they are now: also those that have not ended."""
    gateway.record.batches.batch(batch_id)
    return JsonLines(_lines(gateway, batch_id, after, limit))


def _lines(gateway: Gateway, batch_id: str, after: int, limit: int | None) -> Iterator[str]:
    while limit is None or limit > 0:
        found = gateway.record.batches.batch_items(batch_id, after, _PAGE if limit is None else min(_PAGE, limit))
        ended = [item.run.id for item in found if item.run is not None and item.run.status_code in LIMIT_CODES]
        known = {now.run.id: now for now in gateway.record.situations(ended, pinned=gateway.settings.pinned)}
        for item in found:
            view: BatchResultView = item_view(item, known.get(item.begun or ""))
            yield view.model_dump_json() + "\n"
        if len(found) < _PAGE:
            return
        after = found[-1].no
        limit = None if limit is None else limit - len(found)
