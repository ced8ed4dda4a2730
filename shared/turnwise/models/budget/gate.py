"""The gate that every call of a model passes: it reserves before the call, and settles after it.

A gate is open around each call of a responder, so that it is at hand wherever a model is called meanwhile: by the
agent's own turn, by another agent in a handler, or by a task that a handler runs. Such a task has a gate of its own
within the outer one. It is a part of the call's context (`turnwise.base.call_context`).
"""

from __future__ import annotations

from typing import Protocol

from turnwise.base.call_context import CallContext, CallPart, current_call, under
from turnwise.base.contextual import Bound
from turnwise.base.sync_async import Steps
from turnwise.errors import ModelError, ModelRateLimitError, ModelRequestError
from turnwise.errors.rate_limits import RateLimits
from turnwise.models.budget.budget import Amount
from turnwise.models.budget.call import ModelCall
from turnwise.models.limits.local import LocalPlace, process_limits
from turnwise.models.retry_policy import is_outage
from turnwise.models.tokens.usage import LLMTokenUsage


class Hold(Protocol):
    """Room reserved for one call. Exactly one of the methods is called, once."""

    max_tokens: int

    def charged(self, most: LLMTokenUsage) -> LLMTokenUsage:
        """Return what is charged if the call's own count cannot be true; `most` is the most that a direct call uses."""
        ...

    def settle(self, usage: LLMTokenUsage, announced: RateLimits | None = None) -> None:
        """The call was made, and used that; `announced` is what the provider told of its limits with the answer."""
        ...

    def refused(self, announced: RateLimits | None) -> None:
        """The provider said 429, so nothing was used."""
        ...

    def lost(self, *, answered: bool = False) -> None:
        """The call was begun, and no one knows what it used: all of what was reserved counts as used.

        `answered`: the provider answered it, with nonsense.
        """
        ...

    def release(self, *, answered: bool = False) -> None:
        """Release an unused reservation. `answered`: the provider answered the call with an error of its own."""
        ...


class Gate(Protocol):
    """The payer of calls."""

    def reserving(self, call: ModelCall) -> Steps[Hold]:
        """Put room aside for the call; the output limit that it is to be sent is the hold's.

        Raises `LimitReachedError`, or `CallDeferred` where a served run is to wait for room.
        """
        ...

    def count(self, usage: LLMTokenUsage) -> None:
        """Count what was used without having been reserved."""
        ...


class NoHold:
    """Outside of a run no one counts what is used, only the provider's limits hold."""

    def __init__(self, max_tokens: int, place: LocalPlace | None = None, likely_tokens: int = 0) -> None:
        self.max_tokens = max_tokens
        self._place, self._likely = place, likely_tokens

    def charged(self, most: LLMTokenUsage) -> LLMTokenUsage:
        return most

    def settle(self, usage: LLMTokenUsage, announced: RateLimits | None = None) -> None:
        if self._place is not None:
            self._place.settle(usage.total_tokens, announced)

    def refused(self, announced: RateLimits | None) -> None:
        if self._place is not None:
            self._place.refused(announced)

    def lost(self, *, answered: bool = False) -> None:
        if self._place is not None:
            self._place.settle(self._likely, None)

    def release(self, *, answered: bool = False) -> None:
        if self._place is not None:
            self._place.release()


GATE = CallPart[Gate | None](None)


def current_gate() -> Gate | None:
    """The gate that calls pass here; None outside of a run."""
    return current_call()[GATE]


def through(gate: Gate) -> Bound[CallContext]:
    """Let calls pass this gate until the block is left."""
    return under(GATE, gate)


def reserving(call: ModelCall, gate: Gate | None) -> Steps[Hold]:
    """Put room aside at the gate, if there is one."""
    return unpaid(call) if gate is None else gate.reserving(call)


def unpaid(call: ModelCall) -> Steps[Hold]:
    """Wait until the call's provider has room, which all calls of this process share."""
    target = call.target
    if target is None:
        return NoHold(call.most)
    place = yield from process_limits.entering(target, lambda: call.likely_tokens)
    return NoHold(call.most, place, call.likely_tokens if place.counts else 0)


def failed(hold: Hold, error: BaseException) -> None:
    """Settle a call that raised.

    Nothing is owed for what the provider refused. Anything else, a cancellation too, may have left it working, and be
    paid for.
    """
    answered = isinstance(error, ModelError) and not is_outage(error)
    if isinstance(error, ModelRateLimitError):
        hold.refused(error.limits)
    elif isinstance(error, ModelRequestError) or (isinstance(error, ModelError) and not error.may_have_cost):
        hold.release(answered=answered)
    else:
        hold.lost(answered=answered)


def as_usage(amount: Amount) -> LLMTokenUsage:
    """An amount as the usage of one call."""
    return LLMTokenUsage(
        prompt_tokens=amount.prompt_tokens, completion_tokens=amount.output_tokens, cost=amount.cost, calls=1
    )
