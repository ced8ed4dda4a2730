"""An agent's call of its model: a client of Turnwise, or a class of the program's own.

A program's class takes its arguments in one of two forms. If its method has a parameter `on_token`, it is given a
`ToolChoice` as `tools`, and `on_token`. Otherwise it is given `tools`, `tool_choice`, `functions`, `function_call` and
`response_format`, those that are not at their defaults, by keyword and in the types of `llm.specs`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, reduce
from typing import Any

from turnwise.base.call_context import CallPart, current_call, under
from turnwise.base.sync_async import Effect, Steps
from turnwise.errors import ApplicationError
from turnwise.models.base import LLMMessage, LLMResponse, Role, TokenSink, ToolChoice, pass_on
from turnwise.models.language_model import LanguageModel
from turnwise.models.specs import given_as_arguments
from turnwise.models.tokens.estimate import message_tokens
from turnwise.models.tokens.usage import LLMTokenUsage


class Inside:
    """A call of a model of the program's own class, and what the clients that it calls use for its answer.

    The agent has reserved for the whole call and counts it once, so these clients do neither.
    """

    def __init__(self) -> None:
        self._used: list[LLMTokenUsage] = []
        self.ended = False

    def add(self, usage: LLMTokenUsage) -> None:
        """Keep what a client used."""
        self._used.append(usage)

    def counted(self, response: LLMResponse) -> LLMResponse:
        """Return the response with the usage that the model tells, or with its clients' where it tells of less."""
        if not self._used:
            return response
        used, told = reduce(LLMTokenUsage.plus, self._used), response.usage
        if told.calls and told.total_tokens >= used.total_tokens:
            return response
        return response.model_copy(update={"usage": used})


# The client that an agent is asking now, or the call of a program's own model: what the agent reserves and counts for
# it, no client need.
ASKED = CallPart[LanguageModel | Inside | None](None)


def asked_by_an_agent(model: LanguageModel) -> bool:
    """Return whether this call of the model is made by an agent, which reserves and counts for it."""
    return current_call()[ASKED] is model


def inside_another() -> Inside | None:
    """Return the call of a program's own model that this one is made for, None if it is made for none."""
    asked = current_call()[ASKED]
    return asked if isinstance(asked, Inside) and not asked.ended else None


def asked_by_name(
    model: LanguageModel,
    messages: Sequence[LLMMessage],
    max_tokens: int,
    tools: ToolChoice | None,
    sink: TokenSink | None,
) -> Steps[LLMResponse]:
    """Call `chat` or `achat` of a class that has its own, in the form that the method takes; raises `ModelError`."""
    inside = None if model.counts_calls else Inside()

    def call(name: str) -> tuple[Any, bool]:
        """Return the answer, or what has to be awaited for it, and whether the method streams."""
        method, streams = getattr(model, name), _knows_sinks(getattr(type(model), name))
        if streams:
            return method(messages, max_tokens, tools=tools, on_token=sink), True
        return method(list(messages), max_tokens, **given_as_arguments(tools)), False

    async def awaited() -> tuple[Any, bool]:
        waiting, streams = call("achat")
        return await waiting, streams

    try:
        with under(ASKED, inside or model):
            said, streams = yield Effect(partial(call, "chat"), awaited)
            if streams:
                return said if inside is None else inside.counted(said)
            response = _complete(model, messages, said, inside)
            if sink is not None:
                for text, kind in response.pieces():
                    yield Effect(partial(sink, text, kind), partial(pass_on, sink, text, kind))
            return response
    finally:
        if inside is not None:
            inside.ended = True


@lru_cache(maxsize=256)
def _knows_sinks(method: Callable[..., Any]) -> bool:
    # By name alone: a `**more` is there to pass on what may come, and says nothing of the form.
    return "on_token" in inspect.signature(method).parameters


def _complete(
    model: LanguageModel, messages: Sequence[LLMMessage], response: Any, inside: Inside | None
) -> LLMResponse:
    """The response of a program's own class, with a count of tokens where it brings none."""
    if not isinstance(response, LLMResponse):
        raise ApplicationError(
            f"{type(model).__name__} answered with a {type(response).__name__}; expected an LLMResponse"
        )
    answer = response if inside is None else inside.counted(response)
    if answer.usage.calls or answer.usage.total_tokens:
        return answer
    said = LLMMessage(
        role=Role.ASSISTANT,
        content=answer.message or "",
        tool_calls=answer.oai_tool_calls,
        function_call=answer.function_call,
    )
    usage = answer.usage.model_copy(
        update={
            "prompt_tokens": sum(message_tokens(message, model.count_tokens) for message in messages),
            "completion_tokens": message_tokens(said, model.count_tokens),
            "calls": 1,
        }
    )
    return answer.model_copy(update={"usage": usage.model_copy(update={"cost": model.price(usage)})})
