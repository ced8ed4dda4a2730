"""The OpenAI client's errors, told in ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx2
import openai

from turnwise.errors import ModelError, ModelRateLimitError, ModelRequestError, ModelUnavailableError

_HINTS = {
    401: "check OPENAI_API_KEY or the configuration's api_key",
    403: "the key may not use this model, or the server refuses this place",
    404: "check the model's name, and OPENAI_BASE_URL or api_base (it usually ends with /v1)",
    413: "the request is too large for the server",
}
# OpenAI's error code, and the words that other servers use.
_TOO_LONG_CODE, _TOO_LONG_WORDS = "context_length_exceeded", "context length"
_TOO_LONG = (
    "set chat_context_length, so that old messages are shortened in time, or max_output_tokens, if the answer takes "
    "too much of it"
)


@contextmanager
def told_as_model_errors(model: str, base_url: str) -> Iterator[None]:
    """Turn what the client raises inside into a `ModelError` that names the model and the server."""
    try:
        yield
    except (openai.APIError, httpx2.HTTPError) as error:
        raise model_error(error, model, base_url) from error


def model_error(error: Exception, model: str, base_url: str) -> ModelError:
    """The `ModelError` that says what `error` means for the caller."""
    who = f"model {model} at {base_url}"
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
        return ModelUnavailableError(f"{who} did not answer in time; raise the configuration's timeout if it is slow")
    if isinstance(error, openai.APIStatusError):
        return _status_error(error, who)
    if isinstance(error, openai.APIConnectionError | httpx2.TransportError):
        cause = error.__cause__ or error
        return ModelUnavailableError(
            f"no connection to {who}: {type(cause).__name__}: {cause}; check that the server runs and "
            "OPENAI_BASE_URL or api_base is right"
        )
    return ModelUnavailableError(f"{who} sent an unusable answer: {type(error).__name__}: {error}")


def _status_error(error: openai.APIStatusError, who: str) -> ModelError:
    status = error.status_code
    text = f"{who} answered {status}: {_reason(error)}"
    if status == 429:
        return ModelRateLimitError(text, retry_after=_retry_after(error.response.headers))
    if status >= 500 or status == 408:
        return ModelUnavailableError(text)
    hint = _TOO_LONG if _is_too_long(error) else _HINTS.get(status)
    return ModelRequestError(f"{text}; {hint}" if hint else text)


def _is_too_long(error: openai.APIStatusError) -> bool:
    return error.status_code == 400 and (error.code == _TOO_LONG_CODE or _TOO_LONG_WORDS in _reason(error).lower())


def _reason(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict) and body.get("message"):
        return str(body["message"])
    return (error.response.text or error.response.reason_phrase)[:500]


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by `retry-after-ms` or `retry-after` (seconds or an HTTP date), where told."""
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        value = headers.get("retry-after")
        if not value:
            return None
        if value.replace(".", "", 1).isdigit():
            return float(value)
        at = parsedate_to_datetime(value)
        return max(0.0, (at.replace(tzinfo=at.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    except ValueError:
        return None
