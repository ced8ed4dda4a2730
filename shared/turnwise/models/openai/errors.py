"""The OpenAI client's errors, told in ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import httpx2
import openai

from turnwise.base.cancellation import check_cancelled
from turnwise.errors import ModelError, ModelRequestError, ModelTimeoutError, ModelUnavailableError
from turnwise.models.limits.announcement import rate_limits
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.error_statuses import ToldError, status_error, told_error
from turnwise.models.openai.hints import address_hint
from turnwise.observability.redaction import redacted

_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


@contextmanager
def told_as_model_errors(config: OpenAIGPTConfig) -> Iterator[None]:
    """Turn what the client raises inside into a `ModelError` that names the model and the server.

    Of a call that was cancelled nothing is to be said of the server: it raises `CallCancelledError`.
    """
    base_url = config.base_url
    check_cancelled()
    if (fault := _fault_of(base_url)) is not None:
        raise _never_sent(f"model {config.chat_model} at {base_url}", fault, config)
    try:
        yield
    except (openai.APIError, httpx2.HTTPError) as error:
        check_cancelled()
        raise _model_error(error, base_url, config) from error


def _model_error(error: Exception, base_url: str, config: OpenAIGPTConfig) -> ModelError:
    """The `ModelError` that says what `error` means for the caller."""
    who = f"model {config.chat_model} at {base_url}"
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        return ModelTimeoutError(
            f"{who} did not answer in time; raise the configuration's timeout if it is slow", _was_sent(error)
        )
    if isinstance(error, openai.APIStatusError):
        text = f"{who} answered {error.status_code}: {_reason(error)}"
        return status_error(_told(error), error.status_code, text, rate_limits(error.response.headers), config)
    if isinstance(error, openai.APIConnectionError | httpx2.RequestError):
        cause = error.__cause__ or error
        if isinstance(cause, httpx2.TooManyRedirects):
            return ModelRequestError(f"{who} redirects without end; check {address_hint(config)}")
        if isinstance(cause, httpx2.DecodingError):
            why = f"its compressed body cannot be read ({redacted(str(cause))})"
            return ModelUnavailableError(f"{who} sent an unusable answer: {why}", True, outage=False)
        if isinstance(cause, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
            return _never_sent(who, str(cause), config)
        return ModelUnavailableError(
            f"no connection to {who}: {type(cause).__name__}: {redacted(str(cause))}; check that the server runs, and "
            f"{address_hint(config)}",
            _was_sent(error),
        )
    if isinstance(error, openai.APIError) and (told := _told(error)).status is not None:
        return told_error(told, f"{who} streamed the error {told.code or told.type}: {told.reason}", None, config)
    return ModelUnavailableError(f"{who} sent an unusable answer: {type(error).__name__}: {error}", True, outage=False)


@lru_cache(maxsize=256)
def _fault_of(base_url: str) -> str | None:
    """Say what is wrong with an address for which HTTP and the resolver raise errors of other kinds than theirs."""
    try:
        url = httpx2.URL(base_url)
        url.raw_host.decode("ascii").encode("idna")  # as the resolver does
    except (httpx2.InvalidURL, ValueError) as error:
        return str(error)
    return None if url.port is None or url.port < 2**16 else f"there is no port {url.port}"


def _never_sent(who: str, why: str, config: OpenAIGPTConfig) -> ModelRequestError:
    return ModelRequestError(
        f"no request can be sent to {who}: {redacted(why)}; check {address_hint(config)}, which "
        "begins with http:// or https://, and the headers of the configuration"
    )


def _was_sent(error: Exception) -> bool:
    """Return whether the request may have reached the server, which may have worked on it."""
    return not isinstance(error.__cause__ or error, _NEVER_SENT)


def _told(error: openai.APIError) -> ToldError:
    return ToldError(code=error.code, type=error.type, reason=_reason(error))


def _reason(error: openai.APIError) -> str:
    body = error.body
    if isinstance(body, dict) and body.get("message"):
        return str(body["message"])
    if isinstance(error, openai.APIStatusError):
        return (error.response.text or error.response.reason_phrase)[:500]
    return error.message
