"""Trying again: what failed is counted, and then waited for, here or elsewhere.

In a program the wait is where the call is. A served run brings `CallRetries` of its own, which keep the count on record
and defer the whole ask, so that no one waits.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from functools import partial
from typing import TypeVar
from zlib import crc32

from turnwise.base.call_context import CallContext, CallPart
from turnwise.base.cancellation import CANCELLATION, Cancellation, Cause, pause
from turnwise.base.ids import new_id
from turnwise.base.sync_async import AWAITED, Effect, Steps
from turnwise.errors import ModelRateLimitError
from turnwise.models.retry_policy import ErrorKind, RetryPolicy

logger = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A call that failed.

    `agent` is the agent's id, `call` tells the calls of one answer apart ("" for the model's), `error` is what was
    raised, or would be if nothing were tried again.
    """

    agent: str
    call: str
    kind: ErrorKind
    error: Exception
    policy: RetryPolicy

    @property
    def key(self) -> str:
        """Under which it is counted."""
        return f"{self.call}:{self.kind.value}" if self.call else self.kind.value

    def waits_out(self, default: str) -> bool:
        """Return whether its call waits for the end of an outage; `default` is what holds where the policy says
        nothing.
        """
        return not self.call and self.policy.waits_out(self.error, default)

    def outage_wait(self, failed: int, seed: str) -> float:
        """Seconds until the next look after so many failed ones; `seed` stands in for chance."""
        return self.policy.outage_wait(failed, crc32(seed.encode()) / 2**32)

    def wait(self, failed: int, seed: str) -> float | None:
        """Seconds until the next call after so many failed ones; None to give up. `seed` stands in for chance."""
        asked_for = self.error.retry_after if isinstance(self.error, ModelRateLimitError) else None
        return self.policy.wait(self.kind, failed, crc32(seed.encode()) / 2**32, asked_for)


class CallRetries:
    """The retries of a call that failed; the base class only counts them."""

    def next(self, failure: Failure, before: dict[ErrorKind, int]) -> float | None:
        """Seconds to wait before the next call; None if there is none. May raise what defers the whole answer.

        `before` counts how often this call has failed here; this failure is added.
        """
        failed = before[failure.kind] = before.get(failure.kind, 0) + 1
        lasts = failure.waits_out("fail")
        seconds = failure.outage_wait(failed, new_id("try")) if lasts else failure.wait(failed, new_id("try"))
        if seconds is not None:
            logger.warning(
                "A call failed (%s), the next try is in %.1f s: %s",
                failure.kind.value,
                seconds,
                failure.error,
                extra={"action": "try_again", "wait": round(seconds, 3)},
            )
        return seconds


def call_retries(call: CallContext) -> CallRetries:
    """Return who decides what follows a failure of the call."""
    return call[RETRIES] or CallRetries()


def waiting(seconds: float) -> Effect:
    """A pause, which ends at once when the run does."""
    return Effect(sync=partial(pause, seconds), awaited=partial(_pause, seconds))


async def _pause(seconds: float) -> None:
    import asyncio  # loaded only where something is asynchronous

    await asyncio.sleep(seconds)


def within(call: CallContext, seconds: float | None, what: str, steps: Steps[T]) -> Steps[T]:
    """Go through the steps, cancelled after so many seconds (None: never); `what` says for the error what was late."""
    return steps if seconds is None else _limited(call, seconds, what, steps)


def _limited(call: CallContext, seconds: float, what: str, steps: Steps[T]) -> Steps[T]:
    awaited = yield AWAITED
    token = Cancellation(parent=call[CANCELLATION], seconds=seconds, late=Cause.TIMEOUT, what=what)
    with token.opened() if awaited else token.open():
        return (yield from steps)


RETRIES = CallPart[CallRetries | None](None)
