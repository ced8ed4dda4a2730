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

from turnwise.errors import (
    ConflictError,
    DatabaseUnavailableError,
    InvalidRequestError,
    NotFoundError,
    RepeatedRequestError,
)
from turnwise.record.roles.administrator import AdministratorRole
from turnwise.record.roles.tenant import TenantRole
from turnwise.record.runs.idempotency import Once
from turnwise_gateway.views import run_view

KEY = "Idempotency-Key"
# Where the request stands in its scope, for whoever has to look again.
ONCE = "turnwise.once"
PRINTABLE = r"^[^\x00-\x1f\x7f]*$"
LONGEST = 255
METHODS = ("POST", "PATCH")
# Of an answer that is given again.
_REPLAYED = {"Idempotent-Replayed": "true"}
# They make a run, and keep the key with it.
_MAKE_RUNS = ("submit", "fork_run")
# They change many runs, each in a transaction of its own, and keep the key with each; see `bulk`.
_IN_PARTS = ("cancel_runs", "retry_runs")


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
    digest = hashlib.sha256(json.dumps(said).encode()).hexdigest()
    return Once(tenant=tenant, key=key, digest=digest)


async def check_not_done(request: Request, record: TenantRole | AdministratorRole, *, pinned: bool) -> None:
    """Raise `RepeatedRequestError` if the request was done before, as a whole."""
    if getattr(request.scope.get("route"), "name", "") in _IN_PARTS:
        return
    request.scope[ONCE] = Pending(record, pinned)
    await run_in_threadpool(record.check_not_done)


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


async def answer_again(request: Request, error: RepeatedRequestError) -> JSONResponse | None:
    """The answer to a repeated request: the run that it was about; None if it was about none that is there."""
    pending = request.scope.get(ONCE)
    run_id = error.resource.partition(".")[0]
    if not isinstance(pending, Pending) or not isinstance(pending.record, TenantRole) or not run_id.startswith("run_"):
        return None
    try:
        now = await run_in_threadpool(pending.record.situation, run_id, pinned=pending.pinned)
    except NotFoundError:
        return None
    status = getattr(request.scope.get("route"), "status_code", None) or 200
    return JSONResponse(run_view(now).model_dump(mode="json"), status, headers=_REPLAYED)


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
