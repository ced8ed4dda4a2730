"""Errors as RFC 9457 problem documents, each with a code that stays the same."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from turnwise.base.text import excerpt
from turnwise.errors import (
    ConflictError,
    EnvironmentFault,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    QuotaExceededError,
    RepeatedRequestError,
    RequestTooLargeError,
    TurnwiseError,
    UnauthorizedError,
    UnknownTaskError,
)
from turnwise.observability.redaction import redact_beginning
from turnwise_gateway.http.idempotency import answer_again, done_meanwhile
from turnwise_gateway.http.readable_json import readable
from turnwise_gateway.http.root_path import public

logger = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
# A body may hold a hundred thousand faults, and names of any length; no one reads more of them.
_MOST_FAULTS, _LONGEST_MESSAGE = 20, 1_000
# Seconds after which a client may try again what failed for want of the database.
_RETRY_AFTER = "2"

# The first class that fits counts.
_STATUS: tuple[tuple[type[TurnwiseError], int], ...] = (
    (UnknownTaskError, 422),
    (RequestTooLargeError, 413),
    (InvalidRequestError, 422),
    (UnauthorizedError, 401),
    (PermissionDeniedError, 403),
    (QuotaExceededError, 429),
    (NotFoundError, 404),
    (ConflictError, 409),
    (EnvironmentFault, 503),
)
_CODES = {400: "invalid_json", 401: "unauthorized", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}


class Fault(BaseModel):
    """One thing that is wrong with a request: where, and what."""

    where: str = Field(examples=["body.limits.turns"])
    message: str


class Problem(BaseModel):
    """An error (RFC 9457); programs read `code`, people read `detail`."""

    type: str = "about:blank"
    title: str
    status: int
    code: str = Field(examples=["unknown_task"])
    detail: str
    errors: list[Fault] | None = None
    more_errors: int | None = Field(None, description="How many faults there are beside those in `errors`.")


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    errors: list[Fault] | None = None,
    more_errors: int | None = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """The response for an error."""
    body = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        code=code,
        detail=redact_beginning(detail),
        errors=errors,
        more_errors=more_errors or None,
    )
    # What is wrong is quoted, also where it is what UTF-8 has no bytes for.
    return JSONResponse(readable(body.model_dump(exclude_none=True)), status, headers, MEDIA_TYPE)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Those error responses, for a route's `responses`."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": HTTPStatus(status).phrase, "content": content} for status in statuses}


def handle_problems(api: FastAPI) -> None:
    """Have every error of `api` answered with a problem document."""
    api.add_exception_handler(TurnwiseError, _own)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(HTTPException, _http)
    api.add_exception_handler(Exception, _unexpected)


async def _own(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, TurnwiseError)
    repeated: TurnwiseError | None = error
    if isinstance(error, (ConflictError, NotFoundError)) and not isinstance(error, RepeatedRequestError):
        repeated = await done_meanwhile(request)
    if isinstance(repeated, RepeatedRequestError):
        return await answer_again(request, repeated) or refusal(repeated)
    return refusal(error)


def refusal(error: TurnwiseError) -> JSONResponse:
    """The response for an error of ours."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    if error.code == "idempotency_mismatch":
        status = 422
    if status >= 500:
        logger.error("A request failed: %s", error, extra={"action": "request_failed", "code": error.code})
    return problem(status, error.code, str(error), headers=_headers(status, error))


def _headers(status: int, error: TurnwiseError) -> dict[str, str] | None:
    if status == 401:
        return {"WWW-Authenticate": "Bearer"}
    if status == 503:
        return {"Retry-After": _RETRY_AFTER}
    if isinstance(error, QuotaExceededError) and error.retry_after is not None:
        return {"Retry-After": str(math.ceil(error.retry_after))}
    return None


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    if faults and faults[0]["type"] == "json_invalid":
        reason = faults[0].get("ctx", {}).get("error", "it cannot be read")
        at = faults[0]["loc"][-1]
        return problem(400, "invalid_json", f"the body is not JSON: {reason} at character {at}")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json" and any(fault["loc"] == ("body",) and fault["input"] for fault in faults):
        return problem(
            415, "unsupported_media_type", f"the body came as {kind or 'no type'}; send Content-Type: application/json"
        )
    told = [Fault(where=_where(fault), message=_told(fault)) for fault in faults[:_MOST_FAULTS]]
    more = len(faults) - len(told)
    code = "unwritable" if any(fault["type"] == "unwritable" for fault in faults) else "invalid_request"
    detail = all_told((f"{one.where}: {one.message}" for one in told), more)
    return problem(422, code, detail, errors=told, more_errors=more)


def all_told(faults: Iterable[str], more: int) -> str:
    """Faults in one sentence, with the number of those that are not told."""
    return "; ".join((*faults, *([f"and {more:,} more"] if more else ())))


def _where(fault: dict[str, Any]) -> str:
    return excerpt(".".join(map(str, fault["loc"])))


def _told(fault: dict[str, Any]) -> str:
    if fault["type"] == "extra_forbidden":
        return f"no such field; see {public('/docs')} for those that there are"
    return excerpt(str(fault["msg"]).removeprefix("Value error, "), _LONGEST_MESSAGE)


async def _http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    path = excerpt(request.url.path)
    detail = {
        404: f"there is nothing at {path}; see {public('/docs')} for what there is",
        405: f"{request.method} is not possible at {path}; see {public('/docs')} for what is",
    }.get(error.status_code, str(error.detail))
    code, headers = _CODES.get(error.status_code, "error"), dict(error.headers or {})
    if error.status_code == 405:
        headers["Allow"] = _allowed(request)
    return problem(error.status_code, code, detail, headers=headers or None)


def _allowed(request: Request) -> str:
    """The methods of all routes of the path; a framework's 405 names those of the first alone."""
    routes = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
    return ", ".join(sorted({method for route in routes for method in route.methods}))


async def _unexpected(_request: Request, _error: Exception) -> JSONResponse:
    # The server raises the error once more after this answer, and so writes its traceback to the log.
    return problem(500, "internal", "this server has a fault of its own; its log tells more")
