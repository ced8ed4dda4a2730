"""Submitting runs, looking at them, and asking for their end."""

from __future__ import annotations

import logging
import re
import time
from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from turnwise.api.pages import Page
from turnwise.api.runs import RunView, RunWithTree, Status
from turnwise.base.ids import new_id
from turnwise.base.waits import HumanWait
from turnwise.bus.envelope import CancelNotice
from turnwise.errors import BrokerUnavailableError, InvalidRequestError, NotFoundError, UnknownTaskError
from turnwise.messages.wire import encode_document
from turnwise.observability.telemetry.context import current_traceparent
from turnwise.record.runs.records import NewRun, RunFilter, RunRecord
from turnwise.record.runs.wait_facts import LIMIT_CODES, Situation
from turnwise.record.states import RunStatus
from turnwise.record.tenants.caller import RUNS_WRITE
from turnwise.serving.moves.permits import permit
from turnwise.tasks.entry import document_of
from turnwise_gateway.access.scopes import READS, WRITES
from turnwise_gateway.bodies import RunChange, Submission
from turnwise_gateway.gateway import Gateway, Here
from turnwise_gateway.http.idempotency import LONGEST, PRINTABLE
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.request_metrics import ARRIVED
from turnwise_gateway.http.root_path import public
from turnwise_gateway.views import fresh, run_view, run_with_tree

logger = logging.getLogger(__name__)

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
    run = await run_in_threadpool(_submit, gateway, body, idempotency_key, run_id)
    gateway.observers.run_accepted(run, time.monotonic() - request.scope[ARRIVED])
    if wait:
        await _wait(gateway, request, run, wait)
    response.headers["Location"] = public(f"/v1/runs/{run.id}")
    # Of a run that was just accepted no more is known than it says itself, so nothing is read.
    begun = wait or run.started_at is not None
    return run_view(await run_in_threadpool(gateway.situation, run.id) if begun else fresh(run))


def _submit(gateway: Gateway, body: Submission, key: str | None, run_id: str) -> RunRecord:
    app, settings, limits = gateway.app, gateway.settings, body.limits
    version = version_of(gateway, body.version)
    if version == app.version and body.task not in app.tasks:
        known = ", ".join(app.tasks) or "none"
        raise UnknownTaskError(f"application {app.name!r} has no task {body.task!r}; it has: {known}")
    run, created = gateway.record.submit(
        NewRun(
            id=run_id,
            task=body.task,
            version=version,
            # What came over HTTP a human may have typed, so it is tainted.
            message=encode_document(document_of(body.message)),
            priority=body.priority,
            tags=tuple(body.tags),
            metadata=body.metadata,
            session_id=body.session_id,
            max_cost=settings.max_cost if limits.max_cost is None else limits.max_cost,
            max_tokens=settings.max_tokens if limits.max_tokens is None else limits.max_tokens,
            turns=limits.turns,
            on_limit=limits.on_limit,
            max_turns=settings.max_turns,
            deadline=settings.run_deadline if limits.deadline is None else limits.deadline,
            idempotency_key=key,
            body_hash=body.digest() if key else None,
            traceparent=current_traceparent(),
        )
    )
    if created:
        wake(gateway, run)
    return run


def version_of(gateway: Gateway, wanted: str | None) -> str:
    """The version of the application that a new run is for."""
    own = gateway.app.version
    if wanted not in (None, own) and not gateway.settings.pinned:
        raise InvalidRequestError(
            f"the run is for version {wanted!r}, but this server has version {own!r} and TURNWISE_VERSION_POLICY is "
            "adopt, so that any process may take any run; leave the version out"
        )
    return wanted or own


def wake(gateway: Gateway, run: RunRecord) -> None:
    """Tell a coordinator; what was committed is kept even if no one can be told now."""
    try:
        if gateway.settings.pinned:
            gateway.bus.wake(run.id, run.version)
        else:
            gateway.bus.wake(run.id)
    except BrokerUnavailableError as error:
        logger.warning(
            "Nobody was told of run %s, a sweep will find it: %s", run.id, error, extra={"action": "wake_failed"}
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
    status: Status | None = None,
    task: Filter = None,
    tag: Filter = None,
    session: Filter = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    cursor: Cursor = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Page[RunView]:
    """Runs, newest first."""
    filters = RunFilter(
        status=status,
        task=task,
        tag=tag,
        session_id=session,
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
        try:
            gateway.bus.publish_ask(permit(ask))
        except BrokerUnavailableError as error:
            logger.warning(
                "No worker was told of %s, a sweep will do it: %s", run.id, error, extra={"action": "publish_failed"}
            )
    return run_view(gateway.situation(run.id))


@router.post("/{run_id}/cancel", status_code=202, dependencies=[WRITES], responses=problems(404, 409, 503))
def cancel_run(run_id: str, gateway: Here) -> RunView:
    """End the run and its sub-tasks; it says `cancelled` once that is done. An answer still being made is discarded."""
    run = gateway.record.request_cancel(known_form(run_id))
    tell_cancelled(gateway, run)
    return run_view(gateway.situation(run.id))


def tell_cancelled(gateway: Gateway, run: RunRecord) -> None:
    """Tell a coordinator and the workers that the run is to end."""
    wake(gateway, run)
    try:
        gateway.bus.notify(CancelNotice(run=run.id))
    except BrokerUnavailableError as error:
        logger.warning(
            "Workers were not told to stop for %s: %s", run.id, error, extra={"action": "cancel_notice_failed"}
        )
