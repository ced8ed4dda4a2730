"""The errors that servers tell in their own words, by the HTTP status that the words stand for; no I/O.

A server that has begun to answer can no longer change its status. So it tells an error in the body of a 200.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from turnwise.errors import (
    ModelError,
    ModelRateLimitError,
    ModelRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from turnwise.errors.rate_limits import RateLimits
from turnwise.models.openai.config import OpenAIGPTConfig
from turnwise.models.openai.hints import address_hint, key_hint

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
# The status of an error in the body of a 200, by the codes and types of OpenAI and of servers that speak as it does.
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


@dataclass(frozen=True, kw_only=True, slots=True)
class ToldError:
    """An error as its server tells it; `code` and `type` may be of any JSON type."""

    code: object = None
    type: object = None
    reason: str

    @classmethod
    def of(cls, error: object) -> ToldError:
        """Return the error that is the `error` of a body: an object, or a text or number with some servers."""
        if not isinstance(error, dict):
            return cls(code=error, reason=str(error)[:500])
        message = error.get("message")
        reason = str(message) if message else json.dumps(error, default=str)[:500]
        return cls(code=error.get("code"), type=error.get("type"), reason=reason)

    @property
    def name(self) -> str:
        """The error with its code or type, as in `answered with ...`."""
        kind = None if self.code == self.reason else self.code
        return f"the error {kind or self.type}" if kind or self.type else "an error"

    @property
    def status(self) -> int | None:
        """The status that the error would have had as an answer; None where it does not say."""
        code = str(self.code)
        if code.isdecimal() and len(code) == 3 and 400 <= int(code) < 600:
            return int(code)
        # The code first: a type is wide, such as `invalid_request_error` for a wrong key.
        return _STATUS_OF_WORD.get(code) or _STATUS_OF_WORD.get(str(self.type))


def status_error(
    told: ToldError, status: int, text: str, limits: RateLimits | None, config: OpenAIGPTConfig
) -> ModelError:
    """The `ModelError` of an answer with that status."""
    if status == 429 and _NO_CREDIT not in (told.code, told.type):
        return ModelRateLimitError(text, retry_after=limits.retry_after if limits else None, limits=limits)
    if status in (408, 504):
        return ModelTimeoutError(text, may_have_cost=True)
    if status >= 500:
        return ModelUnavailableError(text, outage=status != _NOT_IMPLEMENTED)
    if status == 400 and told.code in _FILTERED:
        return ModelRefusedError(f"{text}; the provider's filter does not let it through")
    hint = _TOO_LONG if _is_too_long(told, status) else _hint(status, config)
    return ModelRequestError(f"{text}; {hint}" if hint else text)


def told_error(
    told: ToldError, text: str, limits: RateLimits | None, config: OpenAIGPTConfig, *, outage: bool = False
) -> ModelError:
    """The `ModelError` of an error in the body of a 200; `outage` is for one that names no status."""
    if (status := told.status) is None:
        return ModelUnavailableError(text, may_have_cost=True, outage=outage)
    error = status_error(told, status, text, limits, config)
    error.may_have_cost = status >= 500  # what it had answered until then
    return error


def _hint(status: int, config: OpenAIGPTConfig) -> str | None:
    if status == 401:
        return f"check {key_hint(config)}"
    if status == 404:
        return f"check the model's name, and {address_hint(config)} (it usually ends with /v1)"
    return _HINTS.get(status)


def _is_too_long(told: ToldError, status: int) -> bool:
    return status == 400 and (told.code == _TOO_LONG_CODE or _TOO_LONG_WORDS in told.reason.lower())
