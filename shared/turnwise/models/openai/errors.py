"""The OpenAI client's errors, told in ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import httpx2
import openai

from turnwise.base.cancellation import check_cancelled
from turnwise.errors import (
    ModelError,
    ModelRateLimitError,
    ModelRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from turnwise.errors.rate_limits import RateLimits
from turnwise.models.limits.announcement import rate_limits
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.hints import address_hint, key_hint
from turnwise.observability.redaction import redacted

_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_HINTS = {
    403: "the key may not use this model, or the server refuses this place",
    413: "the request is too large for the server",
    429: "the account has no credit left, or none for this model",
}
# The only 5xx that no waiting helps.
_NOT_IMPLEMENTED = 501
# OpenAI's error code, and the words that other servers use.
_TOO_LONG_CODE, _TOO_LONG_WORDS = "context_length_exceeded", "context length"
# Of an account that is used up; no waiting helps.
_NO_CREDIT = "insufficient_quota"
_FILTERED = ("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation")
# The status of an error within a stream, by the codes and types of OpenAI and of servers that speak as it does.
_STATUS_OF_WORD = {
    **dict.fromkeys(("invalid_request_error", _TOO_LONG_CODE, *_FILTERED), 400),
    **dict.fromkeys(("authentication_error", "invalid_api_key"), 401),
    "permission_error": 403,
    **dict.fromkeys(("not_found_error", "model_not_found"), 404),
    "request_too_large": 413,
    **dict.fromkeys(("rate_limit_error", "rate_limit_exceeded", _NO_CREDIT), 429),
    **dict.fromkeys(("server_error", "internal_server_error", "api_error"), 500),
    **dict.fromkeys(("overloaded_error", "service_unavailable"), 503),
    "timeout_error": 504,
}
_TOO_LONG = (
    "set chat_context_length, so that old messages are shortened in time, or max_output_tokens, if the answer takes "
    "too much of it"
)


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
        return _status_error(error, error.status_code, text, rate_limits(error.response.headers), config)
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
    if isinstance(error, openai.APIError) and (status := _streamed_status(error)) is not None:
        text = f"{who} streamed the error {error.code or error.type}: {_reason(error)}"
        told = _status_error(error, status, text, None, config)
        told.may_have_cost = status >= 500  # what it had answered until then
        return told
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


def _streamed_status(error: openai.APIError) -> int | None:
    """The status that an error within a stream would have had as an answer; None where it does not say."""
    code = str(error.code)
    if code.isdecimal() and len(code) == 3 and 400 <= int(code) < 600:
        return int(code)
    # The code first: a type is wide, such as `invalid_request_error` for a wrong key.
    return _STATUS_OF_WORD.get(code) or _STATUS_OF_WORD.get(str(error.type))


def _status_error(
    error: openai.APIError, status: int, text: str, limits: RateLimits | None, config: OpenAIGPTConfig
) -> ModelError:
    if status == 429 and _NO_CREDIT not in (error.code, error.type):
        return ModelRateLimitError(text, retry_after=limits.retry_after if limits else None, limits=limits)
    if status in (408, 504):
        return ModelTimeoutError(text, may_have_cost=True)
    if status >= 500:
        return ModelUnavailableError(text, outage=status != _NOT_IMPLEMENTED)
    if status == 400 and error.code in _FILTERED:
        return ModelRefusedError(f"{text}; the provider's filter does not let it through")
    hint = _TOO_LONG if _is_too_long(error, status) else _hint(status, config)
    return ModelRequestError(f"{text}; {hint}" if hint else text)


def _hint(status: int, config: OpenAIGPTConfig) -> str | None:
    if status == 401:
        return f"check {key_hint(config)}"
    if status == 404:
        return f"check the model's name, and {address_hint(config)} (it usually ends with /v1)"
    return _HINTS.get(status)


def _is_too_long(error: openai.APIError, status: int) -> bool:
    return status == 400 and (error.code == _TOO_LONG_CODE or _TOO_LONG_WORDS in _reason(error).lower())


def _reason(error: openai.APIError) -> str:
    body = error.body
    if isinstance(body, dict) and body.get("message"):
        return str(body["message"])
    if isinstance(error, openai.APIStatusError):
        return (error.response.text or error.response.reason_phrase)[:500]
    return error.message
