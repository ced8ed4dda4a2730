"""Errors of the answers with which the gateway refuses a request."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import signature

import httpx2

from turnwise.base.retry_after import seconds_asked
from turnwise.client.address import unreachable
from turnwise.errors import (
    ConflictError,
    EnvironmentFault,
    GatewayUnavailableError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    QuotaExceededError,
    RequestTooLargeError,
    TurnwiseError,
    UnauthorizedError,
)
from turnwise.observability.redaction import redact

# For codes that are no class's own.
_BY_STATUS: dict[int, type[TurnwiseError]] = {
    401: UnauthorizedError,
    403: PermissionDeniedError,
    404: NotFoundError,
    413: RequestTooLargeError,
    503: EnvironmentFault,
}

# A proxy answers with these while the gateways behind it restart.
_OF_PROXIES = (502, 503, 504)


def error_of(response: httpx2.Response) -> TurnwiseError:
    """The error for an unsuccessful response, by its code; its text is the problem's `detail`."""
    try:
        body = response.json()
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or "code" not in body:
        if response.status_code in _OF_PROXIES:
            return GatewayUnavailableError(
                f"{response.request.url} answered {response.status_code} without a problem document: a proxy is there, "
                "and no gateway behind it answers at the moment"
            )
        if response.status_code == 429:
            return QuotaExceededError(
                f"{response.request.url} answered 429 without a problem document: a proxy in front of the gateway "
                "limits requests; try again later",
                retry_after=retry_after(response),
            )
        found = redirection(response) or "no problem document"
        return TurnwiseError(f"{response.request.url} answered {response.status_code} with {found}; is it a gateway?")
    code, detail = str(body["code"]), str(body.get("detail", ""))
    if response.status_code == 409:
        return ConflictError(detail, code)
    if response.status_code == 429:
        return QuotaExceededError(detail, code, retry_after(response))
    known = {kind.code: kind for kind in _tree(TurnwiseError)}.get(code)
    if known is not None and _takes_a_text(known):
        return known(detail)
    fallback = InvalidRequestError if response.status_code < 500 else TurnwiseError
    return _BY_STATUS.get(response.status_code, fallback)(detail)


def redirection(response: httpx2.Response) -> str | None:
    """Return the words for where the answer refers to; None if it refers to nothing."""
    to = response.headers.get("Location")
    return f"a redirection to {to}" if to else None


def retry_after(response: httpx2.Response) -> float | None:
    """Return the seconds after which the gateway asks to be tried again; None if it names none."""
    return seconds_asked(response.headers.get("Retry-After", ""), response.headers.get("Date", ""))


def _tree(kind: type[TurnwiseError]) -> Iterator[type[TurnwiseError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _tree(below)


def _takes_a_text(kind: type[TurnwiseError]) -> bool:
    """Return whether the error can be made of its text alone, which is all that an answer has of it."""
    try:
        signature(kind.__init__).bind(None, "")
    except TypeError:
        return False
    return True


def unavailable(base_url: str, error: httpx2.TransportError) -> GatewayUnavailableError:
    """Return what to say when the gateway cannot be reached, or went away before it answered."""
    if isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout)):
        return unreachable(base_url, error)
    return GatewayUnavailableError(
        f"the gateway at {redact(base_url)} did not answer ({type(error).__name__}: {error}); what was asked may have "
        "been done"
    )
