"""The OpenAI client's errors, told in ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

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
from turnwise.models.limits.announcement import rate_limits
from turnwise.observability.redaction import redacted

_NEVER_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
_HINTS = {
    401: "check OPENAI_API_KEY or the configuration's api_key",
    403: "the key may not use this model, or the server refuses this place",
    404: "check the model's name, and OPENAI_BASE_URL or api_base (it usually ends with /v1)",
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
_TOO_LONG = (
    "set chat_context_length, so that old messages are shortened in time, or max_output_tokens, if the answer takes "
    "too much of it"
)


@contextmanager
def told_as_model_errors(model: str, base_url: str) -> Iterator[None]:
    """Turn what the client raises inside into a `ModelError` that names the model and the server.

    Of a call that was cancelled nothing is to be said of the server: it raises `CallCancelledError`.
    """
    check_cancelled()
    try:
        yield
    except (openai.APIError, httpx2.HTTPError) as error:
        check_cancelled()
        raise model_error(error, model, base_url) from error


def model_error(error: Exception, model: str, base_url: str) -> ModelError:
    """The `ModelError` that says what `error` means for the caller."""
    who = f"model {model} at {base_url}"
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        return ModelTimeoutError(
            f"{who} did not answer in time; raise the configuration's timeout if it is slow", _was_sent(error)
        )
    if isinstance(error, openai.APIStatusError):
        return _status_error(error, who)
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError):
        cause = error.__cause__ or error
        if isinstance(cause, httpx2.UnsupportedProtocol | httpx2.LocalProtocolError):
            return ModelRequestError(
                f"no request can be sent to {who}: {redacted(str(cause))}; check OPENAI_BASE_URL or api_base, which "
                "begins with http:// or https://, and the headers of the configuration"
            )
        return ModelUnavailableError(
            f"no connection to {who}: {type(cause).__name__}: {redacted(str(cause))}; check that the server runs and "
            "OPENAI_BASE_URL or api_base is right",
            _was_sent(error),
        )
    return ModelUnavailableError(f"{who} sent an unusable answer: {type(error).__name__}: {error}", True, outage=False)


def _was_sent(error: Exception) -> bool:
    """Return whether the request may have reached the server, which may have worked on it."""
    return not isinstance(error.__cause__ or error, _NEVER_SENT)


def _status_error(error: openai.APIStatusError, who: str) -> ModelError:
    status = error.status_code
    text = f"{who} answered {status}: {_reason(error)}"
    if status == 429 and error.code != _NO_CREDIT:
        limits = rate_limits(error.response.headers)
        return ModelRateLimitError(text, retry_after=limits.retry_after if limits else None, limits=limits)
    if status in (408, 504):
        return ModelTimeoutError(text, may_have_cost=True)
    if status >= 500:
        return ModelUnavailableError(text, outage=status != _NOT_IMPLEMENTED)
    if status == 400 and error.code in _FILTERED:
        return ModelRefusedError(f"{text}; the provider's filter does not let it through")
    hint = _TOO_LONG if _is_too_long(error) else _HINTS.get(status)
    return ModelRequestError(f"{text}; {hint}" if hint else text)


def _is_too_long(error: openai.APIStatusError) -> bool:
    return error.status_code == 400 and (error.code == _TOO_LONG_CODE or _TOO_LONG_WORDS in _reason(error).lower())


def _reason(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and body.get("message"):
        return str(body["message"])
    return (error.response.text or error.response.reason_phrase)[:500]
