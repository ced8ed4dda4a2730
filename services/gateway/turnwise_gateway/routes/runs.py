"""Submitting runs, looking at them, and asking for their end."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from turnwise.api.pages import Page
from turnwise.api.runs import RunView, RunWithTree, Status
from turnwise.base.ids import new_id
from turnwise.base.waits import HumanWait
from turnwise.errors import InvalidRequestError, NotFoundError
from turnwise.messages.given_history import with_history
from turnwise.messages.wire import encode_document
from turnwise.observability.telemetry.context import current_traceparent
from turnwise.processes.new_runs import limits_of_run, version_of_run
from turnwise.record.runs.wait_facts import LIMIT_CODES, Situation
from turnwise.record.states import RunStatus
from turnwise.record.tenants.caller import RUNS_WRITE
from turnwise.record.values.records import NewRun, RunFilter, RunRecord
from turnwise.tasks.entry import document_of
from turnwise_gateway.access.scopes import READS, WRITES
from turnwise_gateway.bodies import RunChange, Submission
from turnwise_gateway.gateway import Gateway, Here, Who
from turnwise_gateway.http.idempotency import LONGEST, PRINTABLE
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.request_metrics import ARRIVED
from turnwise_gateway.http.root_path import public
from turnwise_gateway.views import fresh, run_view, run_with_tree
from turnwise_gateway.webhooks import new_webhook, told

router = APIRouter(prefix="/v1/runs", tags=["runs"])

_MAX_WAIT = 300.0
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
IdempotencyKey = Annotated[
    str | None,
    Header(min_length=1, max_length=LONGEST, pattern=PRINTABLE, description="The same key and body give the same run."),
]
Cursor = Annotated[str | None, Query(max_length=200, pattern=r"^[A-Za-z0-9_-]+$", description="Of the page before.")]
Filter = Annotated[str | None, Query(max_length=200, pattern=PRINTABLE)]


def existing_run(run_id: str, gateway: Here) -> RunRecord:
    """The run in the path, for `Depends`; raises `NotFoundError`."""
    return gateway.record.run(known_form(run_id))


def known_form(run_id: str) -> str:
    """The id, if it can be one: no database is asked about anything else."""
    if not _RUN_ID.fullmatch(run_id):
        raise NotFoundError(f"there is no run {run_id!r}; list the runs to see which exist")
    return run_id


ExistingRun = Annotated[RunRecord, Depends(existing_run)]


@router.post("", status_code=202, dependencies=[WRITES], responses=problems(400, 413, 415, 422, 503))
async def submit(
    body: Submission,
    gateway: Here,
    request: Request,
    response: Response,
    caller: Who,
    idempotency_key: IdempotencyKey = None,
    wait: Annotated[float, Query(ge=0, le=_MAX_WAIT, allow_inf_nan=False, description="Seconds.")] = 0,
    watch: Annotated[bool, Query(description="The event stream will be opened at once.")] = False,
) -> RunView:
    """Accept a run: once this answers 202 it is kept.

    With `wait`, answers when the run has ended or waits for a human, or after so many seconds. With `watch`, its first
    answer is streamed as well: workers are told that the run is watched before it begins.
    """
    run_id = new_id("run")
    if watch:
        await gateway.watch.expect(run_id)
    accept = submit_without_move if watch else submit_with_move
    new, known = new_run(gateway, body, run_id, idempotency_key), None
    if body.webhook is not None:
        # The run may have been accepted already, while its host is no longer found.
        known = None if idempotency_key is None else await run_in_threadpool(gateway.record.submitted, new)
        if known is None:
            new = replace(new, webhook=await new_webhook(gateway, body.webhook, caller))
    run = await run_in_threadpool(accept, gateway, new) if known is None else known
    gateway.observers.run_accepted(run, time.monotonic() - request.scope[ARRIVED])
    if wait:
        await _wait(gateway, request, run, wait)
    response.headers["Location"] = public(f"/v1/runs/{run.id}")
    # Of a run that was just accepted no more is known than it says itself, so nothing is read.
    begun = wait or run.started_at is not None
    view = run_view(await run_in_threadpool(gateway.situation, run.id) if begun else fresh(run))
    return view.model_copy(update={"webhook": told(new.webhook)}) if run.id == run_id else view


def submit_with_move(gateway: Gateway, new: NewRun) -> RunRecord:
    """Keep the run, with its first move where this process may make it."""
    run, created, moved = gateway.first_moves.submit(gateway.record, new, gateway.dispatcher, gateway.observers)
    if created and moved is None:
        gateway.dispatcher.wake(run)
    return run


def submit_without_move(gateway: Gateway, new: NewRun) -> RunRecord:
    """Leave the first move to a coordinator: meanwhile workers hear that the run is watched."""
    run, created = gateway.record.submit(new)
    if created:
        gateway.dispatcher.wake(run)
    return run


def new_run(gateway: Gateway, body: Submission, run_id: str, key: str | None = None) -> NewRun:
    """The run that a body asks for; raises `UnknownTaskError` and `InvalidRequestError`."""
    settings, limits = gateway.settings, body.limits
    version = version_of_run(settings, gateway.app, body.version, body.task)
    return NewRun(
        id=run_id,
        task=body.task,
        version=version,
        # A message over HTTP is tainted: a human may have typed it.
        message=with_history(encode_document(document_of(body.message)), [one.given() for one in body.history]),
        priority=body.priority,
        tags=tuple(body.tags),
        metadata=body.metadata,
        session_id=body.session_id,
        **limits_of_run(
            settings,
            max_cost=limits.max_cost,
            max_tokens=limits.max_tokens,
            turns=limits.turns,
            on_limit=limits.on_limit,
            deadline=limits.deadline,
            can_wait=limits.can_wait,
        ),
        idempotency_key=key,
        body_hash=body.digest() if key else None,
        traceparent=current_traceparent(),
    )


async def _wait(gateway: Gateway, request: Request, run: RunRecord, seconds: float) -> None:
    end = time.monotonic() + seconds
    with gateway.watch.of(run.id) as watcher, gateway.admission.of(request, RUNS_WRITE, watcher) as admitted:
        while not gateway.watch.stopping:
            admitted.require()
            run = await run_in_threadpool(gateway.record.run, run.id)
            left = end - time.monotonic()
            if run.ended or _asks_a_human(run) or left <= 0:
                break
            await watcher.wait(min(left, gateway.watch.poll_seconds))


def _asks_a_human(run: RunRecord) -> bool:
    return run.status == RunStatus.WAITING and isinstance(run.waiting_for, HumanWait)


@router.get("", dependencies=[READS], responses=problems(422, 503))
def list_runs(
    gateway: Here,
    q: Annotated[
        str | None,
        Query(
            min_length=1,
            max_length=200,
            pattern=PRINTABLE,
            description="Searched in ids of runs and sessions, and in messages, whatever its case.",
        ),
    ] = None,
    status: Status | None = None,
    task: Filter = None,
    tag: Filter = None,
    session: Filter = None,
    batch: Filter = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Page[RunView]:
    """Runs, newest first.

    A search looks through at most 5,000 runs, for about a second: `next_cursor` continues it, also after a page that
    has fewer items than `limit`, or none.
    """
    filters = RunFilter(
        text=q,
        status=status,
        task=task,
        tag=tag,
        session_id=session,
        batch=batch,
        created_after=seconds_of(created_after, "created_after"),
        created_before=seconds_of(created_before, "created_before"),
    )
    found, following = gateway.record.runs(filters, cursor, limit)
    return Page(items=[run_view(now) for now in _situations(gateway, found)], next_cursor=following)


def seconds_of(at: datetime | None, name: str) -> float | None:
    """The time of a filter in seconds since the epoch; raises `InvalidRequestError` for one without an offset."""
    if at is None:
        return None
    if at.tzinfo is None:
        raise InvalidRequestError(f"{name} is {at.isoformat()}; add Z or an offset from UTC")
    return at.timestamp()


def _situations(gateway: Gateway, found: list[RunRecord]) -> list[Situation]:
    """The situations of a page of runs; those that have ended by themselves wait for nothing, so nothing is read."""
    wanted = [run.id for run in found if not run.ended or run.status_code in LIMIT_CODES]
    known = {now.run.id: now for now in gateway.record.situations(wanted, pinned=gateway.settings.pinned)}
    return [known.get(run.id) or fresh(run) for run in found]


@router.get("/{run_id}", dependencies=[READS], responses=problems(404, 503))
def show_run(run_id: str, gateway: Here) -> RunWithTree:
    """A run with its limits, usage, open tasks, result, and why it waits."""
    return run_with_tree(gateway.situation(known_form(run_id)), gateway.record.frames_of(run_id))


@router.patch("/{run_id}", dependencies=[WRITES], responses=problems(400, 404, 409, 413, 415, 422, 503))
def change_run(run_id: str, body: RunChange, gateway: Here) -> RunView:
    """Change the limits of a run that has not ended; one that waits for budget of its own continues at once."""
    limits = body.limits
    if limits.max_cost is None and limits.max_tokens is None:
        raise InvalidRequestError("no limit is given; send limits.max_cost, limits.max_tokens or both")
    run, ask = gateway.record.change_limits(known_form(run_id), max_cost=limits.max_cost, max_tokens=limits.max_tokens)
    if ask is not None:
        gateway.dispatcher.continue_run(run, ask)
    return run_view(gateway.situation(run.id))


@router.post("/{run_id}/cancel", status_code=202, dependencies=[WRITES], responses=problems(404, 409, 503))
def cancel_run(run_id: str, gateway: Here) -> RunView:
    """End the run and its sub-tasks; it says `cancelled` once that is done. An answer still being made is discarded."""
    run = gateway.record.request_cancel(known_form(run_id))
    gateway.dispatcher.cancelled(run)
    return run_view(gateway.situation(run.id))
