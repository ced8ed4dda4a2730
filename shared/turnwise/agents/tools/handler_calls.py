"""The calls of handlers within one answer of AGENT: numbered, each with a key of its own, on a copy of the state.

A served run brings a `HandlerCalls` of its own, which keeps results on record and gives those of an earlier attempt
back. Elsewhere nothing is kept, and a key is as good as random.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import BaseModel

from turnwise.agents.observed import executed, executing
from turnwise.agents.retries import CallRetries, Failure, call_retries, waiting, within
from turnwise.base.call_context import CallContext, CallPart, current_call
from turnwise.base.cancellation import Cancellation, current_cancellation
from turnwise.base.ids import new_id
from turnwise.base.sync_async import Effect, Steps, finished, is_unfinished
from turnwise.errors import CallTimeoutError, ConfigurationError, ToolOutcomeUnknownError
from turnwise.messages.lent import LentTool
from turnwise.messages.tool_message import ToolEffect, ToolMessage
from turnwise.models.budget.gate import GATE
from turnwise.models.retry_policy import ErrorKind, RetryPolicy, kind_of_handler_error

if TYPE_CHECKING:
    from turnwise.agents.attributes.snapshot import Snapshot
    from turnwise.agents.chat_agent import ChatAgent


class Interruption(BaseException):
    """Ends an answer for a reason that is none of the application's business, so that no `except` of its holds it."""


class Stem:
    """The prefix of the keys of calls that are numbered together: given, that of a call around them, or new.

    It is made when someone asks for it: most handlers do not.
    """

    def __init__(self, key: str = "", within: HandlerCall | None = None) -> None:
        self._key = key
        self._within = within

    @property
    def key(self) -> str:
        if not self._key:
            with _naming:  # a handler may have threads of its own
                self._key = self._key or (self._within.key if self._within is not None else new_id("call"))
        return self._key


class HandlerCall(NamedTuple):
    """One call of a handler: its number within the answer (from 1), and what its key begins with.

    `tool` is the tool's name, or the method's for an agent's own code; `arguments` is the tool.
    """

    stem: Stem
    no: int
    tool: str
    effect: ToolEffect
    arguments: ToolMessage | None = None

    @property
    def key(self) -> str:
        """Return what tells it from every other call, and stays when it is made again."""
        return f"{self.stem.key}.{self.no}"


@dataclass(frozen=True)
class Kept:
    """The value that a call returned in an earlier attempt."""

    value: Any


class HandlerCalls:
    """The calls of one answer, or those that the handler called `within` makes; this one keeps nothing.

    A call's key is that of all, and its number.
    """

    def __init__(self, key: str = "", *, within: HandlerCall | None = None) -> None:
        self._key, self._within = key, within
        self._stem: Stem | None = None
        self._last = 0

    def within(self, call: CallContext) -> CallContext:
        """Return the context in which this numbers the calls of handlers."""
        return call.having({CALLS: self, RUNNING: None})

    def next(self, tool: str, effect: ToolEffect, arguments: ToolMessage | None = None) -> HandlerCall:
        """The next call."""
        if self._stem is None:
            self._stem = Stem(self._key, self._within)
        self._last += 1
        return HandlerCall(self._stem, self._last, tool, effect, arguments)

    def kept(self, call: HandlerCall) -> Kept | None:
        """Return what the call returned in an earlier attempt; None if it is to be made."""
        return None

    def begins(self, call: HandlerCall) -> None:
        """The call is about to be made; may raise an `Interruption` instead."""

    def ended(self, call: HandlerCall, value: Any) -> None:
        """The call returned `value`."""

    def unknown(self, call: HandlerCall, error: Exception) -> None:
        """The call ended with `error`, and may have done its work; may raise an `Interruption` in its place."""


def inner_calls(call: CallContext) -> HandlerCalls:
    """Return the calls of a run that is made in `call`: with the keys of the handler that runs it, or its own."""
    running = call[RUNNING]
    return HandlerCalls(within=running[1].next("", "once") if running is not None else None)


def idempotency_key() -> str | None:
    """The key of the handler call that is running here; None outside of a handler.

    It stays the same when a served run makes the call again after a crash, and is different for every other call. Hand
    it to a service that does nothing twice under the same key. A handler may also take it as a parameter of that name.
    """
    running = current_call()[RUNNING]
    return None if running is None else running[0].key


def made(
    agent: ChatAgent, tool: str, effect: ToolEffect, call: Effect, arguments: ToolMessage | None = None
) -> Steps[Any]:
    """Return what the handler returns: called now, or in an earlier attempt."""
    # The program's own `handle_message` may stand between the run and this.
    context = current_call()
    running = context[RUNNING]
    # What a handler calls in its turn belongs to its own call.
    calls = running[1] if running is not None else context[CALLS] or HandlerCalls()
    this = calls.next(tool, effect, arguments)
    kept = calls.kept(this)
    if kept is not None:
        return kept.value
    calls.begins(this)
    inside = context.but(RUNNING, (this, HandlerCalls(within=this)))
    with inside.open():
        value = yield from _tried(agent, this, call, calls, inside, nested=running is not None)
    calls.ended(this, value)
    return value


def _tried(
    agent: ChatAgent, this: HandlerCall, call: Effect, calls: HandlerCalls, context: CallContext, *, nested: bool
) -> Steps[Any]:
    """Return what the handler returns, called as often as its tool allows."""
    tool = type(this.arguments) if this.arguments is not None else ToolMessage
    policy = tool._retry or RetryPolicy.NEVER
    limit = tool._timeout or agent.config.answer_timeout
    before: dict[ErrorKind, int] = {}
    undo = _undo(agent, this.arguments) if policy is not RetryPolicy.NEVER else ()
    while True:
        try:
            with executing(agent, this) as spot:
                steps = on_copied_state(agent, call)
                if limit is not None:
                    steps = within(context, limit, f"the handler of the tool {this.tool!r}", steps)
                value = yield from steps
                executed(spot, value)
            return value
        except Exception as error:
            kind, wait = kind_of_handler_error(error), None
            if kind is not None and policy.covers(kind):
                key = f"{this.tool}#{this.no}"
                # Only the whole answer of an agent can be deferred, so what a handler calls is tried again in place.
                counted = CallRetries() if nested else call_retries(context)
                wait = counted.next(Failure(agent=agent.id, call=key, kind=kind, error=error, policy=policy), before)
            if wait is None:
                if this.effect == "once" and _leaves_unknown(error, timed=limit is not None):
                    calls.unknown(this, error)
                raise
        for changed in undo:
            changed.restore()
        yield waiting(wait)


def _undo(agent: ChatAgent, tool: ToolMessage | None) -> tuple[Snapshot | LentTool, ...]:
    """Return what takes back the attributes and the fields of its tool that a failed try has set."""
    from turnwise.agents.own_attributes import snapshots  # which knows the class of agents, and so this module

    return snapshots(agent) if tool is None else (*snapshots(agent), LentTool(tool))


def _leaves_unknown(error: Exception, *, timed: bool) -> bool:
    """Return whether the handler's outside effect is unknown; an error that it chose to raise leaves no doubt.

    `timed`: its call had a time limit. One that it ran into cut it short wherever it was, and it is remembered of the
    error, for a handler around this one.
    """
    if not isinstance(error, CallTimeoutError):
        return isinstance(error, ToolOutcomeUnknownError)
    # The limits of what a handler waits for are set within its own.
    own = timed and isinstance(error.origin, Cancellation) and error.origin.parent is current_cancellation()
    error.outcome_unknown = error.outcome_unknown or own
    return error.outcome_unknown


def on_copied_state(agent: ChatAgent, call: Effect) -> Steps[Any]:
    """Return what the call comes to, awaited where need be; the agent's state is as it was before if it fails."""
    before = agent.state
    agent.state = _copy(agent, before)
    try:
        value = yield call
        return (yield from finished(value)) if is_unfinished(value) else value
    except BaseException:
        agent.state = before
        raise


def _copy(agent: ChatAgent, state: Any) -> Any:
    if state is None or not isinstance(state, BaseModel):
        return state
    try:
        return state.model_copy(deep=True)
    except Exception as error:
        raise ConfigurationError(
            f"the state of agent {agent.config.name!r} cannot be copied ({error}); keep in it only what JSON can "
            "express, and the rest (connections, locks) in the module or on the class"
        ) from error


def answers_a_run(call: CallContext) -> bool:
    """Return whether an answer that is made in `call` is one that a run asked for, not one that a program did."""
    return call[GATE] is not None and call[RUNNING] is None


_naming = threading.RLock()
CALLS = CallPart[HandlerCalls | None](None)
# The call of a handler that is being made, and those that it makes in its turn.
RUNNING = CallPart[tuple[HandlerCall, HandlerCalls] | None](None)
