"""Requests with an `Idempotency-Key`: each is done once, however often it is sent.

Every route that changes something with POST or PATCH takes the key, because it is read where the route gets its record
(`gateway.Here`, `gateway.Administered`, `gateway.Operated`). The record writes it in the transaction of the change. A
repeated request ends there, and is answered here with what it was about, as that is now.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from turnwise.api.batches import BatchView
from turnwise.api.runs import RunView
from turnwise.api.schedules import ScheduleView
from turnwise.api.webhooks import WebhookView
from turnwise.errors import (
    ConflictError,
    DatabaseUnavailableError,
    InvalidRequestError,
    NotFoundError,
    RepeatedRequestError,
)
from turnwise.record.roles.administrator import AdministratorRole
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.runs.submission import ids_of_batch
from turnwise.record.transaction.idempotency import Once
from turnwise_gateway.batch_views import batch_view
from turnwise_gateway.schedule_views import schedule_view
from turnwise_gateway.views import run_view
from turnwise_gateway.webhook_views import webhook_view

KEY = "Idempotency-Key"
SESSION = "X-Session-Id"
# Where the request stands in its scope, for whoever has to look again.
ONCE = "turnwise.once"
# And the run that it was about, or the question of one, of a repeated request whose route answers it.
REPEATED = "turnwise.repeated"
PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
LONGEST = 255
METHODS = ("POST", "PATCH")
# Of an answer that is given again.
REPLAYED = {"Idempotent-Replayed": "true"}
# They make a run, and keep the key with it.
_MAKE_RUNS = ("submit", "fork_run")
# They show the run that the request was about in words of their own.
_ANSWER_AGAIN = ("create_chat_completion", "create_response")
# Its answer is the webhook as it is now; other requests about webhooks are told that they were done.
_CHANGES_WEBHOOK = "change_webhook"
# They change many runs, each in a transaction of its own, and keep the key with each; see `bulk`.
_IN_PARTS = ("cancel_runs", "retry_runs", "cancel_batch", "retry_batch")


@dataclass(frozen=True, slots=True)
class Pending:
    """A request that is to be done once, and the record that it got."""

    record: TenantRole | AdministratorRole
    pinned: bool


async def once_of(request: Request, tenant: str) -> Once | None:
    """The request's idempotency key with what the request says; None if it has none, or keeps it with a run."""
    key = request.headers.get(KEY)
    if key is None or request.method not in METHODS or getattr(request.scope.get("route"), "name", "") in _MAKE_RUNS:
        return None
    if not 0 < len(key) <= LONGEST or not re.match(PRINTABLE, key):
        raise InvalidRequestError(f"{KEY} has to be 1 to {LONGEST} printable characters")
    said = [request.method, request.url.path, _canonical(await request.body())]
    if SESSION in request.headers:  # some clients cannot name it in the body
        said.append(request.headers[SESSION])
    digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()
    return Once(tenant=tenant, key=key, digest=digest)


async def check_not_done(request: Request, record: TenantRole | AdministratorRole, *, pinned: bool) -> None:
    """Raise `RepeatedRequestError` if the request was done before, as a whole."""
    name = getattr(request.scope.get("route"), "name", "")
    if name in _IN_PARTS:
        return
    request.scope[ONCE] = Pending(record, pinned)
    try:
        await run_in_threadpool(record.check_not_done)
    except RepeatedRequestError as error:
        if name not in _ANSWER_AGAIN:
            raise
        request.scope[REPEATED] = error.resource


async def done_meanwhile(request: Request) -> RepeatedRequestError | None:
    """Look again after a conflict: the same request, sent at the same time, may have been what it conflicts with."""
    pending = request.scope.get(ONCE)
    if not isinstance(pending, Pending):
        return None
    try:
        await run_in_threadpool(pending.record.check_not_done)
    except RepeatedRequestError as error:
        return error
    except (ConflictError, DatabaseUnavailableError):  # what the request was refused for is what it is told
        return None
    return None


async def is_repeated(request: Request) -> bool:
    """Return whether a request that met a conflict was done meanwhile; its scope says then what it was about."""
    error = await done_meanwhile(request)
    if error is not None:
        request.scope[REPEATED] = error.resource
    return error is not None


async def answer_again(request: Request, error: RepeatedRequestError) -> JSONResponse | None:
    """The answer to a repeated request: the run or batch that it was about; None if it was about none that is there."""
    pending = request.scope.get(ONCE)
    if not isinstance(pending, Pending) or not isinstance(pending.record, TenantRole):
        return None
    if error.resource.startswith("hook_") and getattr(request.scope.get("route"), "name", "") != _CHANGES_WEBHOOK:
        return None  # the first answer had a secret, or told of what was sent
    view = await run_in_threadpool(_now, pending.record, error.resource, pinned=pending.pinned)
    if view is None:
        return None
    status = getattr(request.scope.get("route"), "status_code", None) or 200
    return JSONResponse(view.model_dump(mode="json"), status, headers=REPLAYED)


def _now(record: TenantRole, resource: str, *, pinned: bool) -> RunView | BatchView | ScheduleView | WebhookView | None:
    """The run, batch, schedule or webhook of a request, as it is now; None if it was about another thing."""
    if (batch := ids_of_batch(resource)) is not None:
        known = {now.run.id: now.run for now in record.situations(batch, pinned=pinned)}
        found = [known[run_id] for run_id in batch if run_id in known]
        batch_id = found[0].batch_id if len(found) == len(batch) else None
        return None if batch_id is None else batch_view(record.batches.batch_progress(batch_id), found)
    run_id = run_of(resource)
    try:
        if resource.startswith("sch_"):
            schedule = record.schedules.schedule(resource)
            return schedule_view(schedule, record.schedules.last_ticks([schedule.id]).get(schedule.id))
        if resource.startswith("hook_"):
            return webhook_view(record.webhooks.webhook(resource))
        if resource.startswith("bat_"):
            return batch_view(record.batches.batch_progress(resource))
        return run_view(record.situation(run_id, pinned=pinned)) if run_id.startswith("run_") else None
    except NotFoundError:
        return None


def run_of(resource: str) -> str:
    """The run that a request about a run, or about an ask of one, was about."""
    return resource.partition(".")[0]


def parameter() -> dict[str, Any]:
    """The header in the API's description."""
    schema = {
        "anyOf": [{"type": "string", "minLength": 1, "maxLength": LONGEST, "pattern": PRINTABLE}, {"type": "null"}]
    }
    told = "A request with the same key and body is done once. The answer to a repeated one shows the run as it is now."
    return {"name": KEY.lower(), "in": "header", "required": False, "schema": schema, "description": told}


def _canonical(body: bytes) -> str:
    try:
        return json.dumps(json.loads(body), sort_keys=True, separators=(",", ":"))
    except (ValueError, RecursionError):
        return hashlib.sha256(body).hexdigest()
