"""The callbacks of an application while an agent works, also in a human's place."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from turnwise.base.sync_async import refuse_unfinished

# Takes each piece of a streamed answer: the text, and its `StreamEventType` if it has a second parameter.
TokenListener = Callable[..., Any]


def nothing(*_: Any, **__: Any) -> None:
    """Do nothing: the default of a callback."""


def _no_listener() -> TokenListener:
    """Return what begins a stream that no one listens to."""
    return nothing


async def _no_listener_async() -> TokenListener:
    """Return what begins a stream that no one listens to."""
    return nothing


@dataclass
class CallbackSet:
    """Functions by name; a field's default is what it is until an application sets it."""

    def is_set(self, *names: str) -> bool:
        """Return whether an application set any of these."""
        unset = self.__dataclass_fields__
        for name in names:
            function = getattr(self, name)
            if function is not None and function is not unset[name].default:
                return True
        return False

    def tell(self, name: str, **offered: Any) -> None:
        """Call the callback with those of the keywords that it takes, if it is set."""
        if self.is_set(name):
            refuse_unawaited(call_with(getattr(self, name), offered), name)


@dataclass
class Callbacks(CallbackSet):
    """Functions that a user interface sets on `agent.callbacks`; until then each does nothing.

    They are called in the process and thread in which things happen, and what they raise is not swallowed. A function
    is given those of the keywords below that it takes. An `_async` twin is awaited in asynchronous runs, the plain
    function is called where it is not set. An async function in a plain one's place raises `ConfigurationError`.

    - `show_start_response(entity)`: the model ("llm") is about to be called, or a tool's handler ("agent").
    - `start_llm_stream()`: a streamed answer begins; returns a function that takes each piece of its text. If that
      function requires a second parameter, it gets reasoning and calls too, with the `StreamEventType` of each.
      Of `start_llm_stream_async` the returned function may be async as well.
    - `finish_llm_stream(content, tools_content, is_tool, reasoning)`: the streamed answer is complete.
    - `cancel_llm_stream()`: forget the stream that was begun, because the call failed or the answer was a cached one.
    - `show_llm_response(content, tools_content, is_tool, cached, reasoning)`: an answer that was not shown live.
    - `show_agent_response(content, language, is_tool)`: what the tool handler says; `language` is "json" or "text".
    - `show_error_message(error)`: the model or a handler failed; the error propagates all the same.
    - `get_user_response(prompt)`: the human's answer. The prompt of a task is "", as the message was shown before.
    - `set_parent_agent(parent)`: a task that uses this agent was called by a task of the agent `parent`.
    - `get_last_step()`: for interfaces that nest: whatever the caller's interface shows last; never called by agents.
    """

    start_llm_stream: Callable[[], TokenListener] = _no_listener
    start_llm_stream_async: Callable[[], Awaitable[TokenListener]] = _no_listener_async
    cancel_llm_stream: Callable[[], Any] = nothing
    finish_llm_stream: Callable[..., Any] = nothing
    show_llm_response: Callable[..., Any] = nothing
    show_agent_response: Callable[..., Any] = nothing
    get_user_response: Callable[..., str | None] | None = None
    get_user_response_async: Callable[..., Awaitable[str | None]] | None = None
    get_last_step: Callable[[], Any] = nothing
    set_parent_agent: Callable[[Any], Any] = nothing
    show_error_message: Callable[..., Any] = nothing
    show_start_response: Callable[..., Any] = nothing


def refuse_unawaited(returned: Any, name: str) -> None:
    """Raise `ConfigurationError` where a callback that no one awaits is an async function."""
    # A future is the work of an event loop: a callback may hand its own on to one.
    if not isinstance(returned, asyncio.Future):
        refuse_unfinished(returned, f"the callback {name}")


def call_with(function: Callable[..., Any], offered: dict[str, Any]) -> Any:
    """Call `function` with those of the keywords that it takes."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return function(**offered)
    taken = {parameter.name for parameter in parameters}
    return function(**{name: value for name, value in offered.items() if name in taken})


def wants_kinds(listener: TokenListener) -> bool:
    """Return whether a function that takes pieces of an answer requires their kind as a second argument."""
    parameters = inspect.signature(listener).parameters.values()
    required = [
        p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    return len(required) > 1
