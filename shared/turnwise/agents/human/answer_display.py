"""The callbacks of one answer: its beginning, its text as it arrives, its end, or its failure."""

from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

from turnwise.agents.callbacks import Callbacks, TokenListener, wants_kinds
from turnwise.base.call_context import CallContext, CallPart
from turnwise.base.sync_async import Effect, Steps, refuse_finished, refuse_unfinished
from turnwise.base.text import value_as_text
from turnwise.errors import ConfigurationError
from turnwise.messages.document import ChatDocument
from turnwise.models.base import StreamEventType

if TYPE_CHECKING:
    from turnwise.agents.agent import Agent
    from turnwise.agents.chat_agent import ChatAgent


class AnswerWatcher(Protocol):
    """Sees an answer while it is written, for a person at the terminal."""

    def begun(self) -> None:
        """The model is about to be asked, perhaps once more."""

    def piece(self, text: str, kind: StreamEventType) -> None:
        """A piece of the answer arrived."""

    def broken(self) -> None:
        """The call failed, or its answer is not to count."""

    def complete(self) -> None:
        """The whole answer is there."""


# The agent that a run asks for its model's answer, and who watches that.
WATCHING = CallPart[tuple["Agent", AnswerWatcher] | None](None)

_LIVE = ("start_llm_stream", "start_llm_stream_async", "finish_llm_stream")


class Showing:
    """The showing of one model call: `sink` takes the pieces of the answer, None if no one listens."""

    def __init__(self, agent: ChatAgent, call: CallContext, listener: TokenListener | None, *, live: bool) -> None:
        self._agent = agent
        self._live = live
        self._kinds = listener is not None and wants_kinds(listener)
        self._listener = listener
        self._watcher = agent.token_watcher
        self._person = None if live else _person(agent, call)
        if self._person is not None:
            self._person.begun()
        self.sink = self._piece if self._listener or self._watcher or self._person else None

    def _piece(self, text: str, kind: StreamEventType = StreamEventType.TEXT) -> Any:
        """Pass a piece on; what an async listener returns has to be awaited."""
        if self._watcher is not None and kind is StreamEventType.TEXT:
            self._watcher(text)
        if self._person is not None:
            self._person.piece(text, kind)
        if self._listener is None:
            return None
        if self._kinds:
            return self._listener(text, kind)
        return self._listener(text) if kind is StreamEventType.TEXT else None

    def cancelled(self) -> None:
        """The call failed."""
        if self._person is not None:
            self._person.broken()
        if self._live:
            self._agent.callbacks.tell("cancel_llm_stream")

    def finished(self, doc: ChatDocument) -> None:
        """The answer is there and in the history."""
        if self._person is not None:
            self._person.complete()
        callbacks = self._agent.callbacks
        if self._live and doc.metadata.cached:
            callbacks.tell("cancel_llm_stream")
        shown = self._live and not doc.metadata.cached
        name = "finish_llm_stream" if shown else "show_llm_response"
        if callbacks.is_set(name):
            told: dict[str, Any] = {} if shown else {"cached": doc.metadata.cached}
            callbacks.tell(
                name,
                content=doc.content,
                tools_content=_calls_as_text(doc),
                is_tool=self._agent.has_tool_message_attempt(doc),
                reasoning=doc.reasoning,
                **told,
            )


def begin(agent: ChatAgent, call: CallContext) -> Steps[Showing]:
    """Say that the model is about to be called, and begin a stream where it streams and someone listens."""
    callbacks = agent.callbacks
    callbacks.tell("show_start_response", entity="llm")
    model = agent.llm
    live = model is not None and bool(model.config.stream) and callbacks.is_set(*_LIVE)
    listener = None
    if live and callbacks.is_set("start_llm_stream", "start_llm_stream_async"):
        listener = yield _listening(callbacks)
    return Showing(agent, call, listener, live=live)


def _listening(callbacks: Callbacks) -> Effect:
    """The call that begins a stream; raises `ConfigurationError` where a callback is of the other kind."""
    plain, twin = callbacks.start_llm_stream, callbacks.start_llm_stream_async

    def begun() -> TokenListener:
        listener = plain()
        refuse_unfinished(listener, "start_llm_stream", "start_llm_stream_async")
        return _function(listener, "start_llm_stream")

    def begun_in_step() -> TokenListener:
        return _not_awaited(begun())

    async def begun_async() -> TokenListener:
        if not callbacks.is_set("start_llm_stream_async"):
            return begun()
        listener: Any = twin()
        refuse_finished(listener, "start_llm_stream_async", "start_llm_stream")
        return _function(await listener, "start_llm_stream_async")

    return Effect(sync=begun_in_step, awaited=begun_async)


def _function(listener: Any, name: str) -> TokenListener:
    if callable(listener):
        made: TokenListener = listener
        return made
    raise ConfigurationError(
        f"the callback {name} returned {type(listener).__name__}; expected a function that takes the pieces of the text"
    )


def _not_awaited(listener: TokenListener) -> TokenListener:
    """The listener for a synchronous run, in which no one awaits what an async one returns."""

    @wraps(listener)  # it is asked for its parameters
    def heard(*piece: Any) -> None:
        refuse_unfinished(listener(*piece), "the function that start_llm_stream returned")

    return heard


def _person(agent: ChatAgent, call: CallContext) -> AnswerWatcher | None:
    """Return who sits at the terminal and watches the answer of this agent, unless its model is not to stream."""
    watched = call[WATCHING]
    if watched is None or watched[0] is not agent or agent.llm is None or agent.llm.config.stream is False:
        return None
    return watched[1]


def show_agent_answer(agent: ChatAgent, answer: ChatDocument) -> None:
    """Tell of what the tool handler says."""
    if agent.callbacks.is_set("show_agent_response"):
        text = answer.content or value_as_text(answer.oai_tool_id2result)
        agent.callbacks.tell(
            "show_agent_response",
            content=text,
            language="json" if ChatDocument(content=text).json_objects() else "text",
            is_tool=agent.has_tool_message_attempt(answer),
        )


def tell_error(agent: Agent, error: BaseException) -> None:
    """Tell of an error that is about to propagate; once, also where a handler's error is that of its model call."""
    if not isinstance(error, Exception) or not agent.callbacks.is_set("show_error_message"):
        return
    told = vars(error).setdefault("_told_to", set())
    if agent.id not in told:
        told.add(agent.id)
        agent.callbacks.tell("show_error_message", error=_words(error))


def _words(error: Exception) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - an application's exception may fail to say what it is
        return type(error).__name__


def _calls_as_text(doc: ChatDocument) -> str:
    calls = [call.function for call in doc.oai_tool_calls or [] if call.function]
    if doc.function_call is not None:
        calls.append(doc.function_call)
    return "\n".join(f"{call.name}({call.raw or value_as_text(call.arguments or {})})" for call in calls)
