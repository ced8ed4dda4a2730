"""Submitting runs, looking at them, and asking for their end."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from fastapi import Query, Request, Response
from starlette.concurrency import run_in_threadpool

from turnwise.api.pages import Page
from turnwise.api.runs import RunView, RunWithTree, Status
from turnwise.base.ids import new_id
from turnwise.base.waits import HumanWait
from turnwise.errors import EnvironmentFault, InvalidRequestError
from turnwise.record.runs.wait_facts import LIMIT_CODES, Situation
from turnwise.record.states import RunStatus
from turnwise.record.tenants.caller import RUNS_WRITE
from turnwise.record.values.records import RunFilter, RunRecord
from turnwise_gateway.access.scopes import READS, WRITES
from turnwise_gateway.bodies import RunChange, Submission
from turnwise_gateway.gateway import Gateway, Here, Who
from turnwise_gateway.http.idempotency import PRINTABLE, REPLAYED
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.request_metrics import ARRIVED
from turnwise_gateway.http.root_path import public
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import Cursor, Filter, IdempotencyKey, known_form, seconds_of
from turnwise_gateway.submission import new_run, submit_with_move, submit_without_move
from turnwise_gateway.views import fresh, run_view, run_with_tree
from turnwise_gateway.webhooks import new_webhook, told

router = api_router("runs", "/v1/runs")

_MAX_WAIT = 300.0


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
        if idempotency_key is not None:
            known = await run_in_threadpool(gateway.record.submitted, idempotency_key, new.body_hash)
        if known is None:
            new = replace(new, webhook=await new_webhook(gateway, body.webhook, caller))
    run = await run_in_threadpool(accept, gateway, new) if known is None else known
    gateway.observers.run_accepted(run, time.monotonic() - request.scope[ARRIVED])
    response.headers["Location"] = public(f"/v1/runs/{run.id}")
    situation = fresh(run)
    with suppress(EnvironmentFault):  # the run is accepted, whatever cannot be read of it now
        if wait:
            await _wait(gateway, request, run, wait)
        # Of a run that was just accepted no more is known than it says itself, so nothing is read.
        if wait or run.started_at is not None:
            situation = await run_in_threadpool(gateway.situation, run.id)
    view = run_view(situation)
    if run.id != run_id:
        response.headers.update(REPLAYED)
        return view
    return view.model_copy(update={"webhook": told(new.webhook)})


async def _wait(gateway: Gateway, request: Request, run: RunRecord, seconds: float) -> None:
    end = time.monotonic() + seconds
    with gateway.watch.of(run.id) as watcher, gateway.admission.of(request, watcher, RUNS_WRITE) as admitted:
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
