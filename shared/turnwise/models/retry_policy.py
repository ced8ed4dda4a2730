"""The policy of retries after a failure: a rule, without a clock and without chance of its own.

| kind | what failed | tried again by default | an outage |
| --- | --- | --- | --- |
| `rate_limit` | the provider said 429; how long to wait it may say itself | often | no |
| `unavailable` | no connection, a connection that breaks off, a 5xx | a few times | yes |
| `unavailable` | an answer that is none, a 501 | a few times | no: it would be none again |
| `timeout` | the provider, or its proxy, gave no answer in its time | a few times | yes |
| `timeout` | one answer took longer than its agent allows (`answer_timeout`) | a few times | no: it may be a long one |
| `refused` | the model, or the provider's filter, would not answer | no | no |
| `request` | the provider does not take the request (any other 4xx) | never: it would not take it then either | no |
| `tool` | a tool's handler raised an error | no; a tool has a policy of its own, `_retry` | no |

An outage is no one's failure: a served run waits for its end, see `RetryPolicy.on_outage`.
"""

from __future__ import annotations

from enum import Enum
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from turnwise.base.backoff import backoff
from turnwise.errors import (
    CallCancelledError,
    CallTimeoutError,
    EnvironmentFault,
    ModelError,
    ModelRateLimitError,
    ModelRefusedError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
    TurnwiseError,
)


class ErrorKind(str, Enum):
    """The kind of failure that a policy of retries distinguishes."""

    RATE_LIMIT = "rate_limit"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    REFUSED = "refused"
    REQUEST = "request"
    TOOL = "tool"


# How much longer than the provider asked for is waited at most, so that not all come back in one moment.
_POLITE = 0.1


class RetryPolicy(BaseModel):
    """The number of retries of a failed call of a model or a tool, and the waits before them.

    - `tries`: how often a call is made at most, the first time included; 1 for no retry.
    - `rate_limit_tries`: the same for calls that the provider's rate limit refused, which says nothing of the call.
    - `first_wait`: seconds before the second try; each further wait is `factor` times as long, up to `longest_wait`.
    - `jitter`: the share of a wait that is left to chance, so that many that failed together do not come back together.
    - `kinds`: which failures are tried again at all. `request` never is.
    - `on_outage`: what a model's call does while its provider does not answer: "wait" for as long as its run may take,
      or "fail" after `tries`. None is "fail" in a script, and as `TURNWISE_ON_OUTAGE` says in a served run, which is
      "wait"; a policy that gives `tries` keeps to them.
    - `longest_outage_wait`: the longest of those waits, which begin and grow like any other.

    A wait that the provider asks for (`Retry-After`) is kept, also when it is longer than `longest_wait`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    NEVER: ClassVar[RetryPolicy]

    tries: int = Field(default=5, ge=1)
    rate_limit_tries: int = Field(default=20, ge=1)
    first_wait: float = Field(default=1.0, ge=0)
    factor: float = Field(default=2.0, ge=1)
    longest_wait: float = Field(default=60.0, gt=0)
    jitter: float = Field(default=0.25, ge=0, le=1)
    on_outage: Literal["wait", "fail"] | None = None
    longest_outage_wait: float = Field(default=300.0, gt=0)
    kinds: frozenset[ErrorKind] = frozenset(
        {ErrorKind.RATE_LIMIT, ErrorKind.UNAVAILABLE, ErrorKind.TIMEOUT, ErrorKind.TOOL}
    )

    def covers(self, kind: ErrorKind) -> bool:
        """Return whether the policy retries failures of that kind."""
        return kind in self.kinds and kind is not ErrorKind.REQUEST and self.most(kind) > 1

    def most(self, kind: ErrorKind) -> int:
        """Return how often a call is made at most that fails like that."""
        return self.rate_limit_tries if kind is ErrorKind.RATE_LIMIT else self.tries

    def wait(self, kind: ErrorKind, failed: int, chance: float, asked_for: float | None = None) -> float | None:
        """Seconds until the next try after `failed` tries that failed with that kind; None to give up.

        `chance` is a number from 0 to 1; `asked_for` is how long the provider wants to be left alone.
        """
        if not self.covers(kind) or failed >= self.most(kind):
            return None
        own = self._grown(failed, self.longest_wait, chance)
        return own if asked_for is None else max(own, asked_for * (1 + _POLITE * chance))

    def waits_out(self, error: BaseException, default: str) -> bool:
        """Return whether a model's call waits for the end of the outage of `error`; `default`: "wait" or "fail"."""
        kind = kind_of(error)
        if not is_outage(error) or kind is None or kind not in self.kinds:
            return False
        if self.on_outage is not None:
            return self.on_outage == "wait"
        return default == "wait" and "tries" not in self.model_fields_set

    def outage_wait(self, failed: int, chance: float) -> float:
        """Seconds until the next probe after `failed` ones, in an outage; `chance` is a number from 0 to 1."""
        return self._grown(failed, self.longest_outage_wait, chance)

    def _grown(self, failed: int, longest: float, chance: float) -> float:
        return backoff(failed, self.first_wait, longest, self.factor) * (1 - self.jitter * chance)


RetryPolicy.NEVER = RetryPolicy(tries=1, rate_limit_tries=1)


def kind_of(error: BaseException) -> ErrorKind | None:
    """The kind of an error of a model's call; None for one that is no business of retries."""
    for kind, errors in _KINDS:
        if isinstance(error, errors):
            return kind
    return None


def is_outage(error: BaseException) -> bool:
    """Return whether the error means that the provider does not answer, whatever the call is."""
    return isinstance(error, ModelUnavailableError) and error.outage


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
