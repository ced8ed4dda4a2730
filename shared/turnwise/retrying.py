"""Whether something that failed is tried again, and when: a rule, without a clock and without chance of its own.

| kind | what failed | tried again by default |
| --- | --- | --- |
| `rate_limit` | the provider said 429; how long to wait it may say itself | often |
| `unavailable` | no connection, a 5xx, an answer that breaks off or is none | a few times |
| `timeout` | no answer in the time that it may take | a few times |
| `refused` | the model, or the provider's filter, would not answer | no |
| `request` | the provider does not take the request (any other 4xx) | never: it would not take it then either |
| `tool` | a tool's handler raised an error | no; a tool has a policy of its own, `_retry` |
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from turnwise.errors import (
    CallCancelledError,
    CallTimeoutError,
    EnvironmentFault,
    ModelError,
    ModelRateLimitError,
    ModelRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    TurnwiseError,
)


class ErrorKind(str, Enum):
    """What kind of failure a policy of retries tells apart."""

    RATE_LIMIT = "rate_limit"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    REQUEST = "request"
    TOOL = "tool"


# How much longer than the provider asked for is waited at most, so that not all come back in one moment.
_POLITE = 0.1


class RetryPolicy(BaseModel):
    """How often, and after which waits, a failed call of a model or a tool is made again.

    - `tries`: how often a call is made at most, the first time included; 1 for no retry.
    - `rate_limit_tries`: the same for calls that the provider's rate limit refused, which says nothing of the call.
    - `first_wait`: seconds before the second try; each further wait is `factor` times as long, up to `longest_wait`.
    - `jitter`: the share of a wait that is left to chance, so that many that failed together do not come back together.
    - `kinds`: which failures are tried again at all. `request` never is.

    A wait that the provider asks for (`Retry-After`) is kept, also when it is longer than `longest_wait`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    NEVER: ClassVar[RetryPolicy]

    tries: int = Field(5, ge=1)
    rate_limit_tries: int = Field(20, ge=1)
    first_wait: float = Field(1.0, ge=0)
    factor: float = Field(2.0, ge=1)
    longest_wait: float = Field(60.0, gt=0)
    jitter: float = Field(0.25, ge=0, le=1)
    kinds: frozenset[ErrorKind] = frozenset(
        {ErrorKind.RATE_LIMIT, ErrorKind.UNAVAILABLE, ErrorKind.TIMEOUT, ErrorKind.TOOL}
    )

    def covers(self, kind: ErrorKind) -> bool:
        """Whether a failure of that kind is tried again at all."""
        return kind in self.kinds and kind is not ErrorKind.REQUEST and self.most(kind) > 1

    def most(self, kind: ErrorKind) -> int:
        """How often a call is made at most that fails like that."""
        return self.rate_limit_tries if kind is ErrorKind.RATE_LIMIT else self.tries

    def wait(self, kind: ErrorKind, failed: int, chance: float, asked_for: float | None = None) -> float | None:
        """Seconds until the next try after `failed` tries that failed with that kind; None to give up.

        `chance` is a number from 0 to 1; `asked_for` is how long the provider wants to be left alone.
        """
        if not self.covers(kind) or failed >= self.most(kind):
            return None
        # A power that no float holds would be an error, and is far above the longest wait.
        grown = self.first_wait * self.factor ** min(failed - 1, 64)
        own = min(grown, self.longest_wait) * (1 - self.jitter * chance)
        return own if asked_for is None else max(own, asked_for * (1 + _POLITE * chance))


RetryPolicy.NEVER = RetryPolicy(tries=1, rate_limit_tries=1)


def kind_of(error: BaseException) -> ErrorKind | None:
    """The kind of an error of a model's call; None for one that is no business of retries."""
    for kind, errors in _KINDS:
        if isinstance(error, errors):
            return kind
    return None


# The first that fits, so what is more special stands first.
_KINDS: tuple[tuple[ErrorKind | None, type[Exception]], ...] = (
    (ErrorKind.TIMEOUT, CallTimeoutError),
    (None, CallCancelledError),
    (ErrorKind.RATE_LIMIT, ModelRateLimitError),
    (ErrorKind.TIMEOUT, ModelTimeoutError),
    (ErrorKind.REFUSED, ModelRefusedError),
    (ErrorKind.REQUEST, ModelRequestError),
    (ErrorKind.UNAVAILABLE, ModelError),
)


def kind_of_handler_error(error: BaseException) -> ErrorKind | None:
    """The kind of an error that a tool's handler raised; None for one that is no business of retries.

    An error of a model that the handler called was tried again by then, where its agent's policy says so.
    """
    if isinstance(error, CallTimeoutError):
        return ErrorKind.TIMEOUT
    # Of our own errors only those that another moment may mend; not a limit, a cancellation or a mistake.
    if isinstance(error, TurnwiseError) and not isinstance(error, EnvironmentFault | ModelError):
        return None
    return ErrorKind.TOOL if isinstance(error, Exception) else None
