"""The rules of sending a request: what goes over the line, what a failure means, when to send it again. No I/O."""

from __future__ import annotations

import json
import uuid
from dataclasses import replace
from typing import Any, Generic, TypeVar

import httpx2

from turnwise.client.errors import error_of, retry_after, unavailable
from turnwise.client.request import Json, Request, check_texts
from turnwise.errors import InvalidRequestError, TurnwiseError
from turnwise.observability.telemetry.context import current_traceparent

T = TypeVar("T")

CONNECT_SECONDS = 5.0
# Each run whose events are read holds a connection for as long as it lasts, so there is no most.
LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
# Answers after which the same request may succeed: a proxy or a database was away for a moment.
_PASSING = (502, 503, 504)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 3.0


class Exchange(Generic[T]):
    """One request and its repetitions, at most `retries`.

    A request that changes something gets an idempotency key where it may be repeated, so that it is done once.
    Raises `InvalidRequestError` for one that cannot be sent.
    """

    def __init__(self, request: Request[T], base_url: str, retries: int) -> None:
        if retries and request.takes_key and request.idempotency_key is None:
            request = replace(request, idempotency_key=uuid.uuid4().hex)
        for value in request.params.values():
            check_texts(value if isinstance(value, list | tuple) else (value,))
        self._request = request
        self._content = None if request.body is None else _encoded(request.body)
        key = request.idempotency_key
        if key is not None and not (key.isascii() and key.isprintable()):
            raise InvalidRequestError(f"the idempotency key is {key!r}; expected visible ASCII characters")
        self._base_url = base_url
        self._left = retries if request.repeatable else 0
        self._pause = _FIRST_PAUSE

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of httpx for sending it."""
        key = self._request.idempotency_key
        headers = {} if key is None else {"Idempotency-Key": key}
        if self._content is not None:
            headers["Content-Type"] = "application/json"
        return {
            "method": self._request.method,
            "url": self._request.path,
            "params": dict(self._request.params),
            "content": self._content,
            "headers": traced(headers),
            "timeout": httpx2.Timeout(self._request.seconds, connect=CONNECT_SECONDS),
        }

    def after_failure(self, error: httpx2.TransportError) -> float:
        """Return the seconds until it is sent again; raises `GatewayUnavailableError` if it is not."""
        if not self._left:
            raise unavailable(self._base_url, error) from error
        return self._next_pause()

    def after_answer(self, response: httpx2.Response) -> float | None:
        """Return the seconds until it is sent again, None for the answer that was asked for; raises its refusal."""
        if response.is_success:
            return None
        if not self._left or response.status_code not in _PASSING:
            raise error_of(response)
        return max(self._next_pause(), min(retry_after(response) or 0.0, _LONGEST_PAUSE))

    def result(self, response: httpx2.Response) -> T:
        """Return what the answer says."""
        try:
            return self._request.read(response)
        except (ValueError, RecursionError) as error:
            raise TurnwiseError(
                f"{response.request.url} answered {response.status_code} with a document that is not one of this API; "
                f"is it a gateway? ({error})"
            ) from error

    def _next_pause(self) -> float:
        self._left -= 1
        pause, self._pause = self._pause, min(2 * self._pause, _LONGEST_PAUSE)
        return pause


def _encoded(body: Json) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequestError(f"the request cannot be written as JSON: {error}") from error


def traced(headers: dict[str, str]) -> dict[str, str]:
    """Return the headers with the span that is current here."""
    traceparent = current_traceparent()
    return headers if traceparent is None else {**headers, "traceparent": traceparent}
