"""Cancelling and retrying many runs by a filter, page by page."""

from __future__ import annotations

import json
from collections.abc import Callable

from turnwise.api.runs import BulkView, Refusal
from turnwise.base.times import when
from turnwise.errors import (
    ConflictError,
    EnvironmentFault,
    InvalidRequestError,
    NotFoundError,
    RepeatedRequestError,
    TurnwiseError,
)
from turnwise.observability.telemetry.context import current_traceparent
from turnwise.record.past.retrying import RetryLimits
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.states import FINISHED, UNFINISHED, RunStatus
from turnwise.record.values.records import RunFilter
from turnwise_gateway.access.scopes import WRITES
from turnwise_gateway.bodies import BulkCancel, BulkRetry, RunSelection
from turnwise_gateway.gateway import Gateway, Here
from turnwise_gateway.http.problem import problems
from turnwise_gateway.http.router import api_router
from turnwise_gateway.parameters import seconds_of

router = api_router("runs", "/v1/runs")


_STATUSES = problems(400, 413, 415, 422, 503)


@router.post("/cancel", dependencies=[WRITES], responses=_STATUSES)
def cancel_runs(body: BulkCancel, gateway: Here) -> BulkView:
    """Ask for the end of all unfinished runs that match, a page at a time. Runs that have ended do not match.

    Repeating it is harmless; with an `Idempotency-Key`, no run is asked twice.
    """
    if body.filter.status in FINISHED:
        raise InvalidRequestError(f"runs with the status {body.filter.status} have ended; there is nothing to cancel")

    def cancel(record: TenantRole, run_id: str) -> None:
        gateway.dispatcher.cancelled(record.request_cancel(run_id))

    return _each(gateway, body, UNFINISHED, cancel)


@router.post("/retry", dependencies=[WRITES], responses=_STATUSES)
def retry_runs(body: BulkRetry, gateway: Here) -> BulkView:
    """Have all failed runs that match continue, a page at a time. A run that cannot is refused, and the others
    continue.

    Repeated, it retries those that have failed again; with the same `Idempotency-Key`, only those not retried yet.
    """
    if body.filter.status not in (None, RunStatus.FAILED):
        raise InvalidRequestError(f"only failed runs are retried, but the filter has the status {body.filter.status}")
    given = body.limits
    limits = RetryLimits(max_cost=given.max_cost, max_tokens=given.max_tokens, deadline=given.deadline)

    def retry(record: TenantRole, run_id: str) -> None:
        found, ask = record.retry(run_id, limits, traceparent=current_traceparent())
        gateway.dispatcher.continue_run(found, ask)

    return _each(gateway, body, (RunStatus.FAILED,), retry)


def _each(
    gateway: Gateway, body: BulkCancel, statuses: tuple[str, ...], change: Callable[[TenantRole, str], None]
) -> BulkView:
    before = seconds_of(body.filter.created_before, "created_before")
    before = gateway.record.now() if before is None else before
    found, following = gateway.record.runs(_filter(body.filter, statuses, before), body.cursor, body.limit)
    ids, refused = [run.id for run in found], []
    if not body.dry_run:
        # Sent again under the same key, a request has its first choice: others may match by now.
        ids, following, before = json.loads(gateway.record.keep_choice(json.dumps([ids, following, before])))
    for run_id in [] if body.dry_run else ids:
        try:
            _change_once(gateway.record.for_part(run_id), run_id, change)
        except RepeatedRequestError:  # this request has changed it, and was cut off later or sent again
            continue
        except EnvironmentFault:
            raise
        except TurnwiseError as error:
            refused.append(Refusal(run=run_id, code=error.code, detail=str(error)))
    return BulkView(
        matched=len(ids),
        changed=0 if body.dry_run else len(ids) - len(refused),
        runs=ids,
        refused=refused,
        created_before=when(before),
        next_cursor=following,
    )


def _change_once(record: TenantRole, run_id: str, change: Callable[[TenantRole, str], None]) -> None:
    """Change a run; raises `RepeatedRequestError` also if the run has ended or gone since the request changed it."""
    try:
        change(record, run_id)
    except (ConflictError, NotFoundError):
        record.check_not_done()
        raise


def _filter(given: RunSelection, statuses: tuple[str, ...], before: float) -> RunFilter:
    return RunFilter(
        statuses=(given.status,) if given.status else statuses,
        task=given.task,
        tag=given.tag,
        session_id=given.session,
        batch=given.batch,
        created_after=seconds_of(given.created_after, "created_after"),
        created_before=before,
        finished_after=seconds_of(given.finished_after, "finished_after"),
        errors=tuple(given.error) if given.error else None,
    )
